"""Signs of life of the engine's thread, and what wakes it."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from time import monotonic, perf_counter_ns, thread_time_ns

from quizglass_server.engines.llama.costs.threads import ThreadCount
from quizglass_server.engines.llama.native.batch import EmbeddingBatch, TokenBatch
from quizglass_server.engines.llama.native.model import DECODED, NativeModel

Action = Callable[[], None]

_LONG_S = 3600.0
"""The longest sleep: the platform's clock does not take any number."""


class Liveness:
    """Decodes on as many threads as get cores, gives a sign of life before and after each call, and counts steps."""

    def __init__(self, model: NativeModel) -> None:
        """Begin with a sign of life."""
        self.busy = False
        self.steps = 0
        self.failures = 0
        """Steps that failed one after the other."""
        # What a GPU computes takes its caller no time on a core, whoever else is there.
        self.threads = ThreadCount(model.options.threads if model.executor == "cpu" else 1)
        self._model = model
        self._beat = monotonic()
        self._asleep = False

    @property
    def last(self) -> float:
        """`time.monotonic()` of the last sign of life; now, while the thread sleeps for want of work."""
        return monotonic() if self._asleep else self._beat

    def beat(self) -> float:
        """Give a sign of life; the time."""
        self._beat = monotonic()
        return self._beat

    def decode(self, batch: TokenBatch | EmbeddingBatch) -> int:
        """As the model's."""
        self.busy = True
        self.beat()
        started, on_core = perf_counter_ns(), thread_time_ns()
        code = self._model.decode(batch)
        computed, spent = thread_time_ns() - on_core, perf_counter_ns() - started
        self.busy = False
        self.beat()
        if self.threads.note(spent / 1000, computed / 1000):
            self._model.use_threads(self.threads.count)
        self.steps += 1
        if code == DECODED:
            self.failures = 0
        return code

    def sleep(self, inbox: Inbox, until: float | None) -> None:
        """Wait for the inbox, counting as alive."""
        self._asleep = True
        inbox.wait(until)
        self._asleep = False
        self.beat()


class Inbox:
    """What other threads want the engine's thread to do between two steps."""

    def __init__(self) -> None:
        self._actions: SimpleQueue[Action | None] = SimpleQueue()

    def put(self, action: Action | None = None) -> None:
        """Have something done between two steps, or only wake the thread; for any thread."""
        self._actions.put(action)

    def wait(self, until: float | None) -> None:
        """Sleep until there is something, which is done, or at most until a time of `time.monotonic()`."""
        try:
            action = self._actions.get(timeout=None if until is None else min(max(0.0, until - monotonic()), _LONG_S))
        except Empty:
            return
        if action is not None:
            action()

    def empty(self) -> None:
        """Do everything that there is."""
        # Nobody else takes from it.
        while not self._actions.empty():
            if (action := self._actions.get_nowait()) is not None:
                action()
