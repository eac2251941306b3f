"""Measures what steps cost when a model has been loaded: a first idea, which `CostTracker` keeps up to date.

Whatever else the machine does only ever adds to a step, tenfold where llama.cpp's threads wait for each other: sizes
are measured in turn, the least counts, and what cannot be is measured again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import perf_counter_ns, thread_time_ns

from quizglass_server.engines.llama.costs.cost_model import READING_US, Costs
from quizglass_server.engines.llama.native.batch import TokenBatch
from quizglass_server.engines.llama.native.errors import LoadFailed
from quizglass_server.engines.llama.native.model import DECODED, N_BATCH, TILE, NativeModel

PIECES = (16, 32, 64, 128, 256, 448)
"""Tokens; larger ones read no faster."""
BUDGET_US = 600_000
"""Time for each of the two tables; a table ends in mid-round at the double of it."""
_ROUNDS = 9
_AGAIN = 3
_DEPTH = 32
"""Most tokens in each sequence when steps are measured."""
_ALIKE = 1.25
"""The two best measurements of a size differ by less where they can be trusted."""
_STEEP = 2.0
"""A step of one sequence more, or less, costs no more than that many times as much; if it seems to, it is doubted."""

logger = logging.getLogger(__name__)


def measure(model: NativeModel, batch: int) -> Costs:
    """Time steps of 1 to `batch` sequences and pieces of prompts, in bounded time.

    Whatever is in the model's memory is forgotten.

    Raises:
        LoadFailed: the model cannot decode at all.
    """
    model.clear()
    tokens = TokenBatch(N_BATCH)
    rows = min(batch, model.sequences)
    depth = min(_DEPTH, model.options.cache_cells // rows - 1)
    sizes = [size for size in PIECES if size <= model.options.context] or [model.options.context]

    def step(count: int) -> int:
        spent = _decoded(model, tokens, [([0], depth, sequence) for sequence in range(count)])
        for sequence in range(count):
            model.forget(sequence, depth)
        return spent

    def piece(index: int) -> int:
        spent = _decoded(model, tokens, [([0] * sizes[index - 1], 0, 0)])
        model.forget(0)
        return spent

    pieces = table(piece, len(sizes), sizes, enough_us=READING_US)
    _decoded(model, tokens, [([0] * depth, 0, 0)])
    for sequence in range(1, rows):
        model.share(0, sequence, depth)
    steps = table(step, rows, range(1, rows + 1))
    model.clear()
    deep = max((size for size, cost in zip(sizes, pieces, strict=True) if cost <= READING_US), default=0)
    tile, seen_us = 0, 0.0
    if deep > depth and deep + TILE <= model.options.context:
        tile, seen_us = _tile(model, tokens, deep, depth)
    model.clear()
    costs = Costs(steps, tuple(zip(sizes, pieces, strict=True)), tile, seen_us)
    logger.info("measured, microseconds: %s", costs)
    return costs


def table(
    run: Callable[[int], int], count: int, work: range | list[int], enough_us: int | None = None
) -> tuple[int, ...]:
    """Measure sizes 1 to `count` in turn, in bounded time: the least of each.

    Args:
        run: does size n once; its microseconds.
        count: how many sizes.
        work: how much there is in each size; sizes that time does not suffice for are taken to cost in proportion.
        enough_us: sizes above the first that costs more are not measured either.

    Returns:
        Microseconds, at least 1.
    """
    samples: list[list[int]] = [[] for _ in range(count)]
    spent = 0

    def sample(sizes: range | list[int]) -> bool:
        """One measurement of each; whether there was time."""
        nonlocal spent
        for size in sizes:
            if spent > 2 * BUDGET_US:
                return False
            samples[size - 1].append(run(size))
            spent += samples[size - 1][-1]
            if enough_us is not None and min(samples[size - 1]) > enough_us:
                break
        return True

    for _ in range(_ROUNDS):
        if not sample(range(1, count + 1)) or spent > BUDGET_US:
            break
    for _ in range(_AGAIN):
        if not (doubted := _doubted(samples)) or not sample(doubted):
            break
    costs: list[int] = []
    for index, measured in enumerate(samples):
        costs.append(max(1, min(measured)) if measured else costs[-1] * work[index] // work[index - 1])
    return tuple(costs)


def _doubted(samples: list[list[int]]) -> list[int]:
    """Sizes that did not take the same time twice, or much more than their neighbours."""
    sizes = []
    for index, measured in enumerate(samples):
        if not measured:
            continue
        least = sorted(measured)[:2]
        around = [min(samples[at]) for at in (index - 1, index + 1) if 0 <= at < len(samples) and samples[at]]
        if least[-1] > _ALIKE * least[0] or any(least[0] > _STEEP * other for other in around):
            sizes.append(index + 1)
    return sizes


def _tile(model: NativeModel, tokens: TokenBatch, deep: int, depth: int) -> tuple[int, float]:
    """What attention costs: `TILE` where a batch of so many tokens is read far faster than its tokens singly, else 0;
    and the microseconds that a single token pays for each cell of the KV cache that it sees.

    Measured by the time on a core, to which no other process adds, as the difference between a sequence of `deep`
    cells and one of `depth`.
    """
    _decoded(model, tokens, [([0] * deep, 0, 0)])
    scratch = model.sequences
    model.share(0, scratch, depth)

    def more(count: int, times: int) -> float:
        """What so many tokens pay for the cells by which the one sequence is longer than the other."""
        least = []
        for sequence, position in ((0, deep), (scratch, depth)):
            spent = []
            for _ in range(times):
                started = thread_time_ns()
                _decoded(model, tokens, [([0] * count, position, sequence)])
                spent.append((thread_time_ns() - started) / 1000)
                model.forget(sequence, position)
            least.append(min(spent))
        return max(0.0, least[0] - least[1])

    one = more(1, _AGAIN)
    return (TILE if more(TILE, 1) < TILE * one / _STEEP else 0), one / (deep - depth)


def _decoded(model: NativeModel, tokens: TokenBatch, runs: list[tuple[list[int], int, int]]) -> int:
    """Decode runs of tokens, at a position of a sequence each, with logits after the last of each: the microseconds."""
    started = perf_counter_ns()
    tokens.clear()
    for ids, position, sequence in runs:
        tokens.add(ids, position, sequence, len(ids) - 1)
    if (code := model.decode(tokens)) != DECODED:
        name = model.options.model.name
        raise LoadFailed(f"{name}: llama_decode returned {code} while it was measured: {model.last_error()}")
    model.synchronise()
    return (perf_counter_ns() - started) // 1000
