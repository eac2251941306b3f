"""An HNSW graph over unit vectors (Malkov and Yashunin, arXiv 1603.09320), built by hnswlib.

A graph is never changed once others can search it, because hnswlib may not search while it inserts (its issue 562):
`grown` works on a copy. Nothing is deleted from it either, since marked elements can leave fewer reachable than asked
for (issues 321 and 608): whoever searches ignores what is gone. hnswlib does not check the files it loads, so a file
may only be loaded after its hash has been compared.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable
from pathlib import Path

import hnswlib
import numpy as np

from quizglass_server.domain.turns import Vector
from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.content.records import Labels, Matrix
from quizglass_server.knowledge.database.disk import is_full

_M = 16
_EF_CONSTRUCTION = 200
SEARCH_EF = 96
"""How far a search explores: recall@10 of 0.99 and more at 100,000 vectors."""
_SEED = 100
_SLICE = 256  # vectors inserted between two looks at whether to stop

LIBRARY = f"hnswlib M={_M} ef_construction={_EF_CONSTRUCTION}"


class Stopped(Exception):
    """Building was interrupted."""


class Graph:
    """Labels and their vectors, for approximate search by cosine."""

    def __init__(self, index: hnswlib.Index, labels: Labels) -> None:
        """Wrap an index that holds exactly these labels, ascending."""
        self._index = index
        self._index.set_ef(SEARCH_EF)
        self._index.set_num_threads(1)
        self.labels = labels

    @classmethod
    def build(
        cls, dimension: int, capacity: int, batches: Iterable[tuple[Labels, Matrix]], step: Callable[[int], None]
    ) -> Graph:
        """Build from batches of ascending labels. `step` hears how many are in so far; it may raise Stopped."""
        index = hnswlib.Index(space="cosine", dim=dimension)
        index.init_index(max_elements=max(capacity, 1), M=_M, ef_construction=_EF_CONSTRUCTION, random_seed=_SEED)
        labels = [np.empty(0, np.int64)]
        for batch in batches:
            _insert(index, *batch, step)
            labels.append(batch[0])
        return cls(index, np.concatenate(labels))

    @classmethod
    def load(cls, path: Path, dimension: int) -> Graph:
        """Read a file that `save` wrote and whose hash was compared. Raises KnowledgeFailed."""
        index = hnswlib.Index(space="cosine", dim=dimension)
        try:
            index.load_index(str(path))
        except RuntimeError as error:
            raise KnowledgeFailed(f"{path}: hnswlib cannot read it") from error
        return cls(index, np.sort(np.array(index.get_ids_list(), dtype=np.int64)))

    def save(self, path: Path) -> None:
        """Write to a file (not yet synced to the disk). Raises OSError; of a full disk hnswlib says nothing itself."""
        self._index.save_index(str(path))
        if (written := path.stat().st_size) != (whole := self._index.index_file_size()):
            raise OSError(
                errno.ENOSPC if is_full(path.parent) else errno.EIO,
                f"{written} of {whole} bytes were written",
                str(path),
            )

    def grown(self, labels: Labels, vectors: Matrix, step: Callable[[int], None]) -> Graph:
        """A copy with more vectors. Labels must be new."""
        index = hnswlib.Index(self._index)
        index.set_num_threads(1)
        _insert(index, labels, vectors, step)
        return Graph(index, np.sort(np.concatenate([self.labels, labels])))

    def nearest(self, query: Vector, count: int) -> tuple[Labels, Vector]:
        """Labels and cosines of about the `count` nearest, best first; all there are when `count` is near that.

        The query may be of any length.
        """
        if count * 4 < len(self.labels):
            try:
                labels, distances = self._index.knn_query(query, k=count, num_threads=1)
                return labels[0].view(np.int64), 1.0 - distances[0]
            except RuntimeError:  # too few elements reachable: rare, and no reason to fail
                pass
        return best(self.labels, cosines(self.vectors(self.labels), unit(query)), count)

    def vectors(self, labels: Labels) -> Matrix:
        """Vectors of labels that it holds."""
        if not len(labels):
            return np.empty((0, self._index.dim), np.float32)
        return np.asarray(self._index.get_items(labels), dtype=np.float32)


def unit(query: Vector) -> Vector:
    """The query at length 1, for scans; hnswlib does that itself."""
    normalised: Vector = query / max(float(query @ query) ** 0.5, 1e-12)
    return normalised


def cosines(vectors: Matrix, query: Vector) -> Vector:
    """Cosines of unit vectors, in rows, with a unit vector.

    Row by row, because a product of matrices may share the work with threads of the BLAS library: on a busy machine a
    scan of microseconds then waits milliseconds until the last of them has got a core.
    """
    scores: Vector = np.vecdot(vectors, query)
    return scores


def best(labels: Labels, scores: Vector, count: int) -> tuple[Labels, Vector]:
    """The `count` highest scores, best first; equal ones by label."""
    if count < len(labels):
        chosen = np.argpartition(-scores, count - 1)[:count]
        labels, scores = labels[chosen], scores[chosen]
    order = np.lexsort((labels, -scores))
    return labels[order], scores[order]


def _insert(index: hnswlib.Index, labels: Labels, vectors: Matrix, step: Callable[[int], None]) -> None:
    needed = index.get_current_count() + len(labels)
    if needed > index.get_max_elements():
        index.resize_index(needed)
    for start in range(0, len(labels), _SLICE):
        index.add_items(vectors[start : start + _SLICE], labels[start : start + _SLICE], num_threads=1)
        step(index.get_current_count())
