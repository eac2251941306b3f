"""What is wrong with a benchmark's file."""

from __future__ import annotations


class DatasetError(ValueError):
    """A benchmark's file cannot be read; the message names file, line or row, field, and what was expected."""
