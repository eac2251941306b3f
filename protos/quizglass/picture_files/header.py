"""What a picture's first bytes claim, and what decoding it will therefore cost. Looks at no pixel.

Claims are not trusted: the decoder gets the memory that they lead to expect and no more, and compares them with what it
finds. The figures of `Header.memory` were measured with Pillow 13 at 40 million pixels; tests hold them.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, replace

from quizglass.picture_files.errors import DAMAGED, BadPicture

FORMATS = ("JPEG", "PNG", "WEBP")
KEPT_PIXELS = 3840 * 2160
"""Larger pictures are kept at a half, a third, ... of their sides: every model scales them down much further."""
MOST_SEGMENTS = 1000
"""Most segments of a JPEG before its first scan: cameras write twenty, a profile or depth map takes some more."""
MOST_JUNK = 4096
"""Bytes that a JPEG may have between its segments, fill bytes and others, which Pillow skips one by one."""
_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_OTHERS = {b"GIF8": "GIF", b"BM": "BMP", b"II*\0": "TIFF", b"MM\0*": "TIFF"}
"""How files of other formats begin."""
_BRANDS = {b"avif": "AVIF", b"avis": "AVIF", **dict.fromkeys((b"heic", b"heix", b"mif1", b"msf1"), "HEIC")}
_SOF = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_PROGRESSIVE = frozenset({0xC2, 0xC6, 0xCA, 0xCE})
_SOS, _EOI, _APP2 = 0xDA, 0xD9, 0xE2
_PROFILE = b"ICC_PROFILE\0"
_STANDALONE = frozenset({0x01, *range(0xD0, 0xD9)})
_MARKER = re.compile(rb"\xff([\x01-\xfe])")
_MIB = 1 << 20
_BASE_BYTES = 12 * _MIB


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says of itself."""

    format: str
    """One of `FORMATS`."""
    width: int
    height: int
    pixel_bytes: float = 4.0
    """Bytes that the decoder holds for each pixel of the picture at its full size."""
    pixel_ns: float = 12.0
    """Usual time to decode one."""
    data_bytes: float = 0.0
    """Bytes beside that for each pixel: coefficients of progressive JPEGs, which scaling does not reduce."""
    profiled: bool = False
    """Whether a JPEG brings a colour profile. Those of other formats are not looked for here."""

    @property
    def pixels(self) -> int:
        """Width times height."""
        return self.width * self.height

    @property
    def longest(self) -> int:
        """Pixels of the longer side."""
        return max(self.width, self.height)

    def jpeg_scale(self, side: int = 0) -> int:
        """1, 2, 4 or 8: a JPEG decodes to that fraction of its sides at once, which saves time and memory.

        Args:
            side: as `reduction` has it.
        """
        if self.format != "JPEG":
            return 1
        most = self.longest // side if side else reduction(self.width, self.height)
        return max(scale for scale in (1, 2, 4, 8) if scale <= max(most, 1))

    def memory(self, encoded_bytes: int, side: int = 0) -> int:
        """Bytes that decoding takes at most, result included.

        Args:
            encoded_bytes: of the file.
            side: as `reduction` has it.
        """
        scale = self.jpeg_scale(side)
        width, height = -(-self.width // scale), -(-self.height // scale)
        factor = reduction(width, height, side)
        kept = -(-width // factor) * -(-height // factor)
        image = self.pixels * self.pixel_bytes / scale**2 + self.pixels * self.data_bytes
        turned = 2 * 4 * kept
        return round(1.05 * image + turned + 3 * kept) + 2 * encoded_bytes + _BASE_BYTES

    def seconds(self, encoded_bytes: int, scans: int) -> float:
        """About how long decoding takes: an estimate for who goes first, not a bound."""
        return 1e-9 * (self.pixels * (self.pixel_ns + 2.0 * (scans - 1)) + 20.0 * encoded_bytes)


def reduction(width: int, height: int, side: int = 0) -> int:
    """What the sides of a decoded picture are divided by, before anything else is done with it.

    Args:
        width: of the picture, in pixels.
        height: likewise.
        side: the longer side that a careful resampler will make of it, which wants twice as many
            pixels. 0: as many as models use, `KEPT_PIXELS`.
    """
    if side:
        return max(max(width, height) // (2 * side), 1)
    factor = 1
    while width * height > KEPT_PIXELS * factor * factor:
        factor += 1
    return factor


def read_header(data: bytes) -> Header:
    """What the file claims.

    Raises:
        BadPicture: it is none of the formats, ends too early, or is made to be long to parse.
    """
    if data.startswith(b"\xff\xd8\xff"):
        return _jpeg(data)
    if data.startswith(_PNG):
        return _png(data)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _webp(data)
    other = _other(data)
    raise BadPicture(f"{f'{other} is not taken' if other else 'not a picture'}; send {', '.join(FORMATS)}")


def _other(data: bytes) -> str:
    """The name of a format that is known and not taken; empty: it is none of those."""
    if data[4:8] == b"ftyp":
        return _BRANDS.get(data[8:12], "")
    return next((name for start, name in _OTHERS.items() if data.startswith(start)), "")


def _png(data: bytes) -> Header:
    if data[12:16] != b"IHDR" or len(data) < 33:
        raise BadPicture(DAMAGED)
    width, height, bits, colour = struct.unpack_from(">IIBB", data, 16)
    channels = _PNG_CHANNELS.get(colour)
    if channels is None or not width or not height:
        raise BadPicture(DAMAGED)
    # Pillow keeps a pixel of several channels in 4 bytes, whatever their depth.
    single = 2.0 if bits == 16 else 1.0
    return Header("PNG", width, height, pixel_bytes=single if channels == 1 else 4.0)


def _webp(data: bytes) -> Header:
    kind, body = data[12:16], data[20:30]
    if len(body) < 10:
        raise BadPicture(DAMAGED)
    if kind == b"VP8X":
        width, height = (int.from_bytes(body[at : at + 3], "little") + 1 for at in (4, 7))
    elif kind == b"VP8L":
        bits = int.from_bytes(body[1:5], "little")
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    elif kind == b"VP8 ":
        width, height = (int.from_bytes(body[at : at + 2], "little") & 0x3FFF for at in (6, 8))
    else:
        raise BadPicture(DAMAGED)
    if not width or not height:
        raise BadPicture(DAMAGED)
    # Two canvases of the animation decoder, the frame it works on, its bytes, and Pillow's image.
    return Header("WEBP", width, height, pixel_bytes=16.3, pixel_ns=40.0)


def _jpeg(data: bytes) -> Header:
    """Walks the segments up to the first scan, as Pillow does; the last frame header counts."""
    header: Header | None = None
    components = junk = 0
    profiled = False
    place = 2
    for _ in range(MOST_SEGMENTS):
        at = _MARKER.search(data, place, place + MOST_JUNK - junk)
        if at is None:
            raise BadPicture(DAMAGED)
        junk += at.start() - place
        marker, place = at[1][0], at.end()
        if marker in _STANDALONE:
            continue
        if marker == _EOI or place + 2 > len(data):
            raise BadPicture(DAMAGED)
        length = int.from_bytes(data[place : place + 2])
        if marker in _SOF:
            header, components = _frame(marker, data[place : place + length])
        elif marker == _APP2 and data.startswith(_PROFILE, place + 2):
            profiled = True
        elif marker == _SOS:
            if header is None or place + 2 >= len(data):
                raise BadPicture(DAMAGED)
            return replace(_scanned(header, components, data[place + 2]), profiled=profiled)
        place += max(length, 2)
    raise BadPicture(f"the JPEG has more than {MOST_SEGMENTS} segments before its picture; save it anew")


def _frame(marker: int, segment: bytes) -> tuple[Header, int]:
    """A frame header: size, and how the components are sampled."""
    if len(segment) < 8:
        raise BadPicture(DAMAGED)
    height, width, components = struct.unpack_from(">HHB", segment, 3)
    factors = [(segment[at] >> 4, segment[at] & 15) for at in range(9, min(len(segment), 9 + 3 * components), 3)]
    if not width or not height or not factors or not all(h and v for h, v in factors):
        raise BadPicture(DAMAGED)
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
