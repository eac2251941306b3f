"""What a step costs on this model and machine, and what follows for the schedule.

How the cost of a decode step grows with the number of sequences depends on the quantisation and is not even monotonic
(on two cores, a 0.5B model: Q4_0 9, 15, 21 and 16 ms for 1 to 4 sequences, Q8_0 17, 43, 56 and 64): so it is measured,
at the start (`measuring`) and ever after (`gauge`).
"""

from __future__ import annotations

from dataclasses import dataclass
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
    cell_us: float = 0.0
    """Of a step of answers, what each cell in memory adds for each sequence."""
    logits_us: float = 0.0
    """Of a step of answers, what the logits of one of them cost; padding has none."""

    @cached_property
    def alone(self) -> int:
        """Tokens of a piece when no answer is being written."""
        return self.within(READING_US)

    @cached_property
    def enough(self) -> int:
        """Tokens of the smallest piece that reads nearly as fast as any."""
        best = max(size / cost for size, cost in self.piece_us)
        return next(size for size, cost in self.piece_us if size / cost >= _NEARLY * best)

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
        costs = [max(1.0, cost - more * self.logits_us) for more, cost in enumerate(self.step_us[count - 1 :])]
        padding = min(range(min(len(costs), FORKS)), key=lambda index: costs[index])
        if padding and costs[0] < costs[padding] * _CLEARLY:
            padding = 0
        return costs[padding], padding
