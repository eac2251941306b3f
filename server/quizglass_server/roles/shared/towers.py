"""Vision towers that are graphs of their own: what they make of a picture is made once, for every decision about it."""

from __future__ import annotations

from collections.abc import Hashable
from concurrent.futures import Future
from math import ceil

import numpy as np
from numpy.typing import NDArray

from quizglass_bundle.fields import Patched
from quizglass_bundle.inputs.vision_inputs import Features, Patches, image_tokens, patch_grid, patches
from quizglass_server.domain.turns import Picture
from quizglass_server.engines.cache import MadeOnce
from quizglass_server.engines.onnx.ending import waited_for
from quizglass_server.engines.onnx.providers import InputRange
from quizglass_server.engines.onnx.session import OnnxSession, Signature
from quizglass_server.roles.shared.loading import Loading
from quizglass_server.roles.shared.logits import checked

FEATURES = "image_features"
"""What towers give, and the graphs of decisions take."""
_CACHE = "towers"

_Made = MadeOnce[tuple[object, bytes], Features]
"""By tower and picture."""


class SharedTower:
    """A tower for pictures of one size."""

    @classmethod
    def shared(cls, file: str, size: Patched, loading: Loading, *, stepped: bool) -> SharedTower:
        """The tower of a file, loaded once for all roles that name it."""
        key: Hashable = (cls, file, size, stepped)
        return loading.once(key, lambda: cls(file, size, loading, stepped=stepped))

    def __init__(self, file: str, size: Patched, loading: Loading, *, stepped: bool) -> None:
        """Load, and run once.

        Args:
            file: its graph, a file of the bundle.
            size: of its pictures.
            loading: the bundle's files, and what runs them.
            stepped: whether the graph was made for a card.

        Raises:
            BundleError: the file is damaged, or takes or gives other shapes than pictures of this size have.
        """
        self._size, self._fitter = size, loading.fitter
        down, across = patch_grid(size)
        shape = (1, down * across, 3 * size.temporal * size.patch**2)
        signature = Signature(FEATURES, {"pixel_values": InputRange(shape, shape, shape)}, stepped=stepped)
        self._session = OnnxSession(loading.files.path(file), signature, loading.how)
        self.name = self._session.name
        most = loading.fitter.kept_bytes
        self._made = loading.once(
            (SharedTower, _CACHE), lambda: _Made(most, lambda features: features.nbytes, _CACHE, "forms")
        )
        """Of all towers together."""
        self._mark = object()  # not the tower itself, which has the cache
        example = self._run(np.zeros(shape[1:], np.float32))
        self.width = example.shape[1]
        """Numbers of an image token."""
        self._bytes, self._most = example.nbytes, most
        self.keeps = self._bytes <= most
        """Whether what it makes of a picture fits into what is kept."""

    def notice(self, shown: int) -> str:
        """Why it runs twice for a picture where a prompt shows so many, and what to do; empty where it does not."""
        size, mib = self._bytes * shown, 1 << 20
        if size <= self._most:
            return ""
        times = ceil(10 * size / self._most) / 10
        pictures = "a picture" if shown == 1 else f"{shown} pictures, as many as a prompt may show,"
        again = "again for pictures that it has seen" if self.keeps else "for every decision"
        return (
            f"what {self.name} makes of {pictures} takes {size / mib:.1f} MiB of the {self._most / mib:.1f} that are "
            f"kept, so it runs {again}; raise picture_cache_bytes to {times} times its value"
        )

    def begin(self, picture: Picture) -> Features | Future[Features]:
        """What the tower makes of a picture: kept, or made now; see `MadeOnce.get`."""
        return self._made.get((self._mark, picture.key), lambda: self._made_of(picture))

    def _made_of(self, picture: Picture) -> Features:
        """It runs to its end: others come to wait for it, and what it makes is kept."""
        with waited_for(None):
            return self._run(patches(self._fitter.fit(picture, self._size), self._size))

    def _run(self, seen: Patches) -> Features:
        values: NDArray[np.float32] = self._session.run({"pixel_values": seen[None]})
        tokens, width = image_tokens(self._size), values.shape[-1]
        features: Features = checked(values, (1, tokens, width), self.name)[0]
        return features
