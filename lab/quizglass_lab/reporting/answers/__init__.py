"""Answers of a system with their questions, each scored, and means over them."""
