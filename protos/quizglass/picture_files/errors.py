"""What decoding raises. Knows nothing of requests and their fields."""

from __future__ import annotations


class BadPicture(Exception):
    """The file cannot be used; the message says why, in words for whoever sent it."""


class OutOfMemory(Exception):
    """The file takes more memory than it was given: that is no fault of the file."""


_WHOLE = "send the whole file"
DAMAGED = f"the picture is damaged or truncated; {_WHOLE}"
"""What parsers of damaged files raise can be anything: struct.error, IndexError, zlib.error, ..."""
CUT_OFF = f"the picture is damaged or truncated: the lower part of it, a third or more, is missing; {_WHOLE}"
