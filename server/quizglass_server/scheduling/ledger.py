"""Tells a turn which bytes were handed to whom on its behalf.

Whoever hands bytes over says so with `handed`, at the call and on whatever thread; it is counted in the ledger of the
work that is going on, if there is one. Nothing is counted from what ought to happen: what a cache saved was not handed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

from quizglass.values import LedgerEntry

_KEPT = {
    "decoder": "pixels",
    "frame_filter": "",
    "frames": "frame",
    "coach": "scores",
    "wordgate": "",
    "reader": "words",
    "image_encoder": "pixels, vectors",
    "detector": "pixels, vectors",
    "tagger": "pixels, tags",
    "text_encoder": "",
    "reranker": "",
    "coarse_reranker": "vectors",
    "generator": "pixels, prompts",
    "knowledge": "results",
    "memory": "sighting",
    "source": "results",
    "hearing": "",
    "voice": "",
}
"""What stays after the turn with those that bytes are handed to, by their names: the caches of docs/architecture.md."""
_PIXELS = "pixels"
"""What stays with all others: engines that see pictures keep them in the size that they take."""


class ByteLedger:
    """Counts bytes by whom they were handed to; safe to share between threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._bytes: Counter[str] = Counter()
        self._included: list[ByteLedger] = []

    def add(self, to: str, size: int) -> None:
        """Note that so many bytes were handed over."""
        with self._lock:
            self._bytes[to] += size

    def include(self, other: ByteLedger) -> None:
        """Tell what another ledger has when this one is settled; that one then begins anew."""
        self._included.append(other)

    def settle(self) -> Mapping[str, int]:
        """All bytes so far, by whom they were handed to."""
        both: Counter[str] = Counter()
        for other in self._included:
            both.update(other._taken())
        with self._lock:
            both.update(self._bytes)
        return both

    def entries(self, memory_s: float = 0.0, elsewhere: Collection[str] = ()) -> tuple[LedgerEntry, ...]:
        """The same as entries of the turn's ledger, with what is kept of each.

        Args:
            memory_s: seconds that the visual memory keeps what it is handed.
            elsewhere: who is behind a network address; what is kept there is not known here.
        """
        return tuple(
            LedgerEntry(
                to,
                size,
                "" if to in elsewhere else _KEPT.get(to.partition(".")[0], _PIXELS),
                memory_s if to == "memory" else 0.0,
                to in elsewhere,
            )
            for to, size in sorted(self.settle().items())
            if size
        )

    def _taken(self) -> Mapping[str, int]:
        with self._lock:
            taken, self._bytes = self._bytes, Counter()
        return taken


_ledger: ContextVar[ByteLedger | None] = ContextVar("ledger", default=None)


def current_ledger() -> ByteLedger | None:
    """The ledger of the current work; None: not counted."""
    return _ledger.get()


def text_size(*texts: str) -> int:
    """The bytes of texts as they are handed over."""
    return sum(len(text.encode(errors="surrogatepass")) for text in texts)


def handed(to: str, size: int) -> None:
    """Count bytes that are handed over: to a role of the bundle, or to a part of the server that is called so."""
    if (ledger := _ledger.get()) is not None:
        ledger.add(to, size)


@contextmanager
def entered_in(ledger: ByteLedger) -> Iterator[None]:
    """Count in a ledger what is handed over in the block, and in tasks and threads begun there."""
    token = _ledger.set(ledger)
    try:
        yield
    finally:
        _ledger.reset(token)
