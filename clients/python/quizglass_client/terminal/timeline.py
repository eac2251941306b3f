"""Puts the steps of a turn in the order in which they began, with their places on one scale of time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quizglass.values import Confirmed, Provisional, StepDetail, StepEnded, Withdrawn
from quizglass_client.types import Event

TAKEN_BACK = "taken back"
_SETTLED = {Confirmed: "became the answer", Withdrawn: TAKEN_BACK}


@dataclass(frozen=True, slots=True)
class Row:
    """A step, and where it stands."""

    step: StepEnded
    left: float
    """Share of the whole time before it, 0 to 1."""
    width: float
    """Its own share of it, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """The steps of one turn, the earliest first."""

    rows: tuple[Row, ...]
    start: float
    """Seconds since the turn was accepted, at most 0."""
    total: float
    """Seconds from `start` to the end of the last step."""

    @classmethod
    def of(cls, events: Sequence[Event]) -> Timeline:
        """Of a turn's events, or of as many as there were when it broke off."""
        steps = [event.payload for event in events if isinstance(event.payload, StepEnded)]
        steps = sorted([*steps, *_proposals(events)], key=lambda step: step.started)
        start = min([0.0, *(step.started for step in steps)])
        total = max([0.0, *(step.started + step.duration for step in steps)]) - start
        scale = 1 / total if total > 0 else 0.0
        return cls(
            tuple(Row(step, (step.started - start) * scale, step.duration * scale) for step in steps), start, total
        )


def why(reason: str) -> str:
    """A step's reason in words; empty for one that was finished."""
    reasons = {
        "BUDGET": "no time",
        "NO_PICTURE": "no picture",
        "NO_QUERY": "nothing to look for",
        "EMPTY_KNOWLEDGE": "no knowledge",
        "MEMORY_OFF": "no memory",
        "FAILED": "failed",
        "CANCELLED": "not waited for",
    }
    return reasons.get(reason, reason.lower())


def _proposals(events: Sequence[Event]) -> Iterator[StepEnded]:
    """Answers that were shown before they were certain, as steps that last until they were settled."""
    proposed: Event | None = None
    for event in events:
        if isinstance(event.payload, Provisional):
            proposed = event
        elif proposed is not None and isinstance(event.payload, Confirmed | Withdrawn):
            yield _shown(proposed, event.elapsed, _SETTLED[type(event.payload)])
            proposed = None
    if proposed is not None:
        yield _shown(proposed, proposed.elapsed, "not settled")


def _shown(proposed: Event, until: float, outcome: str) -> StepEnded:
    text = proposed.payload.text if isinstance(proposed.payload, Provisional) else ""
    return StepEnded(
        name="shown draft",
        role="",
        started=proposed.elapsed,
        duration=until - proposed.elapsed,
        engine=0.0,
        outputs=(StepDetail("text", text), StepDetail("outcome", outcome)),
        round=proposed.round,
        branch=proposed.branch,
    )
