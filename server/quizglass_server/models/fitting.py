"""Pictures in the size a model takes, made once for each picture, and prompts in the length it takes."""

from __future__ import annotations

from hashlib import sha256
from threading import Lock
from weakref import ref

from quizglass_server.domain.turns import RGB, Picture
from quizglass_server.engines.cache import BoundedCache
from quizglass_server.models.fields import Size
from quizglass_server.models.prompts import Prompt, PromptTokenizer, SegmentKind
from quizglass_server.models.vision_inputs import fit

CACHE_BYTES = 32 << 20
CACHED_ARRAYS = 64


class PictureFitter:
    """Stretches pictures to model sizes; shared by all models, so that one size is made once.

    A frame is known by its hash, and its pixels also by the identity of their array while that lives: the image
    encoder is given pixels alone. Arrays of pixels are never written to.
    """

    def __init__(self) -> None:
        self._by_hash = BoundedCache[tuple[bytes, int, int], RGB](CACHE_BYTES, lambda pixels: pixels.nbytes)
        self._by_array = BoundedCache[tuple[int, int, int], tuple[ref[RGB], RGB]](CACHED_ARRAYS)
        self._lock = Lock()

    def fit(self, picture: Picture, size: Size) -> RGB:
        """The picture in `size`."""
        key = (picture.sha256, size.width, size.height)
        if (found := self._by_hash.get(key)) is not None:
            return found
        fitted = self.fit_pixels(picture.pixels, size)
        self._by_hash.put(key, fitted)
        return fitted

    def fit_pixels(self, pixels: RGB, size: Size) -> RGB:
        """The pixels in `size`."""
        key = (id(pixels), size.width, size.height)
        # Models that want the same size at the same moment wait for the first instead of repeating its work.
        with self._lock:
            known = self._by_array.get(key)
            if known is not None and known[0]() is pixels:
                return known[1]
            fitted = fit(pixels, size)
            self._by_array.put(key, (ref(pixels), fitted))
            return fitted


def content_hash(pixels: RGB) -> bytes:
    """SHA-256 of raw pixels."""
    return sha256(pixels.tobytes()).digest()


def encode_within(tokenizer: PromptTokenizer, prompt: Prompt, image: list[int], limit: int) -> list[int]:
    """Token ids of a prompt, at most `limit`.

    What is too long is cut at the end of the longest data, again and again; instructions and the picture are never
    cut. Without data to cut the prompt may stay longer than `limit`.
    """
    pieces = [tokenizer.encode((segment,), image) for segment in prompt]
    data = [piece for piece, segment in zip(pieces, prompt, strict=True) if segment.kind is SegmentKind.DATA]
    excess = sum(map(len, pieces)) - limit
    while excess > 0 and data:
        by_length = sorted(data, key=len)
        longest = by_length[-1]
        second = len(by_length[-2]) if len(by_length) > 1 else 0
        cut = min(excess, max(len(longest) - second, 1), len(longest))
        if cut == 0:
            break
        del longest[-cut:]
        excess -= cut
    return [token for piece in pieces for token in piece]
