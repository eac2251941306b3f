"""How long calls may take."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from quizglass_client.errors import InvalidRequest

RETRY_PAUSES_S = (0.1, 0.4, 1.0)
"""Before a question is asked again of which nothing was done."""
async_sleep, sleep = asyncio.sleep, time.sleep
_HEALTH_S = 5.0
_LONGEST_S = 1e9
"""Some thirty years, beyond which gRPC's clocks end: a longer limit is none."""
# A server that keeps to a turn's budget answers before this; the deadline is there for one that does not.
_GRACE_S = 5.0


def check_seconds(field: str, seconds: float | None, *, above_zero: bool = True) -> None:
    """See that a time can be waited for; None is no limit.

    Raises:
        InvalidRequest: it cannot; it names `field`.
    """
    if seconds is not None and not (seconds > 0 if above_zero else seconds >= 0):
        least = "above 0 seconds" if above_zero else "0 seconds or more"
        raise InvalidRequest.of(field, f"{seconds} is not {least}")


@dataclass(frozen=True, slots=True)
class Limits:
    """Deadlines of calls, in seconds; None is none.

    Raises:
        InvalidRequest: no call can be made in that time.
    """

    call: float | None
    """Seconds for a call that is no turn."""

    def __post_init__(self) -> None:
        check_seconds("timeout", self.call)
        if self.call is not None and self.call > _LONGEST_S:
            object.__setattr__(self, "call", None)

    @property
    def health(self) -> float:
        """Deadline of a health check, which is answered at once or not at all."""
        return _HEALTH_S if self.call is None else min(_HEALTH_S, self.call)

    def turn(self, budget: float | None) -> float | None:
        """Deadline of a turn: later than its budget, so that the best answer so far arrives."""
        return self.call if budget is None else budget + _GRACE_S
