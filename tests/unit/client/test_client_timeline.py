"""What a person sees of the steps of a turn, in a terminal."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace

import pytest
from rich.console import Console

from quizglass.values import SkippedStep, StepDetail, StepEnded
from quizglass_client import Answer
from quizglass_client.terminal.explain import print_timeline
from quizglass_client.terminal.output import as_json
from quizglass_client.terminal.show import TurnView
from quizglass_client.terminal.timeline import Timeline, why
from quizglass_client.types import Event
from tests.support.explained_turns import DONE, STEPS, step, told, whole_turn


def printed(events: Sequence[Event]) -> list[str]:
    out = io.StringIO()
    print_timeline(Console(file=out, width=80), events)
    return out.getvalue().splitlines()


def lines_of(lines: Sequence[str], name: str) -> list[str]:
    return [line for line in lines if line.strip().startswith(name)]


def test_steps_stand_by_when_they_began_on_one_scale() -> None:
    timeline = Timeline.of(told(*STEPS, DONE))
    assert [row.step.name for row in timeline.rows] == [
        *("decode", "act", "embed", "look", "rerank", "rerank", "rounds"),
    ]
    assert (timeline.start, timeline.total) == (-0.05, pytest.approx(0.4))
    first, embed = timeline.rows[0], timeline.rows[2]
    assert (first.left, first.width) == (0.0, pytest.approx(0.125))
    assert (embed.left, embed.width) == (pytest.approx(0.25), pytest.approx(0.25))


def test_rounds_and_branches_are_indented_bars_have_one_length_and_what_was_left_out_says_why() -> None:
    lines = printed(whole_turn())
    assert "round 1" in lines
    (act,) = lines_of(lines, "act")
    assert act.startswith("  act ")
    skipped, ran = lines_of(lines, "rerank")
    assert skipped.startswith("    rerank (1)")
    assert "no time" in skipped
    assert "━" not in skipped
    assert "100 ms" in ran
    assert "━" in ran
    assert "not waited for" in lines_of(lines, "look")[0]
    assert "no time" in lines_of(lines, "rounds")[0]
    bars = {sum(line.count(mark) for mark in "·━") for line in lines if "━" in line}
    assert bars == {24}


def test_what_was_given_and_brought_stands_below() -> None:
    lines = [line.strip() for line in printed(whole_turn())]
    assert "part 0-50 % across, 0-100 % down · part 50-100 % across, 0-100 % down" in lines
    assert "→ text 0.75  none 0.25" in lines
    assert "→ [1] Velmora: 45 0.50" in lines
    assert "query Price?" in lines


def test_drafts_say_whether_they_were_taken_back() -> None:
    lines = [line.strip() for line in printed(whole_turn())]
    assert lines.index("→ 44 crowns") + 1 == lines.index("→ taken back")
    assert lines.index("→ 45 crowns") + 1 == lines.index("→ became the answer")


def test_a_turn_that_broke_off_shows_what_there_was() -> None:
    lines = [line.strip() for line in printed(whole_turn()[:10])]
    assert "→ 44 crowns" in lines
    assert "→ not settled" in lines
    assert printed([]) == []


def test_texts_cannot_steer_the_terminal_and_are_short() -> None:
    evil = "\x1b[2Jred\u202egnp.exe" + "x" * 500
    detail = StepDetail(evil, evil, 0.5, "1\x1b[0m")
    bad = StepEnded(f"step{evil[:12]}", evil[:12], 0.0, 0.1, 0.0, (detail,), (detail,), round=1, branch="1\x07")
    text = "\n".join(printed(told(bad, replace(bad, reason=evil))))
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    many = step("rerank", 0.0, 0.1, outputs=tuple(StepDetail("passage", f"p{i}") for i in range(9)))
    lines = [line.strip() for line in printed(told(many))]
    assert "→ 4 more" in lines


def test_a_turn_without_time_has_bars_all_the_same() -> None:
    assert len(printed(told(step("verify", 0.0, 0.0)))) == 3


def test_answers_keep_their_steps_and_json_has_them() -> None:
    answer = Answer.of(whole_turn())
    assert answer.steps == STEPS
    assert Answer.of(told(DONE)).steps == ()
    shown = as_json(whole_turn()[5])
    assert isinstance(shown, dict)
    assert (shown["event"], shown["name"], shown["round"], shown["branch"]) == ("step", "rerank", 1, "2")
    assert shown["outputs"] == [
        {"label": "passage", "text": "Velmora: 45", "score": 0.5, "evidence_id": "1", "region": None},
    ]


def test_what_was_skipped_is_named_with_its_round() -> None:
    out = io.StringIO()
    skipped = (SkippedStep("rerank", "BUDGET", 2), SkippedStep("rerank", "FAILED", 3), SkippedStep("judge", "BUDGET"))
    events = told(replace(DONE, skipped=skipped))
    for event in events:
        TurnView(Console(file=out, width=100)).event(event)
    assert "skipped  rerank (budget, round 2), rerank (failed, round 3), judge (budget)" in out.getvalue()
    shown = as_json(events[-1])
    assert isinstance(shown, dict)
    assert shown["skipped"] == [
        {"step": "rerank", "reason": "BUDGET", "round": 2},
        {"step": "rerank", "reason": "FAILED", "round": 3},
        {"step": "judge", "reason": "BUDGET", "round": 0},
    ]


def test_reasons_of_a_later_server_are_shown_as_they_are() -> None:
    assert (why("BUDGET"), why("TOO_DARK"), why("")) == ("no time", "too_dark", "")
