"""One turn over gRPC, as a record for the tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from bench.accuracy.ground import BUDGET_S
from bench.accuracy.log import Record
from quizglass.values import Decided, Queries, StepEnded
from quizglass_client import Answer, AsyncClient, Event

Exchanges = Sequence[tuple[str, str]]


async def ask_turn(
    client: AsyncClient,
    text: str,
    picture: bytes | None,
    policy: str = "",
    *,
    history: Exchanges = (),
    explain: bool = False,
) -> Record:
    """Ask, and keep what came back."""
    turn = client.ask(text, picture, history=history, policy=policy, budget=BUDGET_S, explain=explain)
    events = [event async for event in turn]
    return as_record(events)


def as_record(events: Sequence[Event]) -> Record:
    """What the tables need of a turn's events."""
    answer = Answer.of(events)
    return _answered(answer) | _decided(events) | {"boxes": _boxes(answer.steps)}


def spent_ms(turn: Record, stages: Collection[str]) -> float:
    """Milliseconds that a turn spent in some stages: in every round, and however often each ran."""
    return float(sum(ms for stage, ms, _ in turn["timings"] if stage in stages))


def _answered(answer: Answer) -> dict[str, Any]:
    done, verdict = answer.done, answer.verdict
    return {
        "answer": done.answer,
        "abstained": done.abstain_reason,
        "plan": str(answer.plan.plan) if answer.plan else "",
        "query": answer.query.text if answer.query else "",
        "verdict": verdict.outcome if verdict else "",
        "least": verdict.min_token_probability if verdict else 0.0,
        "mean": verdict.mean_token_probability if verdict else 0.0,
        "notes": dict(verdict.notes) if verdict else {},
        "prompt_tokens": done.prompt_tokens,
        "all_prompt_tokens": done.all_prompt_tokens,
        "all_written_tokens": done.all_written_tokens,
        "total_ms": done.total * 1e3,
        "timings": [[t.stage, t.duration * 1e3, t.round] for t in done.timings],
        "searches": {stage: _count(answer, stage) for stage in ("image_search", "text_search")},
        "rounds": max((t.round for t in done.timings), default=0),
        "skipped": {each.step: each.reason for each in done.skipped},
        "evidence": [
            [e.origin, e.entry_id, e.text, round(e.search_score, 5), round(e.rerank_score, 5), e.used]
            for e in answer.evidence
        ],
    }


def _count(answer: Answer, stage: str) -> int:
    """How often a step ran: once a round, of which each has its own timing."""
    return sum(timing.stage == stage for timing in answer.done.timings)


def _decided(events: Sequence[Event]) -> dict[str, Any]:
    payloads = [event.payload for event in events]
    return {
        "decided": [
            {"by": each.by, "label": each.label, "round": each.round, "probabilities": dict(each.probabilities)}
            for each in payloads
            if isinstance(each, Decided)
        ],
        "queries": [
            {"task": each.task, "round": each.round, "texts": list(each.texts)}
            for each in payloads
            if isinstance(each, Queries)
        ],
    }


def _boxes(steps: Sequence[StepEnded]) -> list[list[float]]:
    """What a detector pointed at, likeliest first; of explained turns."""
    regions = [each.region for step in steps if step.name == "detect" for each in step.outputs if each.region]
    return [[region.left, region.top, region.right, region.bottom] for region in regions]
