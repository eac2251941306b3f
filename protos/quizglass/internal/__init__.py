"""Contracts between processes of one server."""
