"""What a store answers, as plain values, so that the answers of a damaged one can be held against those of a whole one.

Run as `python -m bench.knowledge.answers`: reads one JSON line a store on standard input, {"directory": ...,
"repair": ...}, and writes one JSON line with its answers, or with the error that refused them. A process of its own,
because a library that reads damaged files may take its process with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import sys
from pathlib import Path
from typing import Any

from bench.knowledge.corpus import KINDS, entry, opened, query_picture, query_text
from quizglass.values import Filter, SearchMode
from quizglass_server.domain.entries import SearchOptions
from quizglass_server.errors import KnowledgeFailed, KnowledgeLocked, NotFound
from quizglass_server.knowledge.base import KnowledgeBase
from quizglass_server.knowledge.database.lock import DirectoryLock
from quizglass_server.knowledge.repair.salvage import salvage

COUNT = 90
LIMIT = 25
"""So many that an index of this size is scanned: the answers do not depend on how a graph was built."""
_ASKED = range(0, COUNT, 9)
_KEYWORDS = SearchOptions(mode=SearchMode.KEYWORDS)


def main() -> None:
    """Answer for every store named on standard input."""
    logging.disable()
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(asyncio.run(answer(Path(asked["directory"]), repair=asked["repair"]))), flush=True)


async def answer(directory: Path, *, repair: bool = False) -> dict[str, Any]:
    """The store's answers: {"answers": {...}}, or {"refused": message}; after a repair also what it lost."""
    said: dict[str, Any] = {}
    try:
        if repair:
            with contextlib.closing(DirectoryLock(directory)):
                salvaged = salvage(directory)
            said |= {"lost": salvaged.lost, "nameless": salvaged.nameless, "doubts": salvaged.doubts}
        base = await opened(directory)
    except (KnowledgeFailed, KnowledgeLocked) as error:
        return {"refused": error.message}
    try:
        await base.settle()
        return said | {"answers": await answers(base)}
    except KnowledgeFailed as error:
        return {"refused": error.message}
    finally:
        await base.close()


async def answers(base: KnowledgeBase) -> dict[str, Any]:
    """Everything the store says: its entries and pictures, and what searches find by vector, word and fact."""
    said: dict[str, Any] = {"count": base.count()}
    listed = await base.list("", 10 * COUNT)
    said["entries"] = {
        e.id: [e.title, e.caption, e.kind, e.text, e.attributes, e.source, [h.hex() for h in e.picture_sha256]]
        for e in listed
    }
    said["got"] = [(await base.get(e.id)).title for e in listed]
    said["pictures"] = [await _picture(base, key) for e in listed for key in e.picture_sha256]
    for kind in KINDS:
        finding = SearchOptions(Filter(kinds=(kind,)), SearchMode.KEYWORDS, per_entry=True)
        said[f"kind {kind}"] = sorted(h.entry.id for h in await base.search_texts(None, COUNT, "tells", finding))
    for number in _ASKED:
        given = entry(number)
        texts = await base.search_texts(query_text(f"{given.entry.title}: {given.entry.caption}"), LIMIT)
        said[f"text {number}"] = [[hit.entry.id, hit.text, round(hit.score, 4)] for hit in texts]
        pictures = await base.search_crops([query_picture(given.pictures[0])], LIMIT)
        said[f"picture {number}"] = [[hit.entry.id, round(hit.score, 4)] for hit in pictures]
        words = await base.search_texts(None, LIMIT, f"thing{number}", _KEYWORDS)
        said[f"words {number}"] = [[hit.entry.id, hit.text] for hit in words]
    return said


async def _picture(base: KnowledgeBase, key: bytes) -> str:
    try:
        return hashlib.sha256(await base.picture(key)).hexdigest()
    except NotFound:  # after a repair, of an entry whose loss it named
        return "lost"


if __name__ == "__main__":
    main()
