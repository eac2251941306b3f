"""What a picture's first bytes claim, and what decoding it will therefore cost. Looks at no pixel.

Claims are not trusted: the decoder gets the memory that they lead to expect and no more, and compares them with what it
finds. The figures of `Header.memory` were measured with Pillow 13 at 40 million pixels; tests hold them.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, replace

from quizglass_server.decoding.errors import DAMAGED, Refused

FORMATS = ("JPEG", "PNG", "WEBP")
KEPT_PIXELS = 3840 * 2160
"""Larger pictures are kept at a half, a third, ... of their sides: every model scales them down much further."""
MOST_SEGMENTS = 1000
"""Most segments of a JPEG before its first scan: cameras write twenty, a profile or depth map takes some more."""
MOST_JUNK = 4096
"""Bytes that a JPEG may have between its segments, fill bytes and others, which Pillow skips one by one."""
_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_SOF = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_PROGRESSIVE = frozenset({0xC2, 0xC6, 0xCA, 0xCE})
_SOS, _EOI = 0xDA, 0xD9
_STANDALONE = frozenset({0x01, *range(0xD0, 0xD9)})
_MARKER = re.compile(rb"\xff([\x01-\xfe])")
_MIB = 1 << 20
_BASE_BYTES = 8 * _MIB


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says of itself."""

    format: str
    """One of `FORMATS`."""
    width: int
    height: int
    animated: bool = False
    pixel_bytes: float = 4.0
    """Bytes that the decoder holds for each pixel of the picture at its full size."""
    pixel_ns: float = 12.0
    """Usual time to decode one."""
    data_bytes: float = 0.0
    """Bytes beside that for each pixel: coefficients of progressive JPEGs, which scaling does not reduce."""

    @property
    def pixels(self) -> int:
        """Width times height."""
        return self.width * self.height

    @property
    def reduction(self) -> int:
        """The sides are kept at one so-many-th."""
        return reduction(self.pixels)

    @property
    def kept_pixels(self) -> int:
        """How many pixels the decoded picture has at most."""
        factor = self.reduction
        return -(-self.width // factor) * -(-self.height // factor)

    @property
    def jpeg_scale(self) -> int:
        """1, 2, 4 or 8: a JPEG decodes to that fraction of its sides at once, which saves time and memory."""
        return max(scale for scale in (1, 2, 4, 8) if scale <= self.reduction) if self.format == "JPEG" else 1

    def memory(self, encoded_bytes: int) -> int:
        """Bytes that decoding takes at most, result included."""
        image = self.pixels * self.pixel_bytes / self.jpeg_scale**2 + self.pixels * self.data_bytes
        turned = 2 * 4 * self.kept_pixels
        return round(1.05 * image + turned + 3 * self.kept_pixels) + 2 * encoded_bytes + _BASE_BYTES

    def seconds(self, encoded_bytes: int, scans: int) -> float:
        """About how long decoding takes: an estimate for who goes first, not a bound."""
        return 1e-9 * (self.pixels * (self.pixel_ns + 2.0 * (scans - 1)) + 20.0 * encoded_bytes)


def reduction(pixels: int) -> int:
    """By what the sides of a picture of so many pixels are divided, so that no more than `KEPT_PIXELS` are kept."""
    factor = 1
    while pixels > KEPT_PIXELS * factor * factor:
        factor += 1
    return factor


def read_header(data: bytes) -> Header:
    """What the file claims.

    Raises:
        Refused: it is none of the formats, ends too early, or is made to be long to parse.
    """
    if data.startswith(b"\xff\xd8\xff"):
        return _jpeg(data)
    if data.startswith(_PNG):
        return _png(data)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _webp(data)
    raise Refused(f"not a picture; send {', '.join(FORMATS)}")


def _png(data: bytes) -> Header:
    if data[12:16] != b"IHDR" or len(data) < 33:
        raise Refused(DAMAGED)
    width, height, bits, colour = struct.unpack_from(">IIBB", data, 16)
    channels = _PNG_CHANNELS.get(colour)
    if channels is None or not width or not height:
        raise Refused(DAMAGED)
    # Pillow keeps a pixel of several channels in 4 bytes, whatever their depth.
    single = 2.0 if bits == 16 else 1.0
    return Header("PNG", width, height, pixel_bytes=single if channels == 1 else 4.0)


def _webp(data: bytes) -> Header:
    kind, body = data[12:16], data[20:30]
    if len(body) < 10:
        raise Refused(DAMAGED)
    animated = False
    if kind == b"VP8X":
        animated = bool(body[0] & 0x02)
        width, height = (int.from_bytes(body[at : at + 3], "little") + 1 for at in (4, 7))
    elif kind == b"VP8L":
        bits = int.from_bytes(body[1:5], "little")
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    elif kind == b"VP8 ":
        width, height = (int.from_bytes(body[at : at + 2], "little") & 0x3FFF for at in (6, 8))
    else:
        raise Refused(DAMAGED)
    if not width or not height:
        raise Refused(DAMAGED)
    # Two canvases of the animation decoder, the frame it works on, its bytes, and Pillow's image.
    return Header("WEBP", width, height, animated, pixel_bytes=16.3, pixel_ns=40.0)


def _jpeg(data: bytes) -> Header:
    """Walks the segments up to the first scan, as Pillow does; the last frame header counts."""
    header: Header | None = None
    components = junk = 0
    place = 2
    for _ in range(MOST_SEGMENTS):
        at = _MARKER.search(data, place, place + MOST_JUNK - junk)
        if at is None:
            raise Refused(DAMAGED)
        junk += at.start() - place
        marker, place = at[1][0], at.end()
        if marker in _STANDALONE:
            continue
        if marker == _EOI or place + 2 > len(data):
            raise Refused(DAMAGED)
        length = int.from_bytes(data[place : place + 2])
        if marker in _SOF:
            header, components = _frame(marker, data[place : place + length])
        elif marker == _SOS:
            if header is None or place + 2 >= len(data):
                raise Refused(DAMAGED)
            return _scanned(header, components, data[place + 2])
        place += max(length, 2)
    raise Refused(f"the JPEG has more than {MOST_SEGMENTS} segments before its picture; save it anew")


def _frame(marker: int, segment: bytes) -> tuple[Header, int]:
    """A frame header: size, and how the components are sampled."""
    if len(segment) < 8:
        raise Refused(DAMAGED)
    height, width, components = struct.unpack_from(">HHB", segment, 3)
    factors = [(segment[at] >> 4, segment[at] & 15) for at in range(9, min(len(segment), 9 + 3 * components), 3)]
    if not width or not height or not factors or not all(h and v for h, v in factors):
        raise Refused(DAMAGED)
    widest, highest = max(h for h, _ in factors), max(v for _, v in factors)
    # Of a JPEG in several scans all coefficients are held, 2 bytes each.
    coefficients = 2.0 * sum(h * v for h, v in factors) / (widest * highest)
    image = 1.0 if components == 1 else 4.0
    coefficient_bytes = coefficients if marker in _PROGRESSIVE else 0.0
    return Header("JPEG", width, height, pixel_bytes=image, pixel_ns=6.0, data_bytes=coefficient_bytes), components


def _scanned(frame: Header, components: int, in_first_scan: int) -> Header:
    """The frame, with what its first scan says: one that lacks components is followed by others."""
    if frame.data_bytes or in_first_scan >= components:
        return frame
    return replace(frame, data_bytes=2.0 * components)
