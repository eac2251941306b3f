"""The knowledge store on the same vectors: `python -m bench.knowledge.ours index|store COUNT FOLDER`.

`index` is the vector index alone; `store` is everything a search of the server does but for gRPC and the embedding.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.knowledge.vectors import (
    DIMENSION,
    WANTED,
    Matrix,
    latency,
    made,
    nearest,
    recall,
    resident_mib,
    set_of,
    texts,
)
from bench.knowledge.worker import say, serve
from quizglass.values import Entry, SearchMode
from quizglass_server.domain.entries import PicturedEntry, SearchOptions
from quizglass_server.domain.turns import Vector
from quizglass_server.knowledge import IndexOptions, KnowledgeBase
from quizglass_server.knowledge.content.records import VectorKind
from quizglass_server.knowledge.index.graph import Graph
from quizglass_server.knowledge.index.index import VectorIndex

_MODES = {"vectors": SearchOptions(mode=SearchMode.VECTORS), "hybrid": SearchOptions()}
_WORDS = "word77 word4711 word9001"
_BEYOND = 20_000  # vectors that are added while searches go on
_WARM_UP = 20


class Index:
    """The vector index, without a database behind it."""

    def __init__(self, vectors: Matrix, folder: Path) -> None:
        self._vectors = vectors
        self._folder = folder
        self._index = VectorIndex(DIMENSION, IndexOptions())
        self._graph: Graph | None = None

    def fill(self, start: int, stop: int) -> float:
        """Rows a second, in memory."""
        labels, vectors = np.arange(start, stop), self._vectors[start:stop]
        begun = time.perf_counter()
        if self._graph is None:
            self._graph = Graph.build(DIMENSION, len(self._vectors), [(labels, vectors)], lambda _: None)
        else:
            self._graph = self._graph.grown(labels, vectors, lambda _: None)
        rate = (stop - start) / (time.perf_counter() - begun)
        self._use(self._graph)
        return rate

    def save(self) -> None:
        """As a snapshot."""
        if self._graph is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._graph.save(self._folder / "index")

    def load(self) -> None:
        """From a snapshot, as a server that starts."""
        self._use(Graph.load(self._folder / "index", DIMENSION))

    def _use(self, graph: Graph) -> None:
        self._graph = graph
        nothing = np.empty(0, np.int64), np.empty((0, DIMENSION), np.float32)
        self._index.fill(graph, graph.labels, graph.labels, nothing)

    def explore(self, ef: int) -> None:
        """By the graph's ef."""
        if self._graph is not None:
            self._graph._index.set_ef(ef)

    def search(self, query: Matrix) -> Sequence[int]:
        """One query."""
        return [label for label, _ in self._index.search(query, WANTED, per_entry=False)]


class GivenVectors:
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


