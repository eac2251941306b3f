"""Costs that were measured on a busy machine, and how serving mends them; time is what a model of costs says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, repeat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quizglass_server.engines.llama.costs.calibration import BUDGET_US, table
from quizglass_server.engines.llama.costs.cost_model import REST_US, Costs, CostTracker

Q4 = (9_400, 15_100, 20_900, 16_000, 24_000, 26_000, 29_000, 31_000)
Q8 = (16_600, 43_300, 55_700, 63_800, 140_000, 160_000, 180_000, 200_000)
PIECES = ((16, 20_000), (32, 30_000), (64, 70_000), (128, 150_000), (256, 320_000), (448, 600_000))
BUSY = (2_272_377, 5_980_860, 2_274_381, 6_010_114, 6_203_010, 3_029_140, 2_004_359, 1_414_767)
"""Measured beside a training run, where Q4 is the truth."""


def serve(
    tracker: CostTracker, true: Callable[[int], float], seconds: float, ready: int = 8
) -> Iterator[tuple[int, int, float]]:
    """Streams that never end, for so long: how many were decoded in each step, with how much padding, and its cost."""
    left = seconds * 1e6
    while left > 0:
        count, padding = tracker.costs.batch(ready)
        spent = true(count + padding)
        tracker.step(count + padding, spent)
        left -= spent
        yield count, padding, spent


def rate(steps: Iterator[tuple[int, int, float]]) -> float:
    """Tokens in a second."""
    done = list(steps)
    return 1e6 * sum(count for count, _, _ in done) / sum(spent for _, _, spent in done)


@pytest.mark.parametrize(
    "start",
    [
        BUSY,
        (9_400, *(cost * 100 for cost in Q4[1:])),
        (9_400, 15_100, 20_900, 16_000, 2_400_000, 2_600_000, 2_900_000, 3_100_000),
        (940_000, *Q4[1:]),
    ],
)
def test_a_start_on_a_busy_machine_is_forgotten_within_seconds(start: tuple[int, ...]) -> None:
    tracker = CostTracker(Costs(start, PIECES))
    list(serve(tracker, lambda size: Q4[size - 1], 5))
    assert tracker.costs.batch(8) == Costs(Q4, PIECES).batch(8)
    assert rate(serve(tracker, lambda size: Q4[size - 1], 5)) > 0.97 * 8 / Q4[7] * 1e6


@pytest.mark.parametrize("true", [Q4, Q8])
@pytest.mark.parametrize("ready", [2, 3, 4, 8])
def test_looking_again_at_what_rests_costs_little(true: tuple[int, ...], ready: int) -> None:
    tracker = CostTracker(Costs(true, PIECES))
    found = rate(serve(tracker, lambda size: true[size - 1], 60, ready))
    assert found >= 0.96 * 1e6 * ready / Costs(true, PIECES).step(ready)


def test_a_machine_that_changes_is_followed() -> None:
    tracker = CostTracker(Costs(Q4, PIECES))
    assert tracker.costs.batch(2)[0] == 2
    list(serve(tracker, lambda size: Q8[size - 1], 20, ready=2))
    assert rate(serve(tracker, lambda size: Q8[size - 1], 10, ready=2)) > 0.96 * 1e6 / Q8[0]
    list(serve(tracker, lambda size: Q4[size - 1], 10, ready=2))
    assert tracker.costs.batch(2)[0] == 2


def test_one_slow_step_changes_nothing() -> None:
    tracker = CostTracker(Costs(Q4, PIECES))
    costs = chain.from_iterable(repeat((31_000, 31_000, 31_000, 900_000)))
    for _ in range(200):
        tracker.step(8, next(costs))
    assert tracker.costs.step_us[7] == 31_000


def test_a_size_that_rests_is_used_again_and_a_lone_stream_never_waits_for_it() -> None:
    tracker = CostTracker(Costs(Q8, PIECES))
    seconds = 3 * REST_US / 1e6
    assert {step[:2] for step in serve(tracker, lambda size: Q8[size - 1], seconds, ready=1)} == {(1, 0)}
    used = [count for count, _, _ in serve(tracker, lambda size: Q8[size - 1], 4 * seconds, ready=2)]
    assert 2 < used.count(2) < 0.05 * len(used)


def test_a_lone_stream_is_not_padded_because_of_one_wrong_measurement() -> None:
    tracker = CostTracker(Costs((900_000, *Q4[1:]), PIECES))
    list(serve(tracker, lambda size: Q4[size - 1], 1, ready=1))
    assert tracker.costs.batch(1) == (1, 0)


def test_costs_that_were_given_are_kept_to() -> None:
    tracker = CostTracker(Costs(BUSY, PIECES), fixed=True)
    assert {count for count, _, _ in serve(tracker, lambda size: Q4[size - 1], 5)} == {Costs(BUSY, PIECES).batch(8)[0]}
    tracker.piece(16, 1.0)
    assert tracker.costs == Costs(BUSY, PIECES)


@settings(max_examples=50)
@given(st.lists(st.floats(1, 300), min_size=8, max_size=8), st.integers(2, 8))
def test_no_start_is_so_wrong_that_it_stays(factors: list[float], ready: int) -> None:
    start = tuple(int(cost * factor) for cost, factor in zip(Q4, factors, strict=True))
    tracker = CostTracker(Costs(start, PIECES))
    list(serve(tracker, lambda size: Q4[size - 1], 30, ready))
    count, padding = tracker.costs.batch(ready)
    # A size larger than there are answers is not looked at again, however little it would cost.
    best = Costs(Q4[:ready], PIECES).step(ready) / ready
    assert Q4[count + padding - 1] / count <= 1.3 * best


def test_pieces_grow_back() -> None:
    tracker = CostTracker(Costs(Q4, tuple((size, 300 * cost) for size, cost in PIECES)))
    assert tracker.costs.alone == 16
    true = dict(PIECES)
    for _ in range(6):
        tracker.piece(tracker.costs.alone, true[tracker.costs.alone])
    assert tracker.costs.alone == 256
    tracker.piece(5, 1.0)
    assert tracker.costs.piece_cost(16) == 20_000


class Machine:
    """Runs sizes as a true table says, but for what is said to disturb it."""

    def __init__(self, true: tuple[int, ...], disturbed: dict[int, int] | None = None, factor: int = 50) -> None:
        self.runs: list[int] = []
        self.spent = 0
        self._true, self._factor = true, factor
        self._disturbed = dict(disturbed or {})

    def __call__(self, size: int) -> int:
        self.runs.append(size)
        cost = self._true[size - 1]
        if self._disturbed.get(size, 0) > 0:
            self._disturbed[size] -= 1
            cost *= self._factor
        self.spent += cost
        return cost


def measured(machine: Machine, true: tuple[int, ...] = Q4) -> tuple[int, ...]:
    return table(machine, len(true), range(1, len(true) + 1))


def test_sizes_are_measured_in_turn_and_the_least_counts() -> None:
    machine = Machine(tuple(cost // 10 for cost in Q4), {3: 2, 8: 3})
    assert measured(machine) == tuple(cost // 10 for cost in Q4)
    assert machine.runs[:16] == [*range(1, 9)] * 2


def test_what_cannot_be_is_measured_again() -> None:
    # Every round but the repetitions finds the third size slow.
    rounds = 1 + BUDGET_US // (sum(Q4) + 9 * Q4[2])
    machine = Machine(Q4, {3: rounds}, factor=10)
    assert measured(machine) == Q4
    assert 3 in machine.runs[8 * rounds :]


def test_measuring_ends_in_time_however_slow_the_machine_is() -> None:
    machine = Machine(BUSY)
    found = measured(machine)
    assert machine.spent <= 2 * BUDGET_US + max(BUSY)
    # What was not reached is taken to cost in proportion: then everybody is batched, and the truth is soon known.
    assert found == tuple(BUSY[0] * size for size in range(1, 9))
    assert Costs(found, PIECES).batch(8) == (8, 0)


def test_pieces_that_are_too_long_are_not_measured() -> None:
    sizes = [size for size, _ in PIECES]
    machine = Machine(tuple(4 * cost for _, cost in PIECES))
    found = table(machine, len(sizes), sizes, enough_us=400_000)
    assert max(machine.runs) == 4
    assert found[4:] == (found[3] * 2, found[3] * 2 * 448 // 256)


def test_larger_pieces_do_not_learn_from_tokens_that_are_no_tile() -> None:
    tracker = CostTracker(Costs((250,), ((16, 1_250), (64, 4_100)), tile=64, seen_us=1.75))
    for _ in range(20):
        tracker.piece(60, 20_000)
    assert tracker.costs.piece_cost(64) == 4_100
    for _ in range(20):
        tracker.piece(64, 5_000)
    assert tracker.costs.piece_cost(64) == 5_000
