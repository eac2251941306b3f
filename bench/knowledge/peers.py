"""Other stores on the same vectors: `python -m bench.knowledge.peers NAME COUNT FOLDER`, in their own environment.

Each is used as its documentation shows, in one process, with its default settings but for the index parameters that are
said here: M 16 and ef_construction 200 wherever they can be chosen, as in quizglass.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from bench.knowledge.vectors import (
    BATCH,
    DIMENSION,
    WANTED,
    Matrix,
    curve,
    made,
    nearest,
    recall,
    report,
    resident_mib,
    texts,
    timed,
)

_M, _CONSTRUCTION = 16, 200


def main() -> None:
    """Measure one peer and print its figures as JSON."""
    name, count, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    vectors, queries = made(count)
    right = nearest(vectors, queries)
    before = resident_mib()
    begun = time.perf_counter()
    figures = PEERS[name](vectors, queries, right, folder)
    report(name=name, count=count, seconds=time.perf_counter() - begun, memory_mib=resident_mib() - before, **figures)


def hnswlib(vectors: Matrix, queries: Matrix, right: Any, _folder: Path) -> dict[str, Any]:
    """The library alone."""
    library = import_module("hnswlib")
    index = library.Index(space="cosine", dim=DIMENSION)
    index.init_index(len(vectors), M=_M, ef_construction=_CONSTRUCTION, random_seed=100)
    index.set_num_threads(1)
    index.add_items(vectors, num_threads=1)

    def search(query: Matrix) -> list[int]:
        found: list[int] = index.knn_query(query, k=WANTED, num_threads=1)[0][0].tolist()
        return found

    return {"curve": curve(queries, right, index.set_ef, search)}


def faiss(vectors: Matrix, queries: Matrix, right: Any, _folder: Path) -> dict[str, Any]:
    """Its HNSW index and its exact one."""
    library = import_module("faiss")
    library.omp_set_num_threads(1)
    index = library.IndexHNSWFlat(DIMENSION, _M, library.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = _CONSTRUCTION
    index.add(vectors)
    flat = library.IndexFlatIP(DIMENSION)
    flat.add(vectors)

    def explore(ef: int) -> None:
        index.hnsw.efSearch = ef

    def by(one: Any) -> Callable[[Matrix], Sequence[int]]:
        return lambda query: one.search(query[None], WANTED)[1][0].tolist()

    points = curve(queries, right, explore, by(index))
    return {"curve": points, "flat": timed(queries, by(flat))[1]}


def usearch(vectors: Matrix, queries: Matrix, right: Any, _folder: Path) -> dict[str, Any]:
    """Its index of float32."""
    Index = import_module("usearch.index").Index  # a class
    index = Index(ndim=DIMENSION, metric="cos", dtype="f32", connectivity=_M, expansion_add=_CONSTRUCTION)
    index.add(np.arange(len(vectors)), vectors, threads=1)

    def explore(ef: int) -> None:
        index.expansion_search = ef

    return {"curve": curve(queries, right, explore, lambda query: index.search(query, WANTED, threads=1).keys.tolist())}


def chroma(vectors: Matrix, queries: Matrix, right: Any, folder: Path) -> dict[str, Any]:
    """A persistent collection, documents beside the vectors."""
    chromadb = import_module("chromadb")
    client = chromadb.PersistentClient(path=str(folder / "chroma"))
    space = {"space": "cosine", "max_neighbors": _M, "ef_construction": _CONSTRUCTION, "ef_search": 100}
    collection = client.create_collection("bench", configuration={"hnsw": space})
    documents = texts(len(vectors))

    def add(start: int, stop: int) -> None:
        ids = [str(n) for n in range(start, stop)]
        collection.add(ids=ids, embeddings=vectors[start:stop], documents=documents[start:stop])

    rows = _written(add, len(vectors))

    def search(query: Matrix) -> list[int]:
        found = collection.query(query_embeddings=[query], n_results=WANTED, include=["documents", "distances"])
        return [int(one) for one in found["ids"][0]]

    answers, took = timed(queries, search)
    return {**took, "recall": recall(answers, right), "rows_s": rows}


def lancedb(vectors: Matrix, queries: Matrix, right: Any, folder: Path) -> dict[str, Any]:
    """A table, without an index up to 20,000 vectors and with IVF-PQ beyond, as its documentation advises."""
    library, pa = import_module("lancedb"), import_module("pyarrow")
    database = library.connect(str(folder / "lance"))
    schema = pa.schema([("id", pa.int64()), ("vector", pa.list_(pa.float32(), DIMENSION)), ("text", pa.string())])
    table = database.create_table("bench", schema=schema)
    documents = texts(len(vectors))

    def add(start: int, stop: int) -> None:
        rows = [{"id": n, "vector": vectors[n], "text": documents[n]} for n in range(start, stop)]
        table.add(rows)

    rows = _written(add, len(vectors))
    if len(vectors) > 20_000:
        table.create_index(metric="cosine", vector_column_name="vector")

    def search(query: Matrix) -> list[int]:
        return [row["id"] for row in table.search(query).metric("cosine").limit(WANTED).to_list()]

    answers, took = timed(queries, search)
    return {**took, "recall": recall(answers, right), "rows_s": rows}


def _written(add: Callable[[int, int], None], count: int) -> float:
    """Rows a second, `BATCH` a write."""
    begun = time.perf_counter()
    for start in range(0, count, BATCH):
        add(start, min(start + BATCH, count))
    return count / (time.perf_counter() - begun)


PEERS = {"hnswlib": hnswlib, "faiss": faiss, "usearch": usearch, "chroma": chroma, "lancedb": lancedb}

if __name__ == "__main__":
    main()