class Store:
    """Commands on a knowledge base."""

    def __init__(self, count: int, folder: Path) -> None:
        vectors, self._queries = made(count)
        self._right = nearest(vectors, set_of(self._queries, 0))
        self._count = count
        self._vectors = np.concatenate([vectors, made(_BEYOND, seed=8)[0]])
        self._passages = texts(len(self._vectors))
        self._next = count
        self._folder = folder
        self._base: KnowledgeBase | None = None

    async def run(self) -> None:
        """Answer commands until there are no more."""
        say(ready=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            command = json.loads(line)
            say(**await getattr(self, command.pop("do"))(**command))
        await (await self._opened()).close()

    async def first(self) -> dict[str, float]:
        """From the files to the first answer; the first command of a process."""
        before, begun = resident_mib(), time.perf_counter()
        base = await self._opened()
        await base.search_texts(self._queries[0], WANTED, "", _MODES["vectors"])
        return {"start_s": time.perf_counter() - begun, "memory_mib": resident_mib() - before}

    async def fill(self, start: int, stop: int) -> dict[str, float]:
        """Durable writes through one stream; then until the indexes have caught up."""
        base = await self._opened()
        begun = time.perf_counter()
        await base.add(self._entries(range(start, stop)))
        written = time.perf_counter()
        await base.settle()
        indexed = time.perf_counter()
        return {"rows_s": (stop - start) / (written - begun), "indexed_rows_s": (stop - start) / (indexed - begun)}

    async def singles(self, count: int) -> dict[str, float]:
        """Durable writes of one entry each, all at once."""
        base = await self._opened()
        begun = time.perf_counter()
        await asyncio.gather(*(base.add(self._entries(range(n, n + 1))) for n in range(count)))
        rows = count / (time.perf_counter() - begun)
        await base.settle()
        return {"rows_s": rows}

    async def search(self, ef: int, of: int, mode: str = "vectors") -> dict[str, float]:
        """Latency, and in set 0 recall, over a set of queries when the graph is explored so far."""
        base, queries = await self._opened(), set_of(self._queries, of)
        graph = base._indexes.vectors[VectorKind.CHUNKS].state.graph
        if graph is not None:
            graph._index.set_ef(ef)
        for query in queries[:_WARM_UP]:
            await self._timed(query, _MODES[mode])
        asked = [await self._timed(query, _MODES[mode]) for query in queries]
        figures = latency([took for _, took in asked]) | {"ef": ef}
        return figures if of else figures | {"recall": recall([numbers for numbers, _ in asked], self._right)}

    async def titled(self, of: int, titles: int) -> dict[str, float]:
        """Latency over a set of queries, each among the entries of other titles: as many as are said."""
        drawn = np.random.default_rng(of).integers(self._count, size=(len(set_of(self._queries, of)), titles))
        took = list[float]()
        for query, numbers in zip(set_of(self._queries, of), drawn.tolist(), strict=True):
            options = SearchOptions(mode=SearchMode.VECTORS, titles=tuple(f"T{number}" for number in numbers))
            took.append((await self._timed(query, options))[1])
        return latency(took[_WARM_UP:])

    async def importing(self, count: int) -> dict[str, Any]:
        """As many searches alone as then while `count` entries are added; seconds of each."""
        base = await self._opened()
        numbers = range(self._next, min(self._next + count, len(self._vectors)))
        self._next = numbers.stop
        begun = time.perf_counter()
        adding = asyncio.create_task(base.add(self._entries(numbers)))
        busy = list[float]()
        while not adding.done():
            busy.append(await self._number(len(busy)))
        await adding
        rows = len(numbers) / (time.perf_counter() - begun)
        await base.settle()
        idle = [await self._number(number) for number in range(len(busy))]
        return {"busy": busy, "idle": idle, "rows_s": rows}

    async def _number(self, number: int) -> float:
        """Seconds of a search."""
        return (await self._timed(self._queries[number % len(self._queries)], _MODES["vectors"]))[1]

    async def _timed(self, query: Matrix, options: SearchOptions) -> tuple[list[int], float]:
        base = await self._opened()
        base._changes += 1  # or it would be answered from memory
        begun = time.perf_counter()
        hits = await base.search_texts(query, WANTED, _WORDS, options)
        took = time.perf_counter() - begun
        return [int(hit.entry.id[1:]) for hit in hits], took

    async def _entries(self, numbers: range) -> AsyncIterator[PicturedEntry]:
        """An entry of one chunk for each vector."""
        for number in numbers:
            yield PicturedEntry(Entry(f"e{number}", f"T{number}", text=self._passages[number]))

    async def _opened(self) -> KnowledgeBase:
        if self._base is None:
            encoder = GivenVectors(self._vectors)
            self._base = await KnowledgeBase.open(self._folder, text_encoder=encoder, image_encoder=None)
        return self._base


def main() -> None:
    """Answer commands."""
    what, count, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    if what == "index":
        serve(Index(made(count)[0], folder), count)
    else:
        asyncio.run(Store(count, folder).run())


if __name__ == "__main__":
    main()
