"""How many threads compute beside other processes; what cores give is what a model of the machine says."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.engines.llama.costs.threads import (
    LONGEST_REST_S,
    PROVEN_US,
    REST,
    SURE_US,
    WINDOW_US,
    ThreadCount,
    fewer,
    more,
)

STEP_US = 2_000.0
QUIET, CROWDED = 0.1, 0.5
"""Shares of the time off a core, measured with two threads: on an idle machine at most 0.2, beside one busy process
0.5, beside two 0.7, and beside processes of a tenth of the weight 0.3."""


class Machine:
    """Cores of which some are taken, and a clock that goes on while steps are run."""

    def __init__(self, most: int, free: int | None = None) -> None:
        self.now = 1000.0
        self.free = most if free is None else free
        """Threads that have a core."""
        self.threads = ThreadCount(most, lambda: self.now)

    def steps(self, seconds: float, step_us: float = STEP_US) -> Iterator[int]:
        """Compute for so long; how many threads each step had."""
        until = self.now + seconds
        while self.now < until:
            count = self.threads.count
            self.now += step_us / 1e6
            self.threads.note(step_us, step_us * (1 - (QUIET if count <= self.free else CROWDED)))
            yield count

    def run(self, seconds: float, step_us: float = STEP_US) -> list[int]:
        return list(self.steps(seconds, step_us))


def test_a_quiet_machine_never_has_fewer_threads() -> None:
    assert set(Machine(2).run(60)) == {2}
    assert set(Machine(8).run(60)) == {8}


@pytest.mark.parametrize("step_us", [500.0, STEP_US, 30_000.0, 400_000.0])
def test_a_thread_off_its_core_is_given_up_within_a_window(step_us: float) -> None:
    machine = Machine(2, free=1)
    counts = machine.run(1, step_us)
    assert counts.index(1) <= max(1, SURE_US / step_us)


def test_trials_beside_a_process_that_stays_become_rare() -> None:
    machine = Machine(2, free=1)
    machine.run(10)
    counts = machine.run(60)
    assert counts.count(2) * STEP_US <= 1.1 * 60 / LONGEST_REST_S * WINDOW_US
    changes = sum(before != after for before, after in pairwise(counts))
    assert changes <= 2 * 60 / LONGEST_REST_S + 2


def test_trials_with_long_steps_cost_little_from_the_first_on() -> None:
    machine = Machine(2, free=1)
    counts = machine.run(60, 300_000)
    assert counts.count(2) <= 60 / LONGEST_REST_S + 3


def test_threads_come_back_when_the_others_have_left() -> None:
    machine = Machine(2, free=1)
    machine.run(30)
    machine.free = 2
    counts = machine.run(10)
    assert counts.index(2) * STEP_US / 1e6 <= LONGEST_REST_S + 0.1
    assert set(counts[counts.index(2) :]) == {2}


def test_an_engine_that_was_idle_meanwhile_looks_at_once() -> None:
    machine = Machine(2, free=1)
    machine.run(30)
    machine.free = 2
    machine.now += 60
    assert machine.run(1).index(2) <= WINDOW_US / STEP_US


def test_luck_does_not_make_it_swing() -> None:
    # Every trial seems to do well for some windows: shorter than the proof.
    machine = Machine(2, free=1)
    lucky = 0
    counts = []
    for _ in range(30_000):
        count = machine.threads.count
        lucky = lucky + 1 if count == 2 else 0
        machine.free = 2 if lucky * STEP_US < PROVEN_US / 4 else 1
        counts += machine.run(STEP_US / 1e6 / 2)
    rises = sum(before < after for before, after in pairwise(counts))
    assert rises <= 60 / LONGEST_REST_S + 10


def test_a_proven_return_makes_the_next_rest_short_again() -> None:
    machine = Machine(2, free=1)
    machine.run(30)
    machine.free = 2
    machine.run(5)
    machine.free = 1
    assert machine.run(2 * SURE_US / 1e6)[-1] == 1
    machine.free = 2
    assert machine.run(1).index(2) * STEP_US / 1e6 <= (REST + 2) * SURE_US / 1e6


def test_more_threads_are_not_tried_where_one_has_no_core_of_its_own() -> None:
    machine = Machine(2, free=0)
    machine.run(1)
    assert set(machine.run(60)) == {1}


@pytest.mark.parametrize(("most", "free"), [(8, 5), (8, 1), (4, 3), (16, 12), (3, 2)])
def test_many_threads_settle_at_what_has_cores(most: int, free: int) -> None:
    machine = Machine(most, free)
    machine.run(10)
    counts = machine.run(60)
    usual = max(set(counts), key=counts.count)
    assert usual <= free
    assert more(usual, most) > free
    machine.free = most
    assert machine.run(10)[-1] == most


def test_processes_of_lower_priority_take_no_thread_away() -> None:
    threads = ThreadCount(2)
    for _ in range(1000):
        threads.note(STEP_US, STEP_US * 0.7)
    assert threads.count == 2


def test_a_job_of_some_milliseconds_changes_nothing() -> None:
    machine = Machine(2)
    for _ in range(100):
        machine.run(0.05)
        machine.threads.note(8_000, 500)
        assert machine.threads.count == 2


def test_only_one_is_left_of_several_only() -> None:
    alone, crowded = Machine(1, free=0), Machine(2, free=1)
    alone.run(1)
    crowded.run(0.05)
    assert (alone.threads.count, alone.threads.only_one) == (1, False)
    assert (crowded.threads.count, crowded.threads.only_one) == (1, True)


@given(st.integers(1, 1024))
def test_the_way_down_is_the_way_up(most: int) -> None:
    down = [most]
    while down[-1] > 1:
        down.append(fewer(down[-1]))
    up = [1]
    while up[-1] < most:
        up.append(more(up[-1], most))
    assert up == down[::-1]
