"""Questions with rare names on a world that training never saw: words beside vectors, against vectors alone."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from bench.knowledge.worker import say
from quizglass.values import Entry, SearchMode
from quizglass_bundle.files import Bundle
from quizglass_lab.pocketworld.articles import world_articles
from quizglass_lab.pocketworld.dataset import build_world, entry_record
from quizglass_lab.pocketworld.names import CORE_THINGS
from quizglass_lab.pocketworld.questions import make_questions
from quizglass_server.domain.entries import PicturedEntry, SearchOptions
from quizglass_server.domain.turns import Vector
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions
from quizglass_server.knowledge import KnowledgeBase
from quizglass_server.roles.load import load_role
from quizglass_server.roles.shared.fitting import PictureFitter
from quizglass_server.roles.shared.loading import Loading
from quizglass_server.roles.text_encoder import OnnxTextEncoder

_LIMIT = 32
_MODES = {
    "vectors": SearchOptions(mode=SearchMode.VECTORS),
    "hybrid": SearchOptions(),
    "keywords": SearchOptions(mode=SearchMode.KEYWORDS),
}


async def measure(bundle_folder: Path, seed: int, things: int, folder: Path, rounds: int) -> dict[str, Any]:
    """Recall of the entry that answers, and latency without and with the embedding of the question, for each mode."""
    bundle = Bundle.load(bundle_folder, hashes=False)
    pool = EnginePool(1)
    part, loading = bundle.roles.text_encoder, Loading(bundle, pool, PictureFitter(), OnnxOptions(1, "cpu"))
    if part is None:
        raise SystemExit(f"{bundle_folder}: no text encoder")
    encoder = await pool.run(lambda: load_role("text_encoder", part, loading))
    world = build_world(seed, things - CORE_THINGS, core=True)
    with tempfile.TemporaryDirectory(dir=folder) as home:
        base = await KnowledgeBase.open(Path(home), text_encoder=encoder, image_encoder=None)
        await base.add(_stream([entry_record(article) for article in world_articles(world)]))
        await base.settle()
        asked = [one for one in make_questions(world, 800, seed, unseen_share=0.5) if one.gold_entries]
        found = {name: Asked() for name in _MODES}
        for _ in range(rounds):
            for each in found.values():
                each.begin()
            for question in asked:
                for name, finding in _MODES.items():  # in turn, so that all see the same moments of the machine
                    await found[name].ask(base, encoder, question, finding)
        await base.close()
    reported = {name: each.report(len(asked)) for name, each in found.items()}
    return {"questions": len(asked), "seed": seed, "things": things, **reported}


class Asked:
    """What became of the questions asked in one mode."""

    def __init__(self) -> None:
        self._hits = {1: 0, 5: 0}
        self._search: list[list[float]] = []
        self._whole: list[list[float]] = []

    def begin(self) -> None:
        """Another round."""
        self._hits = {1: 0, 5: 0}
        self._search.append([])
        self._whole.append([])

    async def ask(self, base: KnowledgeBase, encoder: OnnxTextEncoder, question: Any, finding: SearchOptions) -> None:
        """One question."""
        base._changes += 1  # or it would be answered from memory
        begun = perf_counter()
        vector: Vector | None = None
        if finding.mode is not SearchMode.KEYWORDS:
            (vector,) = await encoder.embed_queries([question.gold_query])
        embedded = perf_counter()
        found = await base.search_texts(vector, _LIMIT, question.gold_query, finding)
        ended = perf_counter()
        self._search[-1].append(ended - embedded)
        self._whole[-1].append(ended - begun)
        ids = list(dict.fromkeys(hit.entry.id for hit in found))
        for depth in self._hits:
            self._hits[depth] += question.gold_entries[-1] in ids[:depth]

    def report(self, questions: int) -> dict[str, Any]:
        """Recall, and medians of each round in microseconds."""
        times = {"search_us": self._search, "whole_us": self._whole}
        medians = {name: [1e6 * median(one) for one in rounds] for name, rounds in times.items()}
        return {f"recall_{depth}": count / questions for depth, count in self._hits.items()} | medians


async def _stream(records: list[dict[str, Any]]) -> AsyncIterator[PicturedEntry]:
    for record in records:
        yield PicturedEntry(Entry(**{name: value for name, value in record.items() if name != "pictures"}))


if __name__ == "__main__":
    bundle, seed, things, folder, rounds = sys.argv[1:]
    say(**asyncio.run(measure(Path(bundle), int(seed), int(things), Path(folder), int(rounds))))
