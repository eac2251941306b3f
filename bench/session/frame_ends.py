"""Where frames of HTTP/2 end in the bytes of a connection, and the frame that resets a stream (RFC 9113).

Knows the nine bytes before every frame and not its contents.
"""

from __future__ import annotations

_HEADER_BYTES = 9
_HEADERS, _RST_STREAM = 0x1, 0x3
_CANCEL = 0x8
"""Error code of streams that are no longer wanted."""


class FrameEnds:
    """Follows one direction of a connection.

    Args:
        preface: bytes before its first frame: PREFACE from a client, none from a server.
    """

    PREFACE = 24

    def __init__(self, preface: int = 0) -> None:
        self._left = preface
        """Bytes until the end of the frame that is under way."""
        self._header = b""
        self.newest = 0
        """Number of the last stream that was begun by headers; 0: none was."""
        self.count = 0
        """Frames that have begun."""

    @property
    def whole(self) -> bool:
        """Whether no frame is half passed."""
        return not self._left and not self._header

    def feed(self, chunk: bytes) -> int | None:
        """Take the next bytes; the last place among them at which a frame ends, None where none does."""
        at, end = 0, None
        while at < len(chunk):
            if self._left:
                taken = min(self._left, len(chunk) - at)
                self._left -= taken
            else:
                taken = min(_HEADER_BYTES - len(self._header), len(chunk) - at)
                self._header += chunk[at : at + taken]
                self._begin()
            at += taken
            if self.whole:
                end = at
        return end

    def _begin(self) -> None:
        if len(self._header) < _HEADER_BYTES:
            return
        self._left, kind = int.from_bytes(self._header[:3]), self._header[3]
        if kind == _HEADERS:
            self.newest = int.from_bytes(self._header[5:])
        self._header = b""
        self.count += 1


def rst_stream(stream: int) -> bytes:
    """The frame that ends a stream as cancelled."""
    payload = _CANCEL.to_bytes(4)
    return len(payload).to_bytes(3) + bytes([_RST_STREAM, 0]) + stream.to_bytes(4) + payload
