"""Pictures as llama-server takes them: base64 of a file.

A small picture is a PNG, which is sent with every question about it and is a tenth of its pixels; a large one a PPM,
since compressing it takes longer than sending it. llama-server tells pictures apart by the SHA-256 of their files, and
a comment in each has the hash of the pixels and of who sent them, so that clients do not share what is kept of one.
"""

from __future__ import annotations

import asyncio
import io
from base64 import b64encode
from collections.abc import Callable

from cachetools import LRUCache
from PIL import Image, PngImagePlugin

from quizglass_server.engines.generator.prompt import PicturePart

LARGE = 1 << 18
"""Pixels from which on a picture is not compressed, and not to be made a file of on an event loop."""
_KEPT_BYTES = 32 << 20


class PictureFiles:
    """Files of the pictures that were shown last."""

    def __init__(self) -> None:
        self._kept: LRUCache[bytes, str] = LRUCache(_KEPT_BYTES, getsizeof=len)

    async def file(self, picture: PicturePart) -> str:
        """A picture's file, base64; that of a large one is not made on the event loop."""
        if (known := self._kept.get(picture.sha256)) is not None:
            return known
        large = picture.width * picture.height >= LARGE
        made = await asyncio.to_thread(_base64, _ppm, picture) if large else _base64(_png, picture)
        if len(made) <= _KEPT_BYTES:
            self._kept[picture.sha256] = made
        return made

    def clear(self) -> None:
        """Keep none of them."""
        self._kept.clear()


def _base64(written: Callable[[PicturePart], bytes], picture: PicturePart) -> str:
    return b64encode(written(picture)).decode("ascii")


def _ppm(picture: PicturePart) -> bytes:
    return f"P6\n#{picture.sha256.hex()}\n{picture.width} {picture.height}\n255\n".encode() + picture.rgb


def _png(picture: PicturePart) -> bytes:
    comment = PngImagePlugin.PngInfo()
    comment.add_text("Comment", picture.sha256.hex())
    out = io.BytesIO()
    image = Image.frombytes("RGB", (picture.width, picture.height), picture.rgb)
    image.save(out, "PNG", compress_level=1, pnginfo=comment)
    return out.getvalue()
