"""Asks every question under every policy, over real gRPC, and keeps what came back; resumable."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.worlds import Trial, picture
from quizglass_client import Answer, AsyncClient
from quizglass_export.pocketworld.questions import Question

POLICIES = ("planning-agent", "none", "image", "text", "both", "prompt-based")
_BUDGET_S = 120.0
BLIND = "blind"
"""The first policy without the picture."""
_CANDIDATES = 8


@dataclass
class Asked:
    """One question and everything that was answered to it."""

    id: str
    turns: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By policy, and the probes of the annotation: "q_i" and "q_g"."""
    text_entries: list[str] = field(default_factory=list)
    """Entries that a text search with the gold query brings back, best first, each once."""
    served: list[list[str]] = field(default_factory=list)
    """(entry, text) of the passages that always-both's own query brings back, in the order before reranking."""
    without_bonus: list[str] = field(default_factory=list)
    """Entries of an image search to which the kind that the question names counts nothing, best first."""


@dataclass(frozen=True)
class Targets:
    """Addresses of the servers that are asked."""

    server: str
    without_bonus: str
    """The same bundle and world with a `kind_bonus` of 0."""


async def ask_all(
    targets: Targets, trial: Trial, policies: tuple[str, ...], log: Path, clients: int, tick: Callable[[], None]
) -> list[Asked]:
    """Ask everything that the log does not have yet.

    Args:
        targets: addresses of the servers.
        trial: the world and its questions.
        policies: names of the policies.
        log: JSONL file, one question a line, appended as answers come.
        clients: questions under way at once.
        tick: called after each question.
    """
    done = {asked.id: asked for asked in kept(log)}
    waiting = iter([q for q in trial.questions + trial.unknowable if q.id not in done])
    for _ in done:
        tick()
    async with (
        AsyncClient(targets.server, timeout=_BUDGET_S) as client,
        AsyncClient(targets.without_bonus, timeout=_BUDGET_S) as plain,
    ):
        with log.open("a") as file:

            async def worker() -> None:
                for question in waiting:
                    asked = await _ask(client, plain, question, policies)
                    done[asked.id] = asked
                    file.write(json.dumps(asdict(asked)) + "\n")
                    file.flush()
                    tick()

            async with asyncio.TaskGroup() as group:
                for _ in range(clients):
                    group.create_task(worker())
    return [done[q.id] for q in trial.questions + trial.unknowable]


def kept(log: Path) -> Iterator[Asked]:
    """What a run before has asked; a line that was not finished is removed, so that the next one is whole."""
    if not log.exists():
        return
    whole, end, cut_off = log.read_text().rpartition("\n")
    if cut_off:  # by a kill in the middle of a line
        log.write_text(whole + end)
    for line in whole.splitlines():
        yield Asked(**json.loads(line))


async def _ask(client: AsyncClient, plain: AsyncClient, question: Question, policies: tuple[str, ...]) -> Asked:
    frame = await asyncio.to_thread(picture, question)
    asked = Asked(question.id)

    async def turn(text: str, shown: bytes | None, policy: str, of: AsyncClient = client) -> dict[str, Any]:
        return _record(await of.answer(text, shown, history=question.history, policy=policy, budget=_BUDGET_S))

    for policy in policies:
        asked.turns[policy] = await turn(question.text, frame, policy)
    asked.turns[BLIND] = await turn(question.text, None, policies[0])
    # The annotation's probes (papers: "visual query decomposition"): what is it, and the question standing alone.
    asked.turns["q_i"] = await turn(question.image_query, frame, "none")
    asked.turns["q_g"] = _record(await client.answer(question.gold_query, policy="none", budget=_BUDGET_S))
    hits = await client.search(text=question.gold_query, limit=4 * _CANDIDATES)
    asked.text_entries = list(dict.fromkeys(item.entry_id for item in hits))
    if query := asked.turns["both"]["query"]:
        passages = await client.search(text=query, limit=_CANDIDATES)
        asked.served = [[item.entry_id, item.text] for item in passages]
    if question.group in ("image", "both"):
        looked_up = await turn(question.text, frame, "image", plain)
        asked.without_bonus = [entry for origin, entry, *_ in looked_up["evidence"] if origin == "image_search"]
    return asked


def _record(answer: Answer) -> dict[str, Any]:
    """What the tables need of a turn."""
    done = answer.done
    return {
        "answer": done.answer,
        "abstained": done.abstain_reason,
        "plan": str(answer.plan.plan) if answer.plan else "",
        "query": answer.query.text if answer.query else "",
        "verdict": answer.verdict.outcome if answer.verdict else "",
        "prompt_tokens": done.prompt_tokens,
        "all_prompt_tokens": done.all_prompt_tokens,
        "total_ms": done.total * 1e3,
        "stages": {t.stage: [t.duration * 1e3, t.engine * 1e3] for t in done.timings},
        "skipped": {each.step: each.reason for each in done.skipped},
        "evidence": [
            [e.origin, e.entry_id, e.text, round(e.search_score, 5), round(e.rerank_score, 5), e.used]
            for e in answer.evidence
        ],
    }
