"""What follows a step that gave nothing, or nonsense: find out whose fault it is, and let nobody else suffer."""

from __future__ import annotations

import logging
from collections.abc import Callable

from quizglass_server.engines.llama.engine.liveness import Liveness
from quizglass_server.engines.llama.engine.requests import Request
from quizglass_server.engines.llama.engine.scheduler import Scheduler
from quizglass_server.engines.llama.native.errors import DecodeFailed, EngineBroken
from quizglass_server.engines.llama.native.model import ABORTED, NativeModel
from quizglass_server.engines.llama.prefixes.cache import Prefixes

MOST_FAILURES = 16
"""Steps that fail one after the other until llama.cpp is given up."""

logger = logging.getLogger(__name__)


class Recovery:
    """Brings the engine back to a known state."""

    def __init__(
        self,
        model: NativeModel,
        prefixes: Prefixes,
        scheduler: Scheduler,
        liveness: Liveness,
        fail: Callable[[Request, Exception], None],
    ) -> None:
        """Make it; `fail` ends a request with an error and drops what it has in memory."""
        self._model = model
        self._prefixes = prefixes
        self._scheduler = scheduler
        self._liveness = liveness
        self._fail = fail

    def failed(self, code: int, participants: list[Request]) -> None:
        """Handle a step that gave nothing and left memory as it was before it.

        Raises:
            EngineBroken: too many steps have failed in a row.
        """
        if code == ABORTED:
            return
        self._liveness.failures += 1
        reason = f"llama_decode returned {code}: {self._model.last_error()}"
        logger.error("a step of %d requests failed: %s", len(participants), reason)
        if self._liveness.failures >= MOST_FAILURES:
            raise EngineBroken(f"{self._liveness.failures} steps failed one after the other; the last: {reason}")
        if len(participants) == 1:
            self._fail(participants[0], DecodeFailed(reason))
        else:
            self._scheduler.suspects = participants

    def poisoned(self, bad: list[Request]) -> None:
        """Handle logits that are not numbers: what is in memory may spoil everybody's logits."""
        suspects = self._scheduler.suspects
        if suspects and suspects[0] in bad:
            self._fail(suspects[0], DecodeFailed("the model gave logits that are not numbers; its file may be damaged"))
        logger.error("logits that are not numbers; the memory is built anew")
        under_way = [request for request in self._scheduler.requests if request.lease is not None]
        self._model.clear()
        self._prefixes.clear()
        self._scheduler.start_over(under_way)
