"""Pictures in the size a model takes, made once for each picture, and prompts in the length it takes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from threading import Lock

import numpy as np

from quizglass_bundle.fields import Size
from quizglass_bundle.inputs.vision_inputs import fit
from quizglass_server.domain.turns import RGB, Picture
from quizglass_server.engines.cache import BoundedCache

CACHE_BYTES = 12 << 20

_Key = tuple[bytes, int, int]
"""A picture's hash, width and height."""


class FittedPicture:
    """A picture in a model's size: its bytes once, for models that take an array and for one in another process."""

    def __init__(self, pixels: RGB) -> None:
        """Take over uint8 [height, width, 3]."""
        self.rgb = pixels.tobytes()
        """height * width * 3 bytes."""
        self.pixels: RGB = np.frombuffer(self.rgb, np.uint8).reshape(pixels.shape)
        """The same, read-only."""
        self._hash = b""

    @property
    def is_hashed(self) -> bool:
        """Whether `hash` costs nothing more."""
        return bool(self._hash)

    def hash(self) -> bytes:
        """SHA-256 of `rgb`, computed once.

        The frame's own hash would not do for what outlives the server: a frame filter changes a picture under its name.
        """
        if not self._hash:
            self._hash = sha256(self.rgb).digest()
        return self._hash


class PictureFitter:
    """Stretches pictures to model sizes; shared by all models, so that one size is made once."""

    def __init__(self, kept_bytes: int = CACHE_BYTES) -> None:
        self.kept_bytes = kept_bytes
        """Of pictures in one form: here, and at most in every model that has one of its own."""
        self._made = BoundedCache[_Key, FittedPicture](kept_bytes, lambda made: len(made.rgb), kind="forms")
        self._lock = Lock()  # of the table alone, never held while a picture is made
        self._making: dict[_Key, tuple[Lock, int]] = {}

    def fit(self, picture: Picture, size: Size, *, keep: bool = True) -> RGB:
        """The picture in `size`, which is not to be written to; without `keep` it is not needed again."""
        return self.fitted(picture, size, keep=keep).pixels

    def kept(self, picture: Picture, size: Size) -> FittedPicture | None:
        """The picture in `size` if it was made before."""
        return self._made.get((picture.key, size.width, size.height))

    def fitted(self, picture: Picture, size: Size, *, keep: bool = True) -> FittedPicture:
        """The picture in `size`."""
        if (made := self.kept(picture, size)) is not None:
            return made
        key = (picture.key, size.width, size.height)
        # Models that want the same size at the same moment wait for the first instead of repeating its work.
        with self._alone_with(key):
            if (made := self.kept(picture, size)) is None:
                made = FittedPicture(fit(picture.pixels, size))
                if keep:
                    self._made.put(key, made)
            return made

    @contextmanager
    def _alone_with(self, key: _Key) -> Iterator[None]:
        """Lock for making this picture in this size; others may be made meanwhile."""
        with self._lock:
            lock, users = self._making.get(key, (Lock(), 0))
            self._making[key] = lock, users + 1
        try:
            with lock:
                yield
        finally:
            with self._lock:
                lock, users = self._making.pop(key)
                if users > 1:
                    self._making[key] = lock, users - 1


def within(pixels: RGB, largest: Size) -> Size:
    """The size of a picture that keeps its shape and has no more pixels than `largest`; never larger than it is."""
    height, width = pixels.shape[:2]
    scale = min(1.0, math.sqrt(largest.width * largest.height / (width * height)))
    return Size(width=max(1, int(width * scale)), height=max(1, int(height * scale)))


def content_hash(pixels: RGB) -> bytes:
    """SHA-256 of raw pixels."""
    return sha256(pixels.tobytes()).digest()
