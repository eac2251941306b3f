"""Opens formats that servers do not take, for those who convert them: HEIC and AVIF of phones, TIFF, GIF and BMP."""

from __future__ import annotations

import io
import struct

from PIL import Image, ImageFile

from quizglass.picture_files.errors import DAMAGED, BadPicture

OTHERS = ("BMP", "GIF", "TIFF", "AVIF", "HEIF")  # no more: for EPS, say, Pillow starts other programs
"""By Pillow's names. HEIF is read where `pillow-heif` was registered."""
_DEAR = {"AVIF": 16, "HEIF": 16, "TIFF": 8}
_SNIFFED = 16


def open_other(data: bytes) -> ImageFile.ImageFile | None:
    """A picture of one of those formats, its pixels not loaded yet; None: it is none.

    Pillow's bound on pixels, one for the whole program, does not count: look at `bytes_to_load` first.

    Raises:
        BadPicture: it begins as one of them, and is damaged.
        Exception: whatever else parsers of damaged files raise.
    """
    Image.init()
    begun = False
    for name in OTHERS:
        if name not in Image.OPEN:
            continue
        factory, accept = Image.OPEN[name]
        if accept is None or accept(data[:_SNIFFED]) is not True:
            continue
        begun = True
        try:
            return factory(io.BytesIO(data), "")
        except (SyntaxError, IndexError, TypeError, struct.error):
            continue  # of two formats that begin alike it is the other
    if begun:
        raise BadPicture(DAMAGED)
    return None


def bytes_to_load(image: ImageFile.ImageFile) -> int:
    """Memory that loading the pixels takes at most, roughly."""
    return image.width * image.height * _DEAR.get(image.format or "", 4)
