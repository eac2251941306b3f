"""Measured results beside the tables of the papers: answers of a system scored, averaged, printed."""
