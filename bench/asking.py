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
_CANDIDATES = 8


@dataclass
class Asked:
    """One question and everything that was answered to it."""

    id: str
    turns: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By policy, and the probes of the annotation: "q_i" and "q_g"."""
    text_entries: list[str] = field(default_factory=list)
    """Entries that a text search with the gold query brings back, best first, each once."""


async def ask_all(
    target: str, trial: Trial, policies: tuple[str, ...], log: Path, clients: int, tick: Callable[[], None]
) -> list[Asked]:
    """Ask everything that the log does not have yet.

    Args:
        target: address of the server.
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
    async with AsyncClient(target, timeout=_BUDGET_S) as client:
        with log.open("a") as file:

            async def worker() -> None:
                for question in waiting:
                    asked = await _ask(client, question, policies)
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


async def _ask(client: AsyncClient, question: Question, policies: tuple[str, ...]) -> Asked:
    frame = await asyncio.to_thread(picture, question)
    asked = Asked(question.id)
    for policy in policies:
        answer = await client.answer(question.text, frame, history=question.history, policy=policy, budget=_BUDGET_S)
        asked.turns[policy] = _record(answer)
    # The annotation's probes (papers: "visual query decomposition"): what is it, and the question standing alone.
    asked.turns["q_i"] = _record(
        await client.answer(question.image_query, frame, history=question.history, policy="none", budget=_BUDGET_S)
    )
    asked.turns["q_g"] = _record(await client.answer(question.gold_query, policy="none", budget=_BUDGET_S))
    found = await client.search(text=question.gold_query, limit=4 * _CANDIDATES)
    asked.text_entries = list(dict.fromkeys(item.entry_id for item in found))
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
        "total_ms": done.total * 1e3,
        "stages": {t.stage: [t.duration * 1e3, t.engine * 1e3] for t in done.timings},
        "skipped": {each.step: each.reason for each in done.skipped},
        "evidence": [
            [e.origin, e.entry_id, e.text, round(e.search_score, 5), round(e.rerank_score, 5), e.used]
            for e in answer.evidence
        ],
    }
