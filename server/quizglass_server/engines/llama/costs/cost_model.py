"""What a step costs on this model and machine, and what follows for the schedule.

How the cost of a decode step grows with the number of sequences depends on the quantisation and is not even monotonic
(on two cores, a 0.5B model: Q4_0 9, 15, 21 and 16 ms for 1 to 4 sequences, Q8_0 17, 43, 56 and 64): so it is measured,
at the start (`calibration`), and by every step that is run afterwards (`CostTracker`): the machine may be busy at
the start, and is another one under load. Sizes that have not been used for a while are thought to cost no more than in
proportion to those that are, so that they are used again. Time is what steps have taken, not a clock's.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

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
    """Microseconds of a decode step of 1, 2, ... sequences."""
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


REST_US = 3_000_000
"""A size that was not used for so much time in steps is not believed to be as dear as it was."""
_SAMPLES = 8
_REFRESH = 8
"""Steps between two looks at what has become dearer."""
_EXPECTED = 0.8
"""A step at less than this share of what it should cost is looked at at once, and one that costs that much more."""
_PIECE_MORE = 1.1
"""A piece costs at most so many times what a smaller one costs for as many tokens: large ones read faster."""
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
        self._fixed = fixed
        self._steps = [deque([float(cost)], _SAMPLES) for cost in costs.step_us]
        self._pieces = [deque([float(cost)], _SAMPLES) for _, cost in costs.piece_us]
        self._used = [-inf] * len(self._steps)
        """When a step of a size was last run, in time spent."""
        self._spent = 0.0
        self._notes = 0

    def step(self, size: int, spent_us: float) -> None:
        """A step of `size` sequences, padding included, has taken so long."""
        if self._fixed:
            return
        self._steps[size - 1].append(spent_us)
        self._spent += spent_us
        self._used[size - 1] = self._spent
        known = self.costs.step_us[size - 1]
        self._note(spent_us < _EXPECTED * known or known < _EXPECTED * spent_us)

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
                self._note(cost < _EXPECTED * known)
                return

    def _note(self, unexpected: bool) -> None:
        self._notes += 1
        if unexpected or self._notes >= _REFRESH:
            self._refresh()

    def _refresh(self) -> None:
        self._notes = 0
        steps = self._likely_steps()
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

    def _likely_steps(self) -> tuple[int, ...]:
        """The least of each size's samples; of one that rests, in proportion to those in use where that is less."""
        least = {size: min(samples) for size, samples in enumerate(self._steps, 1)}
        in_use = [size for size in least if self._spent - self._used[size - 1] < REST_US]

        def likely(size: int) -> float:
            if size in in_use:
                return least[size]
            return min([least[size], *(least[other] * max(1.0, size / other) for other in in_use)])

        return tuple(max(1, int(likely(size))) for size in least)


def _alike(new: float, old: float) -> bool:
    return abs(new - old) <= _ALIKE * old
