"""How long calls may take."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

RETRY_PAUSES_S = (0.1, 0.4, 1.0)
"""Before a question is asked again of which nothing was done."""
async_sleep, sleep = asyncio.sleep, time.sleep
_HEALTH_S = 5.0
# A server that keeps to a turn's budget answers before this; the deadline is there for one that does not.
_GRACE_S = 5.0


@dataclass(frozen=True, slots=True)
class Limits:
    """Deadlines of calls, in seconds; None is none."""

    call: float | None
    """Seconds for a call that is no turn."""

    @property
    def health(self) -> float:
        """Deadline of a health check, which is answered at once or not at all."""
        return _HEALTH_S if self.call is None else min(_HEALTH_S, self.call)

    def turn(self, budget: float | None) -> float | None:
        """Deadline of a turn. The server takes its deadline as its budget unless it was given one."""
        return self.call if budget is None else budget + _GRACE_S
