"""What a step costs on this model and machine, and what follows for the schedule.

How the cost of a decode step grows with the number of sequences depends on the quantisation and is not even monotonic
(on two cores, a 0.5B model: Q4_0 9, 15, 21 and 16 ms for 1 to 4 sequences, Q8_0 17, 43, 56 and 64): so it is measured,
at the start (`measuring`) and ever after (`gauge`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from quizglass_server.engines.llama.native import FORKS

PIECE_US = 80_000
"""Longest that a piece of a prompt may hold up the answers being written."""
ALONE_US = 400_000
"""Longest piece when no answer is being written: only new requests wait for it, and a cancellation does not."""
BACKGROUND_US = 20_000
"""Longest piece of a background request beside answers that are being written."""
_CLEARLY = 1.1
"""Fewer sequences than there are must be that much better to be chosen: measured differences are noisy."""


@dataclass(frozen=True)
class Costs:
    """Measured costs, microseconds."""

    step_us: tuple[int, ...]
    """Of a decode step of 1, 2, ... sequences."""
    piece_us: tuple[tuple[int, int], ...]
    """Tokens and cost of pieces of a prompt, ascending."""
    cell_us: float = 0.0
    """Of a step of answers, what each cell in memory adds for each sequence."""

    @cached_property
    def piece(self) -> int:
        """Tokens of a piece beside answers that are being written."""
        return self.within(PIECE_US)

    @cached_property
    def alone(self) -> int:
        """Tokens of a piece when no answer is being written."""
        return self.within(ALONE_US)

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

    def within(self, limit: int) -> int:
        """Tokens of the largest piece that costs at most `limit` microseconds; of the smallest, if none does."""
        fitting = [size for size, cost in self.piece_us if cost <= limit]
        return max(fitting, default=self.piece_us[0][0])

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

    def _padded(self, count: int) -> tuple[int, int]:
        """Cost of a step of at least `count` sequences and how many are padding."""
        costs = self.step_us[count - 1 :]
        padding = min(range(min(len(costs), FORKS)), key=lambda index: costs[index])
        if padding and costs[0] < costs[padding] * _CLEARLY:
            padding = 0
        return costs[padding], padding
