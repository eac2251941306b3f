"""What of a turn's time the latency benchmark calls the server's own."""

from __future__ import annotations

import pytest

from bench.latency import TimedTurn, _means, _stages, _turn_rows
from quizglass.values import FinishReason, StageTiming
from quizglass_client import Answer, Done
from quizglass_client.types import Event


def turn(*stages: tuple[str, float], waited: float = 100.0) -> TimedTurn:
    """Of 100 ms unless told; every stage has spent all of its milliseconds in an engine."""
    timings = tuple(StageTiming(name, ms / 1e3, ms / 1e3) for name, ms in stages)
    done = Done(answer="", finish_reason=FinishReason.COMPLETE, timings=timings)
    return TimedTurn(Answer.of([Event("0" * 32, 1, 0.1, done)]), waited, None)


@pytest.mark.parametrize(
    ("stages", "own"),
    [
        ([("gate", 2), ("plan", 5), ("embed", 6), ("generate", 10)], 79),  # the gate beside the planner
        ([("gate", 2), ("plan", 5), ("detect", 8), ("embed", 6), ("generate", 10)], 71),  # alone, after the plan
        ([("gate", 2), ("plan", 5), ("detect", 8), ("embed", 6), ("read", 50), ("generate", 10)], 38),
        ([("gate", 2), ("plan", 5), ("text_search", 3), ("text_search", 4), ("generate", 10)], 78),  # in two rounds
        ([("gate", 2), ("plan", 5), ("embed", 6), ("read", 50), ("plan", 4), ("generate", 10)], 34),
        ([("gate", 2), ("plan", 5), ("embed", 6), ("read", 50), ("generate", 10)], 38),  # the only plan was early
        ([("read", 50), ("plan", 5), ("generate", 10)], 35),  # a question about words: nothing was early
    ],
)
def test_only_engines_that_were_waited_for_are_taken_off(stages: list[tuple[str, float]], own: float) -> None:
    assert turn(*stages).own == pytest.approx(own)


def test_no_percentile_is_slower_than_the_slowest_turn() -> None:
    turns = [turn(waited=float(waited)) for waited in (1, 2, 3, 4)]
    for each in turns:
        each.plan, each.first = "none", each.waited / 2
    rows = {row.name.partition(" (")[0]: row.value for row in _turn_rows(turns)}
    assert rows["turn planned none, p50"] == 2.5
    assert rows["turn planned none, p95"] == pytest.approx(3.85)


def test_a_stage_that_ran_twice_took_both_times() -> None:
    twice, once = turn(("plan", 5), ("read", 50), ("plan", 4)), turn(("plan", 6))
    assert twice.stages["plan"] == (pytest.approx(9), pytest.approx(9))
    assert _stages([twice, once])["plan"] == {"turns": 2, "p50_ms": 7.5, "engine_p50_ms": 7.5}


def test_the_stages_of_the_plot_add_up_to_the_mean_turn() -> None:
    turns = [turn(("plan", 5), ("read", 50)), turn(("plan", 7))]
    for each in turns:
        each.plan = "none"
    assert _means(turns, "none") == {"plan": pytest.approx(6), "read": pytest.approx(25)}
