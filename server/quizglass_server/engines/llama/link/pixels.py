"""Lets a picture's pixels cross the socket once: later prompts name it by its hash.

The server remembers which pictures it sent (`Sent`), the process keeps their pixels for a while (`PixelStore`). Neither
has to be right about the other: a process that does not hold a picture says so and is given it again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from quizglass_server.engines.cache import BoundedCache
from quizglass_server.engines.llama.link.prompt import Part, PicturePart

KEPT_BYTES = 32 << 20
SENT_PICTURES = 4096


class PictureUnknown(Exception):
    """A prompt names a picture whose pixels this process does not hold."""


class Sent:
    """Hashes of the pictures that were sent to a process."""

    def __init__(self) -> None:
        self._hashes = BoundedCache[bytes, bool](SENT_PICTURES)

    def without_known(self, prompt: Iterable[Part]) -> list[Part]:
        """The prompt as it is to be sent: without the pixels of pictures that were sent before.

        Calls arrive in the order in which they are sent, so nobody waits for the answer to the one with the pixels.
        """
        return [self._once(part) if isinstance(part, PicturePart) else part for part in prompt]

    def clear(self) -> None:
        """Forget everything, so that all pixels are sent again."""
        self._hashes.clear()

    def _once(self, part: PicturePart) -> PicturePart:
        if self._hashes.get(part.sha256):
            return replace(part, rgb=b"")
        self._hashes.put(part.sha256, True)
        return part


class PixelStore:
    """Pixels by their hash; least recently used ones go first.

    Args:
        limit: most bytes kept.
    """

    def __init__(self, limit: int = KEPT_BYTES) -> None:
        self._pixels = BoundedCache[bytes, bytes](limit, len)

    def clear(self) -> None:
        """Keep none."""
        self._pixels.clear()

    def complete(self, prompt: Iterable[Part]) -> list[Part]:
        """The prompt with its pixels.

        Raises:
            PictureUnknown: a picture came without its pixels and is not held.
        """
        return [self._whole(part) if isinstance(part, PicturePart) else part for part in prompt]

    def _whole(self, part: PicturePart) -> PicturePart:
        if part.rgb:
            self._pixels.put(part.sha256, part.rgb)
            return part
        rgb = self._pixels.get(part.sha256)
        if rgb is None:
            raise PictureUnknown(f"picture {part.sha256.hex()[:12]} is not held; send it with its pixels")
        return replace(part, rgb=rgb)
