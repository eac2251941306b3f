"""Events of explained turns, as a client gets them."""

from __future__ import annotations

from dataclasses import replace

from quizglass.values import (
    Accepted,
    AnswerDelta,
    Citation,
    Confirmed,
    Done,
    Evidence,
    EvidenceFound,
    FinishReason,
    Origin,
    Provisional,
    Region,
    StepDetail,
    StepEnded,
    TurnEvent,
    Verdict,
    VerdictOutcome,
    Withdrawn,
)
from quizglass_client.types import Event

LEFT, RIGHT = Region(0.0, 0.0, 0.5, 1.0), Region(0.5, 0.0, 1.0, 1.0)
PRICE = Evidence(
    "1", Origin.TEXT_SEARCH, "velmora", "Velmora", "The Velmora costs 45 crowns.", 0.75, 0.5, "pocketworld", True
)
DONE = Done("45 crowns", FinishReason.COMPLETE, (Citation("1", "velmora", "Velmora", 0, 9),), total=0.5)


def step(name: str, started: float, duration: float, **fields: object) -> StepEnded:
    return StepEnded(name, "reranker", started, duration, duration / 2, **fields)  # type: ignore[arg-type]


STEPS = (
    step("decode", -0.05, 0.05),
    step("embed", 0.05, 0.1, inputs=(StepDetail("part", region=LEFT), StepDetail("part", region=RIGHT))),
    step("act", 0.0, 0.05, outputs=(StepDetail("label", "text", 0.75), StepDetail("label", "none", 0.25)), round=1),
    step("rerank", 0.15, 0.0, inputs=(StepDetail("query", "Price?"),), reason="BUDGET", round=1, branch="1"),
    step("rerank", 0.2, 0.1, outputs=(StepDetail("passage", "Velmora: 45", 0.5, "1"),), round=1, branch="2"),
    step("rounds", 0.35, 0.0, reason="BUDGET", round=2),
    step("look", 0.1, 0.2, reason="CANCELLED"),
)


def told(*payloads: TurnEvent, every_s: float = 0.1) -> list[Event]:
    """Events of one turn, one after the other."""
    return [Event("t" * 32, seq, round(seq * every_s, 3), each) for seq, each in enumerate(payloads, 1)]


def whole_turn(evidence: Evidence = PRICE) -> list[Event]:
    """A turn of two rounds and two branches, with a draft that is taken back and one that becomes the answer."""
    return told(
        Accepted("cogplanner-parallel+", (bytes(32),), 5.0),
        *STEPS,
        EvidenceFound((replace(evidence, used=False), evidence)),
        Provisional("44 crowns"),
        Withdrawn(),
        Provisional("45 crowns"),
        Confirmed(),
        AnswerDelta("45 crowns"),
        Verdict(VerdictOutcome.SUPPORTED, 0.5, 0.75, {"why": "it says so"}),
        DONE,
    )
