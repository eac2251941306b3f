"""What stops an export."""

from __future__ import annotations


class ExportError(ValueError):
    """A checkpoint cannot be exported; the message names the file and the key, and says what to do."""
