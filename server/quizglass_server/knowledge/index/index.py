"""The searchable index of one kind of vector: a graph for the many, an exact scan for the few and the new.

Derived from the database, brought up to date after each commit. Searches never wait: they work on the state published
last, and a vector whose label is no longer known is passed over. One thread at a time applies changes; another one may
be building the next graph meanwhile (`indexer.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from quizglass_server.domain.turns import Vector
from quizglass_server.knowledge.content.records import Additions, Labels, Matrix
from quizglass_server.knowledge.index.graph import Graph, best, cosines, unit

# Those entries that pass a filter are scanned if they have so few vectors: a graph would have to be searched far.
_FEW = 1_000
_FEW_SHARE = 0.05
_IDLE_TAIL = 64
_MERGED_AS_IT_IS = 256


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """When an index builds graphs."""

    graph_from: int = 5_000
    """Vectors from which there is a graph. Below, scanning them all is exact and takes well under a millisecond."""
    tail: int = 2_048
    """Vectors outside a graph that are merged into it. More: fewer merges, slower searches between them."""
    dead_share: float = 0.25
    """Share of deleted vectors from which the graph is built anew."""


@dataclass(frozen=True, slots=True)
class IndexState:
    """What a search works on; replaced as a whole, so that a search sees one state."""

    graph: Graph | None
    labels: Labels
    """Labels of the vectors outside the graph, ascending."""
    vectors: Matrix
    size: int = field(init=False)
    """Number of vectors, deleted ones included."""

    def __post_init__(self) -> None:
        """Count them once: every search wants to know."""
        object.__setattr__(self, "size", len(self.labels) + (len(self.graph.labels) if self.graph else 0))

    def nearest(self, query: Vector, count: int) -> tuple[Labels, Vector]:
        """Labels and cosines of the `count` nearest, best first, deleted ones included."""
        if self.graph is not None and not len(self.labels):
            return self.graph.nearest(query, count)
        near = self.labels, cosines(self.vectors, unit(query))
        if self.graph is None or len(self.labels) > _MERGED_AS_IT_IS:
            near = best(*near, count)
        if self.graph is None:
            return near
        far = self.graph.nearest(query, count)
        return best(np.concatenate([near[0], far[0]]), np.concatenate([near[1], far[1]]), count)

    def among(self, query: Vector, labels: Labels) -> tuple[Labels, Vector]:
        """Those labels (ascending) that are here, with their cosines, best first: exact."""
        query = unit(query)
        rows, here = places(self.labels, labels)
        those, scores = [labels[here]], [cosines(self.vectors[rows], query)]
        if self.graph is not None:
            those.append(labels[places(self.graph.labels, labels)[1]])
            scores.append(cosines(self.graph.vectors(those[-1]), query))
        every = np.concatenate(those)
        return best(every, np.concatenate(scores), len(every))


class VectorIndex:
    """Nearest vectors by cosine, never one of a deleted entry."""

    def __init__(self, dimension: int, options: IndexOptions) -> None:
        """An empty index of vectors of this length."""
        self.dimension = dimension
        self.options = options
        self._lock = threading.Lock()  # held to publish, not to search
        self._entry_of: dict[int, int] = {}
        self._elsewhere: set[int] = set()  # of those, labels of other spaces, whose vectors are not searched here
        self._labels_of: dict[int, tuple[int, ...]] = {}  # of each entry, for searches among a few of them
        self._buffer = np.empty((0, dimension), np.float32)
        self.state = IndexState(None, np.empty(0, np.int64), self._buffer)
        """The state that searches work on now."""

    def __len__(self) -> int:
        return len(self._entry_of)

    def fill(self, graph: Graph | None, labels: Labels, entries: Labels, tail: tuple[Labels, Matrix]) -> None:
        """Start from a graph, all living labels with their entries, and the vectors that the graph lacks."""
        with self._lock:
            self._entry_of = dict(zip(labels.tolist(), entries.tolist(), strict=True))
            self._labels_of = {}
            self._note(labels.tolist(), entries.tolist())
            self._buffer = tail[1]
            self.state = IndexState(graph, *tail)
            here = tail[0] if graph is None else np.concatenate([graph.labels, tail[0]])
            self._elsewhere = set(np.setdiff1d(labels, here).tolist())

    def apply(self, added: Additions, removed: Sequence[int]) -> None:
        """Follow a commit. Labels ascend from one commit to the next."""
        with self._lock:
            for label in removed:
                entry = self._entry_of.pop(label, None)
                if entry is not None and (rest := tuple(each for each in self._labels_of.pop(entry) if each != label)):
                    self._labels_of[entry] = rest
                self._elsewhere.discard(label)
            if added.labels:
                self._append(np.array(added.labels, np.int64), np.stack(added.vectors))
                self._entry_of.update(zip(added.labels, added.entries, strict=True))
                self._note(added.labels, added.entries)

    def search(
        self, query: Vector, limit: int, *, per_entry: bool, allowed: set[int] | None = None
    ) -> list[tuple[int, float]]:
        """Labels and cosines, best first; with `per_entry` only the best of each entry, and only of those allowed."""
        state = self.state
        if allowed is None and not per_entry and not self._dead(state):  # nothing to pass over
            labels, scores = state.nearest(query, limit)
            return list(zip(labels.tolist(), scores.tolist(), strict=True))[:limit]
        if allowed is not None and (few := self._few(allowed)) is not None:
            labels, scores = state.among(query, few)
            return self._living(labels, scores, limit, per_entry, allowed)
        fetch = 2 * limit + 8
        while state.size:
            labels, scores = state.nearest(query, fetch)
            hits = self._living(labels, scores, limit, per_entry, allowed)
            if len(hits) == limit or fetch >= state.size:
                return hits
            fetch *= 4  # deleted vectors and further pictures of the same entries took the places
        return []

    def due(self, *, idle: bool = False) -> str:
        """What has become of the graph: "" (fine), "grow" (merge the new vectors) or "build" (make it anew).

        When no write is under way (`idle`), a few new vectors are reason enough: each makes every search slower.
        """
        state = self.state
        inside = len(state.graph.labels) if state.graph else 0
        dead = self._dead(state)
        if state.size >= self.options.graph_from and dead > self.options.dead_share * state.size:
            return "build"
        if state.graph is None:
            return "build" if len(state.labels) >= self.options.graph_from else ""
        most = _IDLE_TAIL if idle else max(self.options.tail, inside // 50)
        return "grow" if len(state.labels) >= most else ""

    def publish(self, graph: Graph | None) -> None:
        """Search this graph from now on; vectors that it does not hold stay in the scan."""
        with self._lock:
            labels, vectors = self.state.labels, self.state.vectors
            outside = np.array([label in self._entry_of for label in labels.tolist()], dtype=bool)
            if graph is not None:
                outside &= ~np.isin(labels, graph.labels, assume_unique=True)
            self._buffer = vectors[outside]
            self.state = IndexState(graph, labels[outside], self._buffer)

    def labels(self) -> Labels:
        """All labels that are not deleted, ascending."""
        with self._lock:
            return self._living_labels()

    def living(self, labels: Labels) -> Labels:
        """These labels without those of deleted vectors."""
        return np.array([label for label in labels.tolist() if label in self._entry_of], dtype=np.int64)

    def _few(self, entries: set[int]) -> Labels | None:
        """The labels of these entries, ascending; None if they are too many to be scanned."""
        most = max(_FEW, len(self._entry_of) * _FEW_SHARE)
        if len(entries) > most:  # then so are their labels, most likely, and it takes long to find out
            return None
        labels = [label for entry in entries for label in self._labels_of.get(entry, ())]
        return np.sort(np.array(labels, np.int64)) if len(labels) <= most else None

    def _note(self, labels: Sequence[int], entries: Sequence[int]) -> None:
        """Take the labels of entries. Searches may be reading those of before, so that none of them is changed."""
        for label, entry in zip(labels, entries, strict=True):
            self._labels_of[entry] = (*self._labels_of.get(entry, ()), label)

    def _dead(self, state: IndexState) -> int:
        """How many of the vectors of a state are deleted ones."""
        return state.size - (len(self._entry_of) - len(self._elsewhere))

    def _living_labels(self) -> Labels:
        return np.sort(np.fromiter(self._entry_of, np.int64, len(self._entry_of)))

    def _append(self, labels: Labels, vectors: Matrix) -> None:
        """Append to the scan. Searches may be reading the rows before; the ones after are not theirs yet."""
        state = self.state
        used, needed = len(state.labels), len(state.labels) + len(labels)
        if needed > len(self._buffer):
            grown = np.empty((max(needed, 2 * used, 64), self.dimension), np.float32)
            grown[:used] = state.vectors
            self._buffer = grown
        self._buffer[used:needed] = vectors
        self.state = IndexState(state.graph, np.concatenate([state.labels, labels]), self._buffer[:needed])

    def those_living(self, labels: Sequence[int], allowed: set[int] | None) -> list[int]:
        """These labels in their order, without deleted ones and those whose entry is not allowed."""
        entries = self._entry_of
        return [label for label in labels if label in entries and (allowed is None or entries.get(label) in allowed)]

    def cosines(self, query: Vector, labels: Sequence[int]) -> dict[int, float]:
        """Cosines of those labels that are here."""
        found, scores = self.state.among(query, np.array(sorted(labels), np.int64))
        return dict(zip(found.tolist(), scores.tolist(), strict=True))

    def entry_of(self, label: int) -> int | None:
        """Number of the entry that a label belongs to; None when it is deleted."""
        return self._entry_of.get(label)

    def _living(
        self, labels: Labels, scores: Vector, limit: int, per_entry: bool, allowed: set[int] | None
    ) -> list[tuple[int, float]]:
        hits: list[tuple[int, float]] = []
        seen: set[int] = set()
        for label, score in zip(labels.tolist(), scores.tolist(), strict=True):
            entry = self._entry_of.get(label)
            if entry is None or (per_entry and entry in seen) or (allowed is not None and entry not in allowed):
                continue
            seen.add(entry)
            hits.append((label, score))
            if len(hits) == limit:
                break
        return hits


def places(ascending: Labels, wanted: Labels) -> tuple[Labels, NDArray[np.bool_]]:
    """Positions in an ascending array of the wanted labels that it holds, and a mask of those among `wanted`."""
    at = np.searchsorted(ascending, wanted)
    here = at < len(ascending)
    here[here] = ascending[at[here]] == wanted[here]
    return at[here], here
