"""What a person sees of a turn."""

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from quizglass import values
from quizglass.convert import event_message, event_value
from quizglass.text import plain
from quizglass.values import AbstainReason, AnswerDelta, Done, Evidence, FinishReason, SkippedStep
from quizglass_client import Answer, Citation, Overloaded
from quizglass_client.terminal.output import as_json, print_json, report
from quizglass_client.terminal.show import TurnView, evidence_table, marked
from quizglass_client.types import Event
from tests.support.rpc_fakes import EVENTS


def cite(name, start, end):
    return Citation(name, f"entry-{name}", f"Title {name}", start, end)


def finished(answer, *, citations=(), abstain="", finish="complete", skipped=None):
    return Done(
        answer,
        FinishReason(finish),
        tuple(citations),
        AbstainReason(abstain),
        tuple(SkippedStep(step, reason) for step, reason in (skipped or {}).items()),
        prompt_tokens=20,
        answer_tokens=2,
        total=0.5,
    )


def told_of(event):
    """An event of the server as the SDK gives it."""
    return Event("t" * 32, 1, 0.1, event_value(event_message(event, 1)))


def shown(*payloads, width=100):
    """Lines on a terminal, without trailing blanks."""
    out = io.StringIO()
    view = TurnView(Console(file=out, width=width))
    for seq, payload in enumerate(payloads, 1):
        view.event(Event("t" * 32, seq, 0.1, payload))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def turn():
    return [event_value(event_message(event, 1_500_000)) for event in EVENTS]


@pytest.mark.parametrize(
    ("citations", "expected"),
    [
        ([], "45 crowns"),
        ([cite("2", 0, 9)], "45 crowns [2]"),
        ([cite("1", 0, 2), cite("2", 3, 9)], "45 [1] crowns [2]"),
        ([cite("1", 0, 9), cite("2", 3, 9), cite("1", 3, 9)], "45 crowns [1][2]"),
        ([cite("1", 0, 99), cite("2", 0, -5)], " [2]45 crowns [1]"),
    ],
)
def test_marks_stand_behind_what_they_support(citations, expected):
    assert marked("45 crowns", citations) == expected


def test_a_turn_shows_plan_query_evidence_answer_citation_and_times():
    lines = shown(*turn())
    text = "\n".join(lines)
    assert lines[0].startswith("plan     both  by planner")
    assert "none 0.06  text 0.19  both 0.75" in lines[0]
    assert lines[1] == "query    How much does the Velmora cost?  (knowing what the picture shows)"
    assert any("[1]" in line and "Velmora" in line and "0.75" in line and "0.50" in line for line in lines)
    assert "answer   45 crowns" in lines
    assert "cited    45 crowns [1]" in lines
    assert "         [1] Velmora  velmora" in lines
    assert "check    supported" in text
    assert "skipped  rerank (budget)" in lines
    assert lines[-1] == "time     1500 ms  generate 2"


def test_an_answer_without_citations_is_not_repeated():
    lines = shown(AnswerDelta(" A red"), AnswerDelta(" car"), finished("A red car"))
    assert [line for line in lines if "red car" in line] == ["answer   A red car"]


def test_a_history_that_did_not_fit_is_told_of():
    done = event_value(event_message(replace(EVENTS[-1], history_left_out=7), 1))
    assert "history  the oldest 7 did not fit and were left out" in shown(done)
    assert not any("history" in line for line in shown(*turn()))


def test_a_verdict_says_how_the_answer_came_about():
    told = values.Verdict(values.VerdictOutcome.SUPPORTED, 0.5, 0.75, {"believed": "external", "why": "it says so"})
    lines = shown(event_value(event_message(told, 1)))
    assert "         believed: external" in lines
    assert "         why: it says so" in lines


def test_an_abstention_says_why():
    lines = shown(AnswerDelta(" nobody"), finished("I don't know", abstain="no_evidence"))
    assert "answer   I don't know" in lines
    assert "because  nothing relevant enough was found" in lines


