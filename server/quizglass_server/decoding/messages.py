"""What crosses between the server and a decoder process: one message a file, and one answer."""

from __future__ import annotations

import struct

REQUEST = struct.Struct("<QQI")
"""Bytes of the file, bytes that decoding may take, seconds of processor time; the file's descriptor goes along."""
ANSWER = struct.Struct("<cII")
"""What became of it, width and height; the pixels' descriptor goes along, or the words of a refusal."""
DONE, REFUSED, MEMORY = b"+", b"-", b"m"
MOST_WORDS = 1024
"""Bytes of a refusal."""
