"""The knowledge store on the same vectors: `python -m bench.knowledge.ours TASK COUNT FOLDER`, a process a task.

Tasks: fill (durable writes), search (latency and recall), importing (searches while importing), start (time to the
first search, memory).
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.knowledge.vectors import (
    DIMENSION,
    QUERIES,
    WANTED,
    Matrix,
    curve,
    latency,
    made,
    nearest,
    recall,
    report,
    resident_mib,
    texts,
    timed,
)
from quizglass_server.domain import Vector
from quizglass_server.entries import Entry, Finding, PicturedEntry, SearchMode
from quizglass_server.knowledge import KnowledgeBase
from quizglass_server.knowledge.records import Kind

_VECTORS = Finding(mode=SearchMode.VECTORS)
_EXTRA = 20_000  # entries added while searches go on
_STOP_S = 20.0


class Known:
    """A text encoder that knows the vector of each passage by its number."""

    fingerprint = "known-1"
    dimension = DIMENSION

    def __init__(self, vectors: Matrix) -> None:
        self._vectors = vectors

    async def embed_queries(self, passages: Sequence[str]) -> list[Vector]:
        """By the number after "Passage"."""
        return [self._vectors[int(words.split(" ", 3)[2].rstrip(":"))] for words in passages]

    embed_passages = embed_queries

    def count_tokens(self, text: str) -> int:
        """Words."""
        return len(text.split())


async def opened(folder: Path, vectors: Matrix) -> KnowledgeBase:
    """The store."""
    return await KnowledgeBase.open(folder / "quizglass", text_encoder=Known(vectors), image_encoder=None)


async def entries(numbers: range, passages: Sequence[str]) -> AsyncIterator[PicturedEntry]:
    """An entry of one chunk for each vector."""
    for number in numbers:
        yield PicturedEntry(Entry(f"e{number}", f"T{number}", text=passages[number]))


async def fill(count: int, folder: Path) -> dict[str, Any]:
    """Durable writes through one stream, then many small ones at once."""
    vectors, _ = made(count)
    passages = texts(count)
    base = await opened(folder, vectors)
    begun = time.perf_counter()
    await base.add(entries(range(count), passages))
    rows = count / (time.perf_counter() - begun)
    begun = time.perf_counter()
    few = min(count, 1_000)
    await asyncio.gather(*(base.add(entries(range(n, n + 1), passages)) for n in range(few)))
    single = few / (time.perf_counter() - begun)
    begun = time.perf_counter()
    await base.settle()
    settled = time.perf_counter() - begun
    await base.close()
    return {"rows_s": rows, "rows_s_one_a_stream": single, "settled_s": settled}


async def search(count: int, folder: Path) -> dict[str, Any]:
    """The index alone, and the whole store."""
    vectors, queries = made(count)
    right = nearest(vectors, queries)
    base = await opened(folder, vectors)
    await base.settle()
    index = base._indexes.indexes[Kind.CHUNKS]
    numbers = {label: int(hit.entry.id[1:]) for label, hit in await _all(base)}

    def find(query: Matrix) -> list[int]:
        return [numbers[label] for label, _ in index.search(query, WANTED, per_entry=False)]

    graph = index.state.graph
    answers, took = timed(queries, find)
    found: dict[str, Any] = {"index": took | {"recall": recall(answers, right)}}
    if graph is not None:
        found["curve"] = curve(queries, right, graph._index.set_ef, find)
        graph._index.set_ef(96)
    for name, finding in (("store", _VECTORS), ("hybrid", Finding())):
        found[name] = await _asked(base, queries, finding)
    await base.close()
    return found


async def importing(count: int, folder: Path) -> dict[str, Any]:
    """Searches alone, then while entries are added."""
    vectors, queries = made(count)
    vectors = np.concatenate([vectors, made(_EXTRA, seed=8)[0]])
    passages = texts(count + _EXTRA)
    base = await opened(folder, vectors)
    await base.settle()
    alone = await _asked(base, queries, _VECTORS)
    adding = asyncio.create_task(base.add(entries(range(count, count + _EXTRA), passages)))
    took, begun = list[float](), time.perf_counter()
    while not adding.done() and time.perf_counter() - begun < _STOP_S:
        took += await _once(base, queries[len(took) % QUERIES], _VECTORS)
    rows = min(_EXTRA, base.count() - count) / (time.perf_counter() - begun)
    adding.cancel()
    await asyncio.gather(adding, return_exceptions=True)
    await base.close()
    return {"alone": alone, "importing": latency(took), "rows_s": rows, "searches": len(took)}


async def start(count: int, folder: Path) -> dict[str, Any]:
    """From a good snapshot to the first answer."""
    _, queries = made(count)
    before = resident_mib()
    begun = time.perf_counter()
    base = await opened(folder, np.empty((0, DIMENSION), np.float32))
    await base.search_texts(queries[0], WANTED, "", _VECTORS)
    seconds = time.perf_counter() - begun
    memory = resident_mib() - before
    await base.close()
    return {"start_s": seconds, "memory_mib": memory}


async def _all(base: KnowledgeBase) -> list[tuple[int, Any]]:
    labels = base._indexes.indexes[Kind.CHUNKS].labels().tolist()
    rows = await base._store.read(lambda reader: reader.hits(Kind.CHUNKS, labels))
    return list(rows.items())


async def _asked(base: KnowledgeBase, queries: Matrix, finding: Finding) -> dict[str, float]:
    took: list[float] = []
    for query in queries:
        took += await _once(base, query, finding)
    return latency(took)


async def _once(base: KnowledgeBase, query: Matrix, finding: Finding) -> list[float]:
    base._changes += 1  # or it would be answered from memory
    begun = time.perf_counter()
    await base.search_texts(query, WANTED, "word77 word4711 word9001", finding)
    return [time.perf_counter() - begun]


TASKS = {"fill": fill, "search": search, "importing": importing, "start": start}

if __name__ == "__main__":
    report(**asyncio.run(TASKS[sys.argv[1]](int(sys.argv[2]), Path(sys.argv[3]))))