def test_a_turn_that_ran_out_of_time_says_so():
    assert "ended    by budget" in shown(AnswerDelta("45"), finished("45", finish="budget"))


def test_the_next_turn_starts_afresh():
    lines = shown(*turn(), *turn())
    assert lines[: len(lines) // 2] == lines[len(lines) // 2 :]


def test_words_of_others_cannot_steer_the_terminal():
    evil = "\x1b[2J\x07[red]Velmora[/red]\x9b31m"
    item = Evidence("1", "read_text", "", evil, evil, 0, 0, "", True)
    out = io.StringIO()
    Console(file=out, width=200).print(evidence_table([item]))
    assert "\x1b" not in out.getvalue()
    assert "\x9b" not in out.getvalue()
    assert "[red]Velmora[/red]" in out.getvalue()
    assert not any("\x1b" in line for line in shown(AnswerDelta(evil), finished(evil, citations=[cite(evil, 0, 3)])))
    assert plain("a\tb\nc\x00") == "a b\nc "


def test_text_cannot_be_turned_around_on_the_terminal() -> None:
    assert plain("is \u202egnp.exe\u202c \u2066safe\u2069\u200f") == "is gnp.exe safe"
    assert plain("שלום עולם") == "שלום עולם"


def test_what_the_view_shows_is_what_the_answer_holds():
    events = [told_of(event) for event in EVENTS]
    assert Answer.of(events).text in "\n".join(shown(*(event.payload for event in events)))


def test_json_steers_no_terminal(capsys):
    print_json({"answer": "\x1b[2J \x9b2J \x7f \u00e9"})
    out = capsys.readouterr().out
    assert out.strip().isprintable()
    assert json.loads(out) == {"answer": "\x1b[2J \x9b2J \x7f \u00e9"}


def test_what_later_policies_tell_is_shown_with_its_round_and_branch():
    told = (
        values.Decided("act", "text", "prompt", {"text": 0.75, "none": 0.25}, round=2),
        values.Queries("split", ("Who\x1b made it?", "When?"), branch="1"),
        values.Provisional("45 crowns"),
        values.Withdrawn(),
        values.Provisional("1974"),
        values.Confirmed(),
    )
    events = [told_of(event) for event in told]
    out = io.StringIO()
    for event in events:
        TurnView(Console(file=out, width=100)).event(event)
    assert [line.rstrip() for line in out.getvalue().splitlines()] == [
        "decided  text  by act (prompt)  text 0.75  none 0.25  round 2",
        "wrote    Who  made it?; When?  for split  branch 1",
        "draft    45 crowns  may still be taken back",
        "draft    is taken back",
        "draft    1974  may still be taken back",
        "draft    is the answer",
    ]
    lines = [as_json(event) for event in events]
    assert [line["event"] for line in lines] == [
        *("decided", "queries", "provisional", "withdrawn", "provisional", "confirmed"),
    ]
    assert (lines[0]["round"], lines[1]["branch"], "round" in lines[1], "branch" in lines[0]) == (2, "1", False, False)
    assert lines[0]["probabilities"] == {"text": 0.75, "none": 0.25}


@pytest.mark.parametrize("reason", [reason for reason in AbstainReason if reason])
def test_every_reason_for_knowing_nothing_is_said_in_words(reason):
    done = values.Done("I don't know", values.FinishReason.COMPLETE, abstain_reason=reason)
    (line,) = [line for line in shown(event_value(event_message(done, 1))) if line.startswith("because")]
    assert reason.value != line.removeprefix("because").strip()


@pytest.mark.parametrize(("retry_after", "advice"), [(None, ""), (2.0, "; try again in 2 s")])
def test_what_there_is_never_room_for_is_not_to_be_tried_again(
    retry_after: float | None, advice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    error = Overloaded("send less at once")
    error.retry_after = retry_after
    report(error, "localhost:50051")
    assert capsys.readouterr().err == f"quizglass: send less at once{advice}\n"
