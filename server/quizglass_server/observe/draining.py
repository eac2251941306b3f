"""How far a server's stop has come: one line of log and one value of `quizglass_drain_step` a step."""

from __future__ import annotations

import logging
from enum import IntEnum

from quizglass_server.observe import metrics

logger = logging.getLogger(__name__)


class DrainStep(IntEnum):
    """The steps, in their order."""

    SERVING = 0
    WITHDRAWN = 1
    FINISHING = 2
    SAVING = 3
    ENGINES = 4


_SAYS = {
    DrainStep.WITHDRAWN: "stopping: not ready any more, calls are still taken",
    DrainStep.FINISHING: "stopping: no new turns, running ones may finish",
    DrainStep.SAVING: "stopping: stores are written and closed",
    DrainStep.ENGINES: "stopping: engines end",
}


class Drain:
    """A server's way out. Of one that never served, nothing is said: it had nothing to drain."""

    def __init__(self) -> None:
        self._step: DrainStep | None = None

    def reach(self, step: DrainStep, **fields: object) -> None:
        """Note a step, once; `fields` stand in its line of log."""
        if step is not DrainStep.SERVING and (self._step is None or step <= self._step):
            return
        self._step = step
        metrics.DRAIN.set(step)
        if step in _SAYS:
            logger.info(_SAYS[step], extra=fields)
