"""Other stores and indexes on the same vectors: `python -m bench.knowledge.peers NAME COUNT FOLDER`.

Runs in an environment of its own. Each is used as its documentation shows, in one process and with its default
settings but for the index parameters that are said here: M 16 and ef_construction 200 wherever they can be chosen, as
in quizglass.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from bench.knowledge.vectors import BATCH, DIMENSION, WANTED, Matrix, made, texts
from bench.knowledge.worker import say, serve

_M, _CONSTRUCTION = 16, 200


class Hnswlib:
    """The library alone."""

    def __init__(self, vectors: Matrix, folder: Path) -> None:
        self._vectors, self._file = vectors, _saved(folder)
        self._index = import_module("hnswlib").Index(space="cosine", dim=DIMENSION)
        self._index.init_index(len(vectors), M=_M, ef_construction=_CONSTRUCTION, random_seed=100)
        self._index.set_num_threads(1)

    def fill(self, start: int, stop: int) -> float:
        """Rows a second, in memory."""
        return _rate(start, stop, lambda: self._index.add_items(self._vectors[start:stop], num_threads=1))

    def explore(self, ef: int) -> None:
        """By ef."""
        self._index.set_ef(ef)

    def search(self, query: Matrix) -> Sequence[int]:
        """One query."""
        found: list[int] = self._index.knn_query(query, k=WANTED, num_threads=1)[0][0].tolist()
        return found

    def save(self) -> None:
        """To its file."""
        self._index.save_index(str(self._file))

    def load(self) -> None:
        """From its file."""
        self._index = import_module("hnswlib").Index(space="cosine", dim=DIMENSION)
        self._index.load_index(str(self._file))
        self._index.set_num_threads(1)


class Faiss:
    """Its HNSW index."""

    def __init__(self, vectors: Matrix, folder: Path) -> None:
        library = import_module("faiss")
        library.omp_set_num_threads(1)
        self._vectors, self._file = vectors, _saved(folder)
        self._index = library.IndexHNSWFlat(DIMENSION, _M, library.METRIC_INNER_PRODUCT)
        self._index.hnsw.efConstruction = _CONSTRUCTION

    def fill(self, start: int, stop: int) -> float:
        """Rows a second, in memory."""
        return _rate(start, stop, lambda: self._index.add(self._vectors[start:stop]))

    def explore(self, ef: int) -> None:
        """By efSearch."""
        self._index.hnsw.efSearch = ef

    def search(self, query: Matrix) -> Sequence[int]:
        """One query."""
        found: list[int] = self._index.search(query[None], WANTED)[1][0].tolist()
        return found

    def save(self) -> None:
        """To its file."""
        import_module("faiss").write_index(self._index, str(self._file))

    def load(self) -> None:
        """From its file."""
        self._index = import_module("faiss").read_index(str(self._file))


class Usearch:
    """Its index of float32."""

    def __init__(self, vectors: Matrix, folder: Path) -> None:
        Index = import_module("usearch.index").Index  # a class
        self._vectors, self._file = vectors, _saved(folder)
        self._index = Index(ndim=DIMENSION, metric="cos", dtype="f32", connectivity=_M, expansion_add=_CONSTRUCTION)

    def fill(self, start: int, stop: int) -> float:
        """Rows a second, in memory."""
        keys = np.arange(start, stop)
        return _rate(start, stop, lambda: self._index.add(keys, self._vectors[start:stop], threads=1))

    def explore(self, ef: int) -> None:
        """By expansion_search."""
        self._index.expansion_search = ef

    def search(self, query: Matrix) -> Sequence[int]:
        """One query."""
        found: list[int] = self._index.search(query, WANTED, threads=1).keys.tolist()
        return found

    def save(self) -> None:
        """To its file."""
        self._index.save(str(self._file))

    def load(self) -> None:
        """From its file."""
        self._index.load(str(self._file))


class Chroma:
    """A persistent collection, documents beside the vectors."""

    def __init__(self, vectors: Matrix, folder: Path) -> None:
        self._path = str(folder / "chroma")
        self._client = import_module("chromadb").PersistentClient(path=self._path)
        space = {"space": "cosine", "max_neighbors": _M, "ef_construction": _CONSTRUCTION, "ef_search": 100}
        self._collection = self._client.create_collection("bench", configuration={"hnsw": space})
        self._vectors, self._documents = vectors, texts(len(vectors))

    def fill(self, start: int, stop: int) -> float:
        """Rows a second on the disk."""

        def add() -> None:
            for at in range(start, stop, BATCH):
                piece = slice(at, min(at + BATCH, stop))
                ids = [str(n) for n in range(piece.start, piece.stop)]
                self._collection.add(ids=ids, embeddings=self._vectors[piece], documents=self._documents[piece])

        return _rate(start, stop, add)

    def explore(self, ef: int) -> None:
        """By ef_search, which it reads when it opens a collection."""
        if self._collection.configuration["hnsw"]["ef_search"] == ef:
            return
        self._collection.modify(configuration={"hnsw": {"ef_search": ef}})
        self._client._system.stop()
        self._client.clear_system_cache()
        self._client = import_module("chromadb").PersistentClient(path=self._path)
        self._collection = self._client.get_collection("bench")

    def search(self, query: Matrix) -> Sequence[int]:
        """One query, with the documents found."""
        found = self._collection.query(query_embeddings=[query], n_results=WANTED, include=["documents", "distances"])
        return [int(one) for one in found["ids"][0]]


class LanceDB:
    """A table, without an index up to 20,000 vectors and with IVF-PQ beyond, as its documentation advises."""

    def __init__(self, vectors: Matrix, folder: Path) -> None:
        pa = import_module("pyarrow")
        schema = pa.schema([("id", pa.int64()), ("vector", pa.list_(pa.float32(), DIMENSION)), ("text", pa.string())])
        self._table = import_module("lancedb").connect(str(folder / "lance")).create_table("bench", schema=schema)
        self._vectors, self._texts = vectors, texts(len(vectors))
        self._indexed, self._probes = False, 20

    def fill(self, start: int, stop: int) -> float:
        """Rows a second on the disk."""

        def add() -> None:
            for at in range(start, stop, BATCH):
                numbers = range(at, min(at + BATCH, stop))
                self._table.add([{"id": n, "vector": self._vectors[n], "text": self._texts[n]} for n in numbers])

        return _rate(start, stop, add)

    def explore(self, ef: int) -> None:
        """By the number of partitions that are looked into; what is found is compared exactly."""
        if len(self._vectors) > 20_000 and not self._indexed:
            self._table.create_index(metric="cosine", vector_column_name="vector")
            self._indexed = True
        self._probes = ef

    def search(self, query: Matrix) -> Sequence[int]:
        """One query, with the texts found."""
        asked = self._table.search(query).metric("cosine").limit(WANTED)
        if self._indexed:
            asked = asked.nprobes(self._probes).refine_factor(10)
        return [row["id"] for row in asked.to_list()]


def _saved(folder: Path) -> Path:
    """Where an index is saved."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "index"


def _rate(start: int, stop: int, add: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    add()
    return (stop - start) / (time.perf_counter() - begun)


PEERS: dict[str, tuple[str, Callable[[Matrix, Path], Any]]] = {
    "hnswlib": ("hnswlib", Hnswlib),
    "faiss": ("faiss", Faiss),
    "usearch": ("usearch", Usearch),
    "Chroma": ("chromadb", Chroma),
    "LanceDB": ("lancedb", LanceDB),
}
"""By name: the library that has to be there, and what uses it."""


def main() -> None:
    """Answer commands, or say what is missing."""
    name, count, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    library, made_of = PEERS[name]
    try:
        import_module(library)
    except ImportError as error:
        say(absent=f"{type(error).__name__}: {error}")
        return
    serve(made_of(made(count)[0], folder), count)


if __name__ == "__main__":
    main()
