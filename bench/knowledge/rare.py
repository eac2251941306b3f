"""Questions with rare names on a world that training never saw: words beside vectors, against vectors alone."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from bench.knowledge.vectors import latency, report
from quizglass_export.pocketworld.articles import world_articles
from quizglass_export.pocketworld.dataset import build_world, entry_record
from quizglass_export.pocketworld.questions import make_questions
from quizglass_export.pocketworld.world import CORE_THINGS
from quizglass_server.bundle import Bundle
from quizglass_server.domain import Vector
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions
from quizglass_server.entries import Entry, Finding, PicturedEntry, SearchMode
from quizglass_server.knowledge import KnowledgeBase
from quizglass_server.models.encoders import OnnxTextEncoder

_LIMIT = 32
_MODES = {
    "vectors": Finding(mode=SearchMode.VECTORS),
    "hybrid": Finding(),
    "keywords": Finding(mode=SearchMode.KEYWORDS),
}


async def measure(bundle_folder: Path, seed: int, things: int, folder: Path) -> dict[str, Any]:
    """Recall of the entry that answers, and latency with the embedding of the question, for each mode."""
    bundle = Bundle.load(bundle_folder, hashes=False)
    pool = EnginePool(1)
    encoder = await pool.run(lambda: OnnxTextEncoder(bundle, pool, OnnxOptions(1, "cpu")))
    base = await KnowledgeBase.open(folder / f"rare-{seed}-{things}", text_encoder=encoder, image_encoder=None)
    world = build_world(seed, things - CORE_THINGS, core=True)
    records = [entry_record(article) for article in world_articles(world)]
    if base.count() != len(records):
        await base.add(_stream(records))
    await base.settle()
    asked = [question for question in make_questions(world, 800, seed, unseen_share=0.5) if question.gold_entries]
    found = {name: await _recall(base, encoder, asked, finding) for name, finding in _MODES.items()}
    await base.close()
    return {"questions": len(asked), "seed": seed, "things": things, **found}


async def _recall(base: KnowledgeBase, encoder: OnnxTextEncoder, asked: Any, finding: Finding) -> dict[str, float]:
    hits = {1: 0, 5: 0}
    took: list[float] = []
    for question in asked:
        begun = time.perf_counter()
        vector: Vector | None = None
        if finding.mode is not SearchMode.KEYWORDS:
            (vector,) = await encoder.embed_queries([question.gold_query])
        found = await base.search_texts(vector, _LIMIT, question.gold_query, finding)
        took.append(time.perf_counter() - begun)
        ids = list(dict.fromkeys(hit.entry.id for hit in found))
        for depth in hits:
            hits[depth] += question.gold_entries[-1] in ids[:depth]
    return {f"recall_{depth}": count / len(asked) for depth, count in hits.items()} | latency(took)


async def _stream(records: list[dict[str, Any]]) -> AsyncIterator[PicturedEntry]:
    for record in records:
        yield PicturedEntry(Entry(**{name: value for name, value in record.items() if name != "pictures"}))


if __name__ == "__main__":
    report(**asyncio.run(measure(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))))
