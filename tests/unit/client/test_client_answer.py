"""What `quizglass ask` prints of an answer."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from quizglass.values import (
    AbstainReason,
    Accepted,
    AnswerDelta,
    AnswerKind,
    Citation,
    Done,
    FinishReason,
    SkippedStep,
    TurnEvent,
    Verdict,
    VerdictOutcome,
)
from quizglass_client.terminal.answer import UNCONFIRMED, AnswerView
from quizglass_client.types import Event

CITED = (Citation("2", "aloe.md", "Gerda's aloe", 0, 5), Citation("2", "aloe.md", "Gerda's aloe", 6, 9))

EMPTY = "EMPTY_KNOWLEDGE"


def shown(*payloads: TurnEvent, terminal: bool = True) -> list[str]:
    out = io.StringIO()
    view = AnswerView(Console(file=out, width=40, force_terminal=terminal, color_system=None))
    for at, payload in enumerate((Accepted("quote", (), 10.0), *payloads)):
        view.event(Event("0" * 32, at, 0.0, payload))
    return out.getvalue().splitlines()


def checked(outcome: VerdictOutcome, kind: AnswerKind = AnswerKind.WRITTEN, **notes: str) -> Verdict:
    return Verdict(outcome, 0.0, 0.0, notes, kind)


def done(answer: str, citations: tuple[Citation, ...] = (), reason: AbstainReason = AbstainReason.NONE) -> Done:
    return Done(answer, FinishReason.COMPLETE, citations, reason, total=0.042)


def test_a_person_sees_the_answer_and_one_line_of_source() -> None:
    lines = shown(
        AnswerDelta(" Every three"),
        AnswerDelta(" weeks, but less often in winter, when it rests."),
        checked(VerdictOutcome.SUPPORTED, AnswerKind.QUOTED),
        done("Every three weeks, but less often in winter, when it rests.", CITED),
    )
    assert lines == [
        "Every three weeks, but less often in winter, when it rests.",
        "from Gerda's aloe (aloe.md)  42 ms",
    ]


def test_a_source_is_named_as_the_entry_says_and_else_by_the_entry() -> None:
    told = (Citation("2", "K-che/tee.md-cda8", "Tee", 0, 3, "Küche/tee.md"),)
    assert shown(AnswerDelta("May"), checked(VerdictOutcome.SUPPORTED), done("May", told))[1] == (
        "from Tee (Küche/tee.md)  42 ms"
    )


def test_an_empty_store_is_said_with_what_to_do() -> None:
    over = replace(done("I don't know", reason=AbstainReason.NO_EVIDENCE), skipped=(SkippedStep("text_search", EMPTY),))
    assert shown(over)[1].startswith("nothing is stored yet; quizglass knowledge add photo.jpg")


def test_a_pipe_gets_the_answer_alone() -> None:
    verdict = checked(VerdictOutcome.SUPPORTED)
    assert shown(AnswerDelta("May"), verdict, done("May", CITED), terminal=False) == ["May"]


@pytest.mark.parametrize(
    ("verdict", "source"),
    [
        (checked(VerdictOutcome.UNSUPPORTED), UNCONFIRMED),
        (checked(VerdictOutcome.UNSUPPORTED, unanswered="And why?"), "nothing that was found answers: And why?"),
        (checked(VerdictOutcome.UNCHECKED), "from the model's memory"),
        (checked(VerdictOutcome.UNCHECKED, AnswerKind.GUESSED), None),
        (checked(VerdictOutcome.SUPPORTED, disputed="June [3]"), "others say otherwise: June [3]"),
    ],
)
def test_what_is_not_confirmed_is_said(verdict: Verdict, source: str | None) -> None:
    assert shown(AnswerDelta("May"), verdict, done("May"))[1] == (f"{source}  42 ms" if source else "42 ms")


@pytest.mark.parametrize(
    ("verdict", "warned"),
    [
        (checked(VerdictOutcome.UNSUPPORTED), [UNCONFIRMED]),
        (checked(VerdictOutcome.SUPPORTED, disputed="June [3]"), ["others say otherwise: June [3]"]),
        (checked(VerdictOutcome.SUPPORTED), []),
    ],
)
def test_beside_a_pipe_it_is_said_where_errors_go(verdict: Verdict, warned: list[str]) -> None:
    told: list[str] = []
    out = io.StringIO()
    view = AnswerView(Console(file=out, force_terminal=False), told.append)
    for payload in (AnswerDelta("May"), verdict, done("May")):
        view.event(Event("0" * 32, 1, 0.0, payload))
    assert (out.getvalue(), told) == ("May\n", warned)


def test_an_abstention_has_its_reason() -> None:
    end = done("I don't know", reason=AbstainReason.NO_EVIDENCE)
    lines = shown(AnswerDelta("I don't know"), checked(VerdictOutcome.ABSTAINED), end)
    assert lines == ["I don't know", "nothing relevant enough was found  42 ms"]


def test_control_characters_do_not_reach_the_terminal() -> None:
    cited = (Citation("1", "x\x1b]0;", "T\x07itle", 0, 1),)
    text = "\n".join(shown(AnswerDelta("a\x1b[2J"), checked(VerdictOutcome.SUPPORTED), done("a\x1b[2J", cited)))
    assert "\x1b" not in text
    assert "\x07" not in text


def test_an_answer_that_broke_off_is_no_part_of_the_next() -> None:
    lines = shown(AnswerDelta("Ma"), Accepted("quote", (), 10.0), AnswerDelta("June"), done("June"), terminal=False)
    assert "".join(lines).removeprefix("Ma") == "June"
