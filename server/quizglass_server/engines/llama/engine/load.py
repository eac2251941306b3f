"""How much work waits, and what is refused because of it.

Estimates come from measured costs, from what each request still has to read, and from how long answers usually are.
They are taken while the engine's thread works on: a number that is a step old does no harm.
"""

from __future__ import annotations

from time import monotonic

from quizglass_server.engines.llama.engine.encoder import PictureEncoder
from quizglass_server.engines.llama.engine.request_kinds import Generation
from quizglass_server.engines.llama.engine.requests import Request
from quizglass_server.engines.llama.engine.scheduler import Scheduler
from quizglass_server.engines.llama.link.prompt import Busy, TooLate
from quizglass_server.engines.llama.prefixes.cache import Prefixes

_MIN_RETRY_S = 0.05
_RECENT = 0.2
"""Weight of the newest answer, or step, in the usual values."""
_FORGIVE = 0.9
"""By how much less an estimate counts each time that it alone has a request refused, until a step tells more."""


class Load:
    """Requests under way: admits those that can be done in time, and says how long others have to wait."""

    def __init__(self, scheduler: Scheduler, prefixes: Prefixes, encoder: PictureEncoder, queue: int) -> None:
        """Start with no requests; `queue` is how many may wait."""
        # A dictionary, since one operation on it is safe between threads.
        self._requests: dict[Request, None] = {}
        self._scheduler = scheduler
        self._prefixes = prefixes
        self._encoder = encoder
        self._queue = queue
        self._usual = 0.0
        self._drift = 1.0
        self._trust = 1.0
        """In estimates: where every request is refused, no step is run that would show that they are wrong by now."""

    @property
    def pending(self) -> int:
        """Requests that have not ended."""
        return len(self._requests)

    def admit(self, request: Request) -> None:
        """Count a request in.

        Raises:
            Busy: the queue is full, or the deadline passes before it can be complete because of others.
            TooLate: the deadline passes before it could be complete if it were alone.
        """
        waiting = sum(each.lease is None for each in tuple(self._requests))
        if waiting >= self._queue:
            raise Busy(f"{self._queue} requests wait already", self.retry_after())
        if request.urgency.deadline is not None:
            left = request.urgency.deadline - monotonic()
            alone, needed = self._needed_s(request)
            if alone > left:
                self._trust *= _FORGIVE if left > 0 else 1.0
                raise TooLate(f"the answer would take {alone:.2f} s and {max(left, 0):.2f} s are left")
            if needed > left:
                raise Busy(
                    f"the answer would take {needed:.2f} s behind others and {left:.2f} s are left",
                    max(needed - left, _MIN_RETRY_S),
                )
        self._requests[request] = None

    def waited_for(self) -> list[Request]:
        """Requests that somebody still waits for; the others leave with the next step and delay nobody."""
        now = monotonic()
        return [
            each
            for each in tuple(self._requests)
            if not each.cancelled and (each.urgency.deadline is None or each.urgency.deadline > now)
        ]

    def leave(self, request: Request) -> None:
        """Remove a request that has ended."""
        del self._requests[request]

    def retry_after(self) -> float:
        """Seconds until half of what waits will be done."""
        return max(_MIN_RETRY_S, self._work_us(tuple(self._requests)) / 2e6)

    def next_deadline(self) -> float | None:
        """The first time at which a request is late, of `time.monotonic()`."""
        deadlines = [each.urgency.deadline for each in tuple(self._requests) if each.urgency.deadline is not None]
        return min(deadlines, default=None)

    def note(self, request: Request, reason: str) -> None:
        """Learn from a request that has ended how long answers usually are, unless it was cut off."""
        if isinstance(request.kind, Generation) and reason in ("stop", "length"):
            self._usual += _RECENT * (request.generated_tokens - self._usual)

    def note_step(self, expected_us: float, spent_us: float) -> None:
        """A step has taken so long: prompts are longer than those measured, and the machine may do other things."""
        self._trust = 1.0
        self._drift += _RECENT * (max(1.0, spent_us / expected_us) - self._drift)

    def _needed_s(self, request: Request) -> tuple[float, float]:
        """Seconds until a new request's answer is complete, alone and behind those that are there."""
        costs, to_s = self._scheduler.costs, self._trust / 1e6
        known = self._prefixes.known(request.units, request.length)
        own = request.units.cells(request.length) - request.units.cells(known)
        prompt = costs.prompt(own)
        needed = {part.sha256 for part, at in zip(request.pictures, request.units.at, strict=True) if at >= known}
        prompt += self._encoder.encode_us * sum(not self._encoder.has(sha256) for sha256 in needed)
        ahead = [each for each in self.waited_for() if each.order < request.order]
        together = sum(each.writing for each in ahead) + 1
        tokens = request.kind.expected_tokens(self._usual)
        reading = [each for each in ahead if not each.writing]
        behind = (prompt + tokens * costs.step(together)) * self._drift + self._work_us(reading)
        return (prompt + tokens * costs.step(1)) * self._drift * to_s, behind * to_s

    def _work_us(self, requests: list[Request] | tuple[Request, ...]) -> float:
        """Microseconds until all of these are complete."""
        costs = self._scheduler.costs
        tokens = sum(each.kind.expected_tokens(self._usual) for each in requests)
        together = min(len(costs.step_us), max(1, len(requests)))
        prompts = sum(costs.prompt(max(0, each.todo_cells)) for each in requests if not each.writing)
        return self._drift * (prompts + tokens * costs.step(together) / together)
