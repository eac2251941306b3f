"""What a step costs on this model and machine, measured at the start, and what follows for the schedule.

How the cost of a decode step grows with the number of sequences depends on the quantisation and is not even monotonic
(on two cores, a 0.5B model: Q4_0 9, 15, 21 and 16 ms for 1 to 4 sequences, Q8_0 17, 43, 56 and 64): so it is measured.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from time import perf_counter_ns

from quizglass_server.engines.llama.batch import TokenBatch
from quizglass_server.engines.llama.errors import LoadFailed
from quizglass_server.engines.llama.native import DECODED, FORKS, N_BATCH, NativeModel

PIECE_US = 80_000
"""Longest that a piece of a prompt may hold up the answers being written."""
ALONE_US = 400_000
"""Longest piece when no answer is being written: only new requests wait for it, and a cancellation does not."""
BACKGROUND_US = 20_000
"""Longest piece of a background request beside answers that are being written."""
_PIECES = (16, 32, 64, 128, 256, N_BATCH - 64)  # the rest of a batch is for the answers written beside a piece
_BUDGET_US = 600_000
_ROUNDS = 9
_DEPTH = 32
"""Most tokens in each sequence when steps are measured."""
_CLEARLY = 1.1
"""Fewer sequences than there are must be that much better to be chosen: measured differences are noisy."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Costs:
    """Measured costs, microseconds."""

    step_us: tuple[int, ...]
    """Of a decode step of 1, 2, ... sequences."""
    piece_us: tuple[tuple[int, int], ...]
    """Tokens and cost of pieces of a prompt, ascending."""

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


def measure(model: NativeModel, batch: int) -> Costs:
    """Time steps of 1 to `batch` sequences and pieces of prompts: the least of several rounds, in bounded time.

    Whatever is in the model's memory is forgotten.

    Raises:
        LoadFailed: the model cannot decode at all.
    """
    model.clear()
    tokens = TokenBatch(N_BATCH)
    rows = min(batch, model.sequences)
    depth = min(_DEPTH, model.options.cache_cells // rows - 1)
    sizes = [size for size in _PIECES if size <= model.options.context] or [model.options.context]

    def step(count: int) -> None:
        tokens.clear()
        for sequence in range(count):
            tokens.add([0], depth, sequence, 0)
        _decode(model, tokens)

    def piece(size: int) -> None:
        tokens.clear()
        tokens.add([0] * size, 0, 0, size - 1)
        _decode(model, tokens)

    pieces: list[tuple[int, int]] = []
    for size in sizes:
        cost = _timed(partial(piece, size), lambda: model.forget(0), _BUDGET_US // len(sizes) // 2)
        pieces.append((size, cost))
        if cost > ALONE_US:
            break
    _fill(model, tokens, rows, depth)

    def undo() -> None:
        for sequence in range(rows):
            model.forget(sequence, depth)

    steps = _table(step, undo, rows)
    model.clear()
    logger.info("decode steps of 1, 2, ... sequences: %s us; pieces of prompts: %s", steps, pieces)
    return Costs(steps, tuple(pieces))


def _table(step: Callable[[int], None], undo: Callable[[], None], rows: int) -> tuple[int, ...]:
    """For 1 to `rows` the least of several rounds: whatever else the machine does only ever adds to a step."""
    spent = 0
    measured: list[list[int]] = [[] for _ in range(rows)]
    for _ in range(_ROUNDS):
        for count in range(1, rows + 1):
            started = perf_counter_ns()
            step(count)
            measured[count - 1].append((perf_counter_ns() - started) // 1000)
            undo()
            spent += measured[count - 1][-1]
        if spent > _BUDGET_US:
            break
    return tuple(max(1, min(values)) for values in measured)


def _timed(run: Callable[[], None], undo: Callable[[], None], budget: int) -> int:
    """Least microseconds of a call, of as many calls as fit the budget."""
    values: list[int] = []
    for _ in range(_ROUNDS):
        started = perf_counter_ns()
        run()
        values.append((perf_counter_ns() - started) // 1000)
        undo()
        if sum(values) > budget:
            break
    return max(1, min(values))


def _fill(model: NativeModel, tokens: TokenBatch, rows: int, depth: int) -> None:
    """The same few tokens in each sequence, computed once."""
    tokens.clear()
    tokens.add([0] * depth, 0, 0)
    _decode(model, tokens)
    for sequence in range(1, rows):
        model.share(0, sequence, depth)


def _decode(model: NativeModel, tokens: TokenBatch) -> None:
    if (code := model.decode(tokens)) != DECODED:
        name = model.options.model.name
        raise LoadFailed(f"{name}: llama_decode returned {code} while it was measured: {model.last_error()}")
    model.synchronise()
