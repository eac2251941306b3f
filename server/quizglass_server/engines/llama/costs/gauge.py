"""Keeps the costs of steps up to date while requests are served.

The machine may have been busy when they were measured, and is another one under load. So every step that is run counts,
and sizes that have not been used for a while are tried again when there are answers enough: not for nothing, since
another size may be slower, but at a bounded share of the time. Time is what steps have taken, not a clock's.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from quizglass_server.engines.llama.costs.costs import Costs

_LOOK_US = 50_000
"""Time in steps between two looks for a size to try."""
REST_US = 3_000_000
"""A size is tried again after so much time in steps."""
PRICE = 0.02
"""Share of the time that trials may cost."""
FIRST_PRICE = 0.1
"""The same as long as a size has not been used since the start, when the machine may have been busy."""
_SAMPLES = 8
_TRIES = 2
"""Steps of a trial: the first of a size may cost more."""
_PADDED = 3
"""Rows of padding that are tried: kernels for weights of four bits take four rows at a time."""
_REFRESH = 8
"""Steps between two looks at what has become dearer."""
_CHEAPER = 0.8
"""A step at this share of what it should cost is looked at at once."""
_FEWER, _MORE = 1.5, 2.0
"""A step costs at most so many times what one of more sequences costs, or one of fewer for as many tokens."""
_PIECE_MORE = 1.1
"""Likewise for pieces, which read their tokens the faster the larger they are."""
_ALIKE = 0.02
"""Changes by less are not worth a new table."""
_NEAR = 0.75
"""A piece tells of the next larger size from this share of it on."""

logger = logging.getLogger(__name__)


class Gauge:
    """The engine's costs; used by its thread, `costs` may be read by any."""

    def __init__(self, costs: Costs, *, fixed: bool = False) -> None:
        """Begin with what was measured; with `fixed` it stays so."""
        self.costs = costs
        self.trials = 0
        """Sizes that were tried."""
        self._fixed = fixed
        self._steps = [deque([float(cost)], _SAMPLES) for cost in costs.step_us]
        self._pieces = [deque([float(cost)], _SAMPLES) for _, cost in costs.piece_us]
        self._used: list[float | None] = [None] * len(self._steps)
        """When a step of a size was last run, in time spent; None if never."""
        self._spent = 0.0
        self._credit = 0.0
        """Time that the next trial may cost."""
        self._first_credit = 0.0
        self._look = 0.0
        """When to look for a trial."""
        self._trying = (0, 0)
        """Size and steps left."""
        self._notes = 0

    def batch(self, ready: int) -> tuple[int, int]:
        """How many of `ready` sequences to decode together and with how much padding: as `Costs.batch`, or a trial."""
        chosen = self.costs.batch(ready)
        if self._fixed or ready == 0 or (ready == 1 and chosen == (1, 0)):
            return chosen
        size, left = self._trying
        if not left and self._spent >= self._look and (due := self._due(ready, chosen)):
            self.trials += 1
            size, left = due, _TRIES
        if not left or size > ready + _PADDED:
            return chosen
        self._trying = size, left - 1
        return min(size, ready), max(0, size - ready)

    def step(self, size: int, cells: int, spent_us: float, padding: int = 0) -> None:
        """A step of `size` sequences, padding included, over so many cells in memory has taken so long."""
        if self._fixed:
            return
        # No correction makes more than half of a step disappear: what a cell costs is an estimate itself.
        cost = max(spent_us - self.costs.cell_us * cells * size, spent_us / 2) + padding * self.costs.logits_us
        index = size - 1
        self._steps[index].append(cost)
        self._spent += spent_us
        self._credit += PRICE * spent_us
        self._first_credit += FIRST_PRICE * spent_us
        self._used[index] = self._spent
        self._note(cost < _CHEAPER * self.costs.step_us[index])

    def piece(self, tokens: int, spent_us: float) -> None:
        """A piece of a prompt has taken so long."""
        if self._fixed:
            return
        for index, (size, known) in enumerate(self.costs.piece_us):
            if _NEAR * size <= tokens <= size:
                cost = spent_us * size / tokens
                self._pieces[index].append(cost)
                self._note(cost < _CHEAPER * known)
                return

    def _note(self, cheaper: bool) -> None:
        self._notes += 1
        if cheaper or self._notes >= _REFRESH:
            self._refresh()

    def _refresh(self) -> None:
        self._notes = 0
        steps = tuple(max(1, int(min(samples))) for samples in self._steps)
        pieces: list[tuple[int, int]] = []
        for (size, _), samples in zip(self.costs.piece_us, self._pieces, strict=True):
            likely = min((_PIECE_MORE * cost * size / smaller for smaller, cost in pieces), default=min(samples))
            pieces.append((size, max(1, int(min(likely, *samples)))))
        if all(_alike(new, old) for new, old in zip(steps, self.costs.step_us, strict=True)) and all(
            _alike(new[1], old[1]) for new, old in zip(pieces, self.costs.piece_us, strict=True)
        ):
            return
        before, self.costs = self.costs, replace(self.costs, step_us=steps, piece_us=tuple(pieces))
        if logger.isEnabledFor(logging.DEBUG) and before.batch(len(steps)) != self.costs.batch(len(steps)):
            logger.debug(
                "of %d answers %s at a time from now on: %s us", len(steps), self.costs.batch(len(steps)), steps
            )

    def _due(self, ready: int, chosen: tuple[int, int]) -> int | None:
        """The size to try now."""
        count, padding = chosen
        token_us = self.costs.step_us[count + padding - 1] / count
        resting = [
            size
            for size in range(1, min(ready + _PADDED, len(self._steps)) + 1)
            if size != count + padding and ((used := self._used[size - 1]) is None or self._spent - used >= REST_US)
        ]
        self._look = self._spent + _LOOK_US
        if not resting:
            return None
        size = min(resting, key=lambda each: (self._used[each - 1] or 0.0, each != ready, -each))
        price = _TRIES * max(0.0, self._most(size) - min(size, ready) * token_us)
        if price > (self._credit if self._used[size - 1] is not None else self._first_credit):
            return None
        self._credit = self._first_credit = 0.0
        return size

    def _most(self, size: int) -> float:
        """What a step of a size costs at most, going by its own cost and by the others'."""
        return min(_bounds(size, self.costs.step_us))


def _alike(new: float, old: float) -> bool:
    return abs(new - old) <= _ALIKE * old


def _bounds(size: int, step_us: Sequence[int]) -> list[float]:
    return [
        cost if other == size else _FEWER * cost if other > size else _MORE * cost * size / other
        for other, cost in enumerate(step_us, 1)
    ]
