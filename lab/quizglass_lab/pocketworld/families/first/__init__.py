"""Families of format 1 alone: each asks where its words say.

Stand above the other families, and know them.
"""
