"""Policies of a server, or of models that no server serves, measured on a benchmark beside the papers' tables."""
