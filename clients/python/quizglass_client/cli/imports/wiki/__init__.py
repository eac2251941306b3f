"""Reads dumps of MediaWiki: which pages are articles, and what their markup says. Knows nothing of servers."""
