"""A generator process without some of the engine's finer parts: `python lesser_child.py PARTS, then its arguments`.

PARTS are names of `PARTS`, with commas between them. What a part does is replaced before the process begins; the
product itself has no such switches.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

_ENDLESS = 1 << 60
FULL = "nothing"


def _in(module: str) -> Any:
    return import_module(f"quizglass_server.engines.llama.{module}")


def _upkeep() -> None:
    CostTracker = _in("costs.cost_model").CostTracker
    begin = CostTracker.__init__
    CostTracker.__init__ = lambda self, costs, **_: begin(self, costs, fixed=True)


def _sizes() -> None:
    Costs = _in("costs.cost_model").Costs
    Costs.batch = lambda self, ready: (min(ready, len(self.step_us)), 0)


def _padding() -> None:
    Costs = _in("costs.cost_model").Costs
    Costs._padded = lambda self, count: (self.step_us[count - 1], 0)


def _margins() -> None:
    costs = _in("costs.cost_model")
    costs._CLEARLY = costs._NEARLY = costs._EXPECTED = 1.0
    costs._ALIKE = 0.0
    costs._PIECE_MORE = float(_ENDLESS)


def _early() -> None:
    Costs = _in("costs.cost_model").Costs
    Costs.enough = property(lambda self: _ENDLESS)


def _pieces() -> None:
    costs = _in("costs.cost_model")
    scheduler = _in("engine.scheduler")
    costs.READING_US = scheduler.READING_US = _ENDLESS


def _leaders() -> None:
    Scheduler = _in("engine.scheduler").Scheduler
    Scheduler._leader = lambda self, request: request


def _threads() -> None:
    ThreadCount = _in("costs.threads").ThreadCount
    ThreadCount.note = lambda self, spent_us, computed_us: False


def _offloading() -> None:
    Prefixes = _in("prefixes.cache").Prefixes
    Prefixes.__init__.__defaults__ = (_ENDLESS,)


def _encoder() -> None:
    PictureEncoder = _in("engine.encoder").PictureEncoder

    def next_(self: Any) -> Any:
        while (encoding := self._jobs.get()[2]).taken:
            pass
        encoding.taken = True
        return encoding

    PictureEncoder._next = next_


def _gathering() -> None:
    mailbox = _in("child.mailbox")
    mailbox.GATHER_S = 0.0


def _spinning() -> None:
    os.environ.pop("GOMP_SPINCOUNT", None)  # libgomp reads it when it is loaded


def _niceness() -> None:
    worker = _in("child.worker")
    worker.give_way = lambda: None


PARTS: dict[str, Callable[[], None]] = {
    FULL: lambda: None,
    "costs kept up to date": _upkeep,
    "batch sizes by cost": _sizes,
    "padding": _padding,
    "margins of the cost model": _margins,
    "steps that end with a prompt": _early,
    "pieces of prompts": _pieces,
    "waiting for a shared beginning": _leaders,
    "adaptive threads": _threads,
    "offloading": _offloading,
    "encoder's thread that ends": _encoder,
    "tokens that share a message": _gathering,
    "waiting awake for microseconds": _spinning,
    "lower priority": _niceness,
}
"""What does without each."""


def main() -> None:
    """Leave parts out, and be the generator process."""
    for name in sys.argv.pop(1).split(","):
        PARTS[name]()
    from quizglass_server.engines.llama.child.main import main as serve

    serve()


if __name__ == "__main__":
    main()
