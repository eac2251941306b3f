"""When a process that dies is started again, on a clock of the test's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.engines.generator.process.breaker import Breaker, BreakerOptions, BreakerState
from tests.support.clock import Clock

CLOSED, OPEN, HALF_OPEN = BreakerState.CLOSED, BreakerState.OPEN, BreakerState.HALF_OPEN
OPTIONS = BreakerOptions(deaths=3, window_s=60.0, pause_s=30.0, longest_pause=4.0)


@pytest.fixture
def clock() -> Clock:
    return Clock(1000.0)


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker(OPTIONS, clock)


def test_the_first_death_is_followed_at_once_and_the_next_ones_after_growing_delays(clock: Clock) -> None:
    breaker = Breaker(BreakerOptions(deaths=100, first_delay_s=0.1, longest_delay_s=0.5), clock)
    assert [breaker.died() for _ in range(6)] == pytest.approx([0, 0.1, 0.2, 0.4, 0.5, 0.5])
    breaker.steady()
    assert breaker.died() == 0
    assert breaker.state is CLOSED


def test_deaths_far_apart_never_open_it(breaker: Breaker, clock: Clock) -> None:
    for _ in range(20):
        breaker.died()
        breaker.steady()
        assert breaker.state is CLOSED
        clock.now += 31


def test_one_death_too_many_opens_it_for_the_pause(breaker: Breaker, clock: Clock) -> None:
    breaker.died()
    breaker.died()
    assert breaker.state is CLOSED
    assert breaker.died() == 30
    assert breaker.state is OPEN
    assert breaker.recent_deaths == 3
    clock.now += 10
    assert breaker.retry_after_s == 20
    clock.now += 25
    assert breaker.retry_after_s == 0


def test_a_probe_that_lives_closes_it_and_all_is_forgotten(breaker: Breaker, clock: Clock) -> None:
    for _ in range(3):
        breaker.died()
    clock.now += 30
    breaker.probe()
    assert breaker.state is HALF_OPEN
    breaker.steady()
    assert breaker.state is CLOSED
    assert breaker.died() == 0
    breaker.died()
    assert breaker.died() == 30


def test_probes_that_die_double_the_pause_up_to_its_limit(breaker: Breaker, clock: Clock) -> None:
    pauses = [[breaker.died() for _ in range(3)][-1]]
    for _ in range(4):
        clock.now += pauses[-1]
        breaker.probe()
        pauses.append(breaker.died())
        assert breaker.state is OPEN
    assert pauses == [30, 60, 120, 120, 120]


def test_a_start_while_it_is_closed_is_no_probe(breaker: Breaker) -> None:
    breaker.died()
    breaker.probe()
    assert breaker.state is CLOSED


@given(st.lists(st.tuples(st.sampled_from(["died", "steady", "probe"]), st.floats(0, 100)), max_size=60))
def test_it_waits_only_within_its_limits_and_is_open_only_after_deaths(steps: list[tuple[str, float]]) -> None:
    clock = Clock(1000.0)
    breaker = Breaker(OPTIONS, clock)
    for step, seconds in steps:
        clock.now += seconds
        before = breaker.state
        wait = getattr(breaker, step)()
        if step != "died":
            assert breaker.state in (before, CLOSED, HALF_OPEN)
            continue
        assert 0 <= wait <= 120
        assert breaker.retry_after_s == pytest.approx(wait)
        if breaker.state is OPEN:
            assert wait >= 30
        else:
            assert breaker.recent_deaths < OPTIONS.deaths


def test_a_process_that_could_not_be_started_has_not_died(clock: Clock) -> None:
    breaker = Breaker(BreakerOptions(deaths=2, first_delay_s=0.1, longest_delay_s=0.5), clock)
    assert breaker.died() == 0
    assert [breaker.not_started() for _ in range(5)] == pytest.approx([0.1, 0.2, 0.4, 0.5, 0.5])
    assert breaker.retry_after_s == pytest.approx(0.5)
    assert (breaker.state, breaker.recent_deaths) == (CLOSED, 1)
    assert breaker.died() > 0
    assert breaker.state is OPEN
    breaker.probe()
    assert breaker.not_started() == pytest.approx(0.1)
    assert breaker.state is HALF_OPEN, "it is the same probe that is tried again"
