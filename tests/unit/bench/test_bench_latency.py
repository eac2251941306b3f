"""What of a turn's time the latency benchmark calls the server's own, and where it says that each millisecond goes."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bench.latency.peer import PeerTree, of_tree
from bench.latency.photographs import WordQuestion, WordTurn
from bench.latency.spans import BETWEEN, BEYOND, GENERATOR, TOTAL, means, spans
from bench.latency.timed import TimedTurn
from bench.latency.turns import stages, turn_rows
from bench.own.judge import says_any
from bench.own.lettered import photographed, surfaces
from quizglass.values import FinishReason, StageTiming, StepEnded
from quizglass_client import Answer, Done
from quizglass_client.types import Event


def turn(*took: tuple[str, float], waited: float = 100.0) -> TimedTurn:
    """Of 100 ms unless told; every stage has spent all of its milliseconds in an engine."""
    timings = tuple(StageTiming(name, ms / 1e3, ms / 1e3) for name, ms in took)
    done = Done(answer="", finish_reason=FinishReason.COMPLETE, timings=timings)
    return TimedTurn(Answer.of([Event("0" * 32, 1, 0.1, done)]), waited, None)


@pytest.mark.parametrize(
    ("took", "own"),
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
def test_only_engines_that_were_waited_for_are_taken_off(took: list[tuple[str, float]], own: float) -> None:
    assert turn(*took).own == pytest.approx(own)


def test_no_percentile_is_slower_than_the_slowest_turn() -> None:
    turns = [turn(waited=float(waited)) for waited in (1, 2, 3, 4)]
    for each in turns:
        each.plan, each.first = "none", each.waited / 2
    rows = {row.name.partition(" (")[0]: row.value for row in turn_rows(turns)}
    assert rows["turn planned none, p50"] == 2.5
    assert rows["turn planned none, p95"] == pytest.approx(3.85)


def test_a_stage_that_ran_twice_took_both_times() -> None:
    twice, once = turn(("plan", 5), ("read", 50), ("plan", 4)), turn(("plan", 6))
    assert twice.stages["plan"] == (pytest.approx(9), pytest.approx(9))
    assert stages([twice, once])["plan"] == {"turns": 2, "p50_ms": 7.5, "engine_p50_ms": 7.5}


def test_every_millisecond_of_a_turn_is_in_one_row() -> None:
    steps = (
        StepEnded("decode", started=-0.004, duration=0.004),
        StepEnded("plan", started=0.000, duration=0.010, engine=0.010),
        StepEnded("gate", started=0.000, duration=0.004, engine=0.002),
        StepEnded("generate", started=0.015, duration=0.020, engine=0.010),
    )
    done = Done(answer="", finish_reason=FinishReason.COMPLETE, total=0.040)
    answer = Answer.of([Event("0" * 32, number, 0.1, each) for number, each in enumerate((*steps, done))])
    found = spans(answer, waited=50.0)
    assert found["decoding the frame"] == pytest.approx((4, 0))
    assert found["words looked for"] == pytest.approx((2, 1))
    assert found["deciders"] == pytest.approx((8, 8))
    assert found[GENERATOR] == pytest.approx((20, 10))
    assert found[BETWEEN] == pytest.approx((10, 0))
    assert found[BEYOND] == pytest.approx((6, 0))
    total = means([found])[TOTAL]
    assert total == pytest.approx((50, 19))


def test_means_count_turns_without_the_row() -> None:
    assert means([{"detector": (8.0, 6.0)}, {}])["detector"] == (4.0, 3.0)


def test_a_peer_runs_the_packages_of_its_tree(tmp_path: Path) -> None:
    (tmp_path / "server" / "quizglass_server").mkdir(parents=True)
    (tmp_path / "server" / "quizglass_server" / "__init__.py").write_text("print('of the tree')")
    ask = [sys.executable, "-c", "import quizglass_server"]
    with of_tree(PeerTree("0000000", tmp_path)):
        assert subprocess.run(ask, check=True, capture_output=True, text=True).stdout == "of the tree\n"
    assert str(tmp_path) not in os.environ.get("PYTHONPATH", "")


def test_what_is_asked_about_words_stands_on_what_is_drawn() -> None:
    asked = [(surface, gold) for surface in surfaces() for _, gold in surface.asked]
    assert len(asked) == 150
    assert [(surface.lines, gold) for surface, gold in asked if not says_any(" ".join(surface.lines), gold)] == []


def test_a_sign_is_drawn_into_a_part_of_a_photograph_in_the_same_way_each_time() -> None:
    out = io.BytesIO()
    Image.new("RGB", (900, 600), (90, 120, 60)).save(out, "PNG")
    plain, lettered = (photographed(out.getvalue(), each, "a place") for each in (None, surfaces()[0]))
    assert lettered == photographed(out.getvalue(), surfaces()[0], "a place")
    one, other = (np.asarray(Image.open(io.BytesIO(each))).astype(int) for each in (plain, lettered))
    assert one.shape == other.shape == (427, 640, 3)
    changed = (abs(one - other).max(axis=2) > 40).mean()
    assert 0.01 < changed < 0.5


def test_a_turn_knows_an_answer_that_was_read_and_is_right_where_it_says_it() -> None:
    question = WordQuestion("words/0", "When do they open?", b"", True, ("6:30", "6 30"))
    told = Answer.of([Event("0" * 32, 1, 0.1, Done(answer="I don't know", finish_reason=FinishReason.COMPLETE))])
    known = WordTurn(question, TimedTurn(told, 1.0, None), "BAKERY Open 6:30 to 17:00")
    assert (known.knows, known.right, known.read) == (True, False, False)
    assert not WordTurn(question, known.timed, "BAKERY").knows
    assert question.right("At 6:30.")
