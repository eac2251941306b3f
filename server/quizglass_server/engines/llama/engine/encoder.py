"""A thread that encodes pictures, so that nobody else's answer waits for one.

It lives as long as there is something to encode: GNU's OpenMP lets no thread spin at its barriers while the threads of
all its pools are more than the cores, and each thread that computes has a pool until it ends. With a pool left behind,
a step of a 0.5B model took 24 ms instead of 16 on two cores.

Pictures are encoded in the order of the requests that need them, each once however many do, and then as early as the
most urgent of these. Embeddings are cached by content hash, bounded by bytes. What has begun cannot be stopped; what
nobody waits for any more is skipped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from queue import PriorityQueue
from threading import Lock, Thread
from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from quizglass_server.engines.cache import BoundedCache
from quizglass_server.engines.llama.engine.requests import Request
from quizglass_server.engines.llama.link.prompt import PicturePart
from quizglass_server.engines.llama.native.errors import DecodeFailed

EMBEDDING_CACHE_BYTES = 64 << 20
Embedding = NDArray[np.float32]
logger = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Encoding:
    """One picture to encode."""

    picture: PicturePart
    order: tuple[float, ...]
    """Its best place in the queue: that of the most urgent request that has needed it."""
    waiting: list[Request] = field(default_factory=list)
    """Who needs it; read by the engine thread alone."""
    wanted: bool = True
    """Cleared by the engine thread when all of them have left: then it is skipped, if it has not begun."""
    taken: bool = False
    """Off the queue: its other places there are passed over."""
    embedding: Embedding | None = None
    error: Exception | None = None
    began: int = 0
    """`perf_counter_ns` at the beginning."""
    ended: int = 0


class PictureEncoder:
    """Used by the engine thread; owns another while there are pictures to encode."""

    def __init__(self, encode: Callable[[bytes], Embedding], deliver: Callable[[Encoding], None]) -> None:
        """Make one with nothing to do.

        Args:
            encode: pixels to embedding; called in one thread at a time.
            deliver: called there with each encoding that is complete.
        """
        self.encoded = 0
        self.encode_us = 0.0
        """Usual cost of a picture."""
        self._began = 0
        self._encode = encode
        self._deliver = deliver
        self._cache = BoundedCache[bytes, Embedding](EMBEDDING_CACHE_BYTES, lambda value: value.nbytes)
        self._known: dict[bytes, Encoding] = {}
        self._jobs: PriorityQueue[tuple[tuple[float, ...], int, Encoding]] = PriorityQueue()
        self._numbers = count()
        self._lock = Lock()
        self._working = self._closed = False

    @property
    def encoding_us(self) -> int:
        """How long the picture that is being encoded has taken so far, 0 if there is none; for any thread."""
        began = self._began
        return (perf_counter_ns() - began) // 1000 if began else 0

    def provide(self, request: Request, picture: PicturePart) -> bool:
        """Whether a request has the embedding of one of its pictures now; if not it waits until `deliver`."""
        if picture.sha256 in request.embeddings:
            return True
        if (embedding := self._cache.get(picture.sha256)) is not None:
            request.embeddings[picture.sha256] = embedding
            return True
        encoding = self._known.get(picture.sha256)
        if encoding is None:
            encoding = self._known[picture.sha256] = Encoding(picture, request.order)
            request.encoded_picture = True
            self._put(encoding)
        elif request.order < encoding.order and not encoding.taken:
            encoding.order = request.order
            self._put(encoding)
        encoding.wanted = True
        encoding.waiting.append(request)
        request.awaited = picture.sha256
        request.awaiting_since = perf_counter_ns()
        return False

    def has(self, sha256: bytes) -> bool:
        """Whether an embedding is in the cache; may be asked by any thread."""
        return self._cache.get(sha256) is not None

    def forget(self) -> None:
        """Keep no embedding of the pictures so far."""
        self._cache.clear()

    def receive(self, encoding: Encoding) -> list[Request]:
        """Hand an encoding to those who wait for it, and return them; with an error they have no embedding."""
        if encoding.embedding is None and encoding.error is None and encoding.waiting:
            # Skipped, but wanted again since.
            encoding.order = min(request.order for request in encoding.waiting)
            encoding.taken = False
            self._put(encoding)
            return []
        del self._known[encoding.picture.sha256]
        if encoding.embedding is not None:
            self._cache.put(encoding.picture.sha256, encoding.embedding)
        for request in encoding.waiting:
            request.picture_encoded(encoding.began, encoding.ended)
            if encoding.embedding is not None:
                request.embeddings[encoding.picture.sha256] = encoding.embedding
        return encoding.waiting

    def leave(self, request: Request) -> None:
        """A request that may wait for a picture has ended."""
        if request.awaited is None:
            return
        encoding = self._known[request.awaited]
        encoding.waiting.remove(request)
        encoding.wanted = bool(encoding.waiting)

    def close(self) -> None:
        """Begin nothing more."""
        self._closed = True

    def _put(self, encoding: Encoding) -> None:
        self._jobs.put((encoding.order, next(self._numbers), encoding))
        with self._lock:
            if not self._working:
                self._working = True
                Thread(target=self._run, name="encoder", daemon=True).start()

    def _run(self) -> None:
        while (encoding := self._next()) is not None:
            if encoding.wanted:
                self._run_one(encoding)
            self._deliver(encoding)

    def _next(self) -> Encoding | None:
        with self._lock:
            # Nobody else takes from it.
            while not (self._closed or self._jobs.empty()):
                encoding = self._jobs.get_nowait()[2]
                if not encoding.taken:
                    encoding.taken = True
                    return encoding
            self._working = False
            return None

    def _run_one(self, encoding: Encoding) -> None:
        encoding.began = self._began = perf_counter_ns()
        try:
            encoding.embedding = self._checked(encoding.picture.rgb)
        except Exception as error:
            logger.exception("a picture could not be encoded")
            encoding.error = error
        encoding.ended, self._began = perf_counter_ns(), 0
        spent = (encoding.ended - encoding.began) / 1000
        self.encode_us = spent if not self.encoded else 0.7 * self.encode_us + 0.3 * spent
        self.encoded += 1

    def _checked(self, rgb: bytes) -> Embedding:
        embedding = self._encode(rgb)
        if not np.isfinite(embedding).all():
            raise DecodeFailed("the picture's embedding is not numbers; the projector's file may be damaged")
        return embedding
