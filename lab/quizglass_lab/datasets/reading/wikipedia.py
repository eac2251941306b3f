"""Addresses of Wikipedia's articles, by which benchmarks and their knowledge name the same thing."""

from __future__ import annotations

from urllib.parse import quote


def article_address(title: str) -> str:
    """The address of the English article of a title, with underscores and percent-escapes; empty without a title."""
    return f"https://en.wikipedia.org/wiki/{quote(title.strip().replace(' ', '_'), safe='/:()')}" if title else ""
