"""Pictures as llama-server takes them: base64 of a file.

The file is a PPM: nothing is compressed, on either side. llama-server tells pictures apart by the file's SHA-256, and
the comment in it has the hash of the pixels and of who sent them, so that clients do not share what is kept of one.
"""

from __future__ import annotations

from base64 import b64encode

from cachetools import LRUCache

from quizglass_server.engines.generator.prompt import PicturePart

_KEPT_BYTES = 32 << 20


class PictureFiles:
    """Files of the pictures that were shown last."""

    def __init__(self) -> None:
        self._kept: LRUCache[bytes, str] = LRUCache(_KEPT_BYTES, getsizeof=len)

    def file(self, picture: PicturePart) -> str:
        """A picture's file, base64."""
        if (known := self._kept.get(picture.sha256)) is not None:
            return known
        head = f"P6\n#{picture.sha256.hex()}\n{picture.width} {picture.height}\n255\n"
        made = b64encode(head.encode() + picture.rgb).decode("ascii")
        if len(made) <= _KEPT_BYTES:
            self._kept[picture.sha256] = made
        return made

    def clear(self) -> None:
        """Keep none of them."""
        self._kept.clear()
