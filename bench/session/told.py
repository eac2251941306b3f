"""A turn's events as a client got them, beside what the server's log says that it has inferred."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from quizglass.session import SegmentState, TurnUpdate
from quizglass.values import Done
from quizglass_client import AsyncTurn, ClientError

_ENDS = {"turn finished", "turn cancelled", "turn failed"}
"""Messages of the log, one for each time that a question was answered or begun to be."""
_WRITTEN_S, _POLL_S = 10.0, 0.05


@dataclass(frozen=True, slots=True)
class Told:
    """One turn as its client saw it."""

    turn_id: str
    """The server's name for the inference; empty where no event came."""
    whole: bool
    """Whether its events came in order, each once, to its end."""
    same: bool
    """Whether what was confirmed is its answer."""


async def told_of(turn: AsyncTurn) -> Told:
    """Follow a turn to its end; one that fails is not whole."""
    turn_id, numbers, segments, answer = "", [], dict[int, str](), None
    try:
        async for said in turn:
            if not isinstance(said, TurnUpdate):
                continue
            turn_id = said.turn_id
            numbers.append(said.seq)
            for segment in said.segments:
                text = segment.text or segments.get(segment.index, "")
                segments[segment.index] = "" if segment.state is SegmentState.RETRACTED else text
            if isinstance(said.event, Done):
                answer = said.event.answer
    except ClientError:
        answer = None
    whole = answer is not None and numbers == list(range(1, len(numbers) + 1))
    return Told(turn_id, whole, "".join(segments[at] for at in sorted(segments)).strip() == answer)


class TurnLog:
    """The server's log, from where it ends now.

    Args:
        path: JSON lines.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._from = path.stat().st_size

    async def inferred(self, told: Collection[str]) -> Counter[str]:
        """How often each turn was inferred.

        Args:
            told: turns that must be there; they are logged a moment after their end was sent.

        Raises:
            TimeoutError: one of those is not logged.
        """
        async with asyncio.timeout(_WRITTEN_S):
            while not set(told) <= set(ends := self._ends()):  # noqa: ASYNC110  # nothing tells
                await asyncio.sleep(_POLL_S)
        return ends

    def _ends(self) -> Counter[str]:
        with self._path.open("rb") as log:
            log.seek(self._from)
            records = [json.loads(line) for line in log if line.endswith(b"\n") and line.startswith(b"{")]
        return Counter(record["turn"] for record in records if record.get("message") in _ENDS)
