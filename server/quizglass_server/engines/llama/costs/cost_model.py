"""What a step costs on this model and machine, and what follows for the schedule.

How the cost of a decode step grows with the number of sequences depends on the quantisation and is not even monotonic
(on two cores, a 0.5B model: Q4_0 9, 15, 21 and 16 ms for 1 to 4 sequences, Q8_0 17, 43, 56 and 64): so it is measured,
at the start (`calibration`), and by every step that is run afterwards (`CostTracker`): the machine may be busy at
the start, and is another one under load. Sizes that have not been used for a while are tried again when there are
answers enough, for a bounded share of the time. Time is what steps have taken, not a clock's.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from quizglass_server.engines.llama.native.model import FORKS

READING_US = 500_000
"""Longest that prompts of turns are read without a token for the answers being written; also the longest step."""
BACKGROUND_ALONE_US, BACKGROUND_US = 80_000, 20_000
"""The same for background prompts, when no answer is being written and when one is."""
_NEARLY = 0.95
"""Pieces that read at this share of the best speed are large enough."""
_CLEARLY = 1.1
"""Fewer sequences than there are must be that much better to be chosen: measured differences are noisy."""


@dataclass(frozen=True)
class Costs:
    """Measured costs, microseconds."""

    step_us: tuple[int, ...]
    """Of a decode step of 1, 2, ... sequences."""
    piece_us: tuple[tuple[int, int], ...]
    """Tokens and cost of pieces of a prompt, ascending."""
    tile: int = 0
    """Tokens of a piece from which on the cells that they see cost little; 0: there is no such number."""
    seen_us: float = 0.0
    """Of a token of a smaller piece, what each cell that it sees costs."""

    @cached_property
    def enough(self) -> int:
        """Tokens of the smallest piece that reads nearly as fast as any."""
        best = max(size / cost for size, cost in self.piece_us)
        return next(size for size, cost in self.piece_us if size / cost >= _NEARLY * best)

    @cached_property
    def alone(self) -> int:
        """Tokens of a piece when no answer is being written."""
        return self.within(READING_US)

    def batch(self, ready: int) -> tuple[int, int]:
        """How many of `ready` sequences to decode together for the most tokens a second, and how many rows to fill up
        with padding because the larger batch is faster."""
        return self._batches[min(ready, len(self.step_us))]

    def step(self, ready: int) -> float:
        """Cost of one token for each of `ready` sequences, however they are batched."""
        if ready == 0:
            return 0.0
        count, _ = self.batch(ready)
        return self._padded(count)[0] * ready / count

    def prompt(self, tokens: int) -> float:
        """Cost of reading `tokens` tokens of a prompt."""
        size, cost = max(self.piece_us, key=lambda each: each[0] / each[1])
        return tokens * cost / size

    def piece_cost(self, tokens: int) -> float:
        """Cost of a step of `tokens` tokens of a prompt."""
        for size, cost in self.piece_us:
            if tokens <= size:
                return cost
        return self.prompt(tokens)

    def filling(self, tokens: int, seen: float) -> int:
        """How many rows to fill a piece of `tokens` tokens up with, where as many as a tile has are read faster.

        Args:
            tokens: of the piece.
            seen: cells that one of them sees, on average.
        """
        if not 0 < tokens < self.tile:
            return 0
        whole = self.piece_cost(self.tile)
        alone = tokens * (whole / self.tile + seen * self.seen_us)
        return self.tile - tokens if alone > _CLEARLY * whole else 0

    def within(self, limit: int) -> int:
        """Tokens of the largest piece that costs at most `limit` microseconds; of the smallest, if none does."""
        return self.fitting(limit) or self.piece_us[0][0]

    def fitting(self, limit: float) -> int:
        """Tokens of the largest piece that costs at most `limit` microseconds; 0 if none does."""
        return max((size for size, cost in self.piece_us if cost <= limit), default=0)

    @cached_property
    def _batches(self) -> list[tuple[int, int]]:
        """What `batch` gives for 0, 1, ... sequences."""
        rates = [count / self._padded(count)[0] for count in range(1, len(self.step_us) + 1)]
        best = [(0, 0)]
        for ready in range(1, len(rates) + 1):
            fastest = max(rates[:ready])
            count = ready if rates[ready - 1] * _CLEARLY >= fastest else rates.index(fastest) + 1
            best.append((count, self._padded(count)[1]))
        return best

    def _padded(self, count: int) -> tuple[float, int]:
        """Cost of a step of at least `count` sequences and how many are padding."""
        costs = self.step_us[count - 1 :]
        padding = min(range(min(len(costs), FORKS)), key=lambda index: costs[index])
        if padding and costs[0] < costs[padding] * _CLEARLY:
            padding = 0
        return costs[padding], padding


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


class CostTracker:
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

    def step(self, size: int, spent_us: float) -> None:
        """A step of `size` sequences, padding included, has taken so long."""
        if self._fixed:
            return
        index = size - 1
        self._steps[index].append(spent_us)
        self._spent += spent_us
        self._credit += PRICE * spent_us
        self._first_credit += FIRST_PRICE * spent_us
        self._used[index] = self._spent
        self._note(spent_us < _CHEAPER * self.costs.step_us[index])

    def piece(self, tokens: int, spent_us: float) -> None:
        """A piece of a prompt, padding included, has taken so long."""
        if self._fixed:
            return
        tile = self.costs.tile
        for index, (size, known) in enumerate(self.costs.piece_us):
            if tokens < tile <= size:
                return  # fewer rows than a tile has are read in another way, of which larger pieces know nothing
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
        price = _TRIES * max(0.0, _most(size, self.costs.step_us) - min(size, ready) * token_us)
        if price > (self._credit if self._used[size - 1] is not None else self._first_credit):
            return None
        self._credit = self._first_credit = 0.0
        return size


def _alike(new: float, old: float) -> bool:
    return abs(new - old) <= _ALIKE * old


def _most(size: int, step_us: Sequence[int]) -> float:
    """What a step of a size costs at most, going by its own cost and by the others'."""
    return min(
        cost if other == size else _FEWER * cost if other > size else _MORE * cost * size / other
        for other, cost in enumerate(step_us, 1)
    )
