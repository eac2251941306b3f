"""The SQLite tables that everything else follows: written, read, locked and checked.

Knows content and no vector search.
"""
