"""Between domain values and messages nothing is lost, and no value of an enum is forgotten."""

from dataclasses import replace
from typing import get_args

import pytest

from quizglass.v1 import assistant_pb2, knowledge_pb2, types_pb2
from quizglass_client.convert import evidence
from quizglass_server.domain import turns as domain
from quizglass_server.domain.entries import Entry
from quizglass_server.errors import InvalidInput
from quizglass_server.rpc import checks, convert
from tests.support.rpc_fakes import EVENTS, FOUND


@pytest.mark.parametrize("plan", domain.Plan)
def test_every_plan(plan):
    message = convert.event_message(domain.PlanMade(domain.PlanDecision(plan, "fixed")), 5)
    assert types_pb2.Plan.Name(message.plan.plan) == f"PLAN_{plan.name}"
    assert message.elapsed_us == 5
    assert not message.plan.scores


@pytest.mark.parametrize("origin", domain.Origin)
def test_every_origin(origin):
    message = convert.evidence_message(domain.Evidence("1", origin, "", "", "words"))
    assert types_pb2.Evidence.Origin.Name(message.origin) == f"ORIGIN_{origin.name}"


@pytest.mark.parametrize("outcome", domain.VerdictOutcome)
def test_every_outcome(outcome):
    message = convert.event_message(domain.Verdict(outcome, 0.25, 0.5), 0)
    assert assistant_pb2.Verdict.Outcome.Name(message.verdict.outcome) == f"OUTCOME_{outcome.name}"


def test_a_verdict_says_how_the_answer_came_about():
    told = {"memory": "1974", "external": "1981", "believed": "external", "why": "the article is about it"}
    message = convert.event_message(domain.Verdict(domain.VerdictOutcome.SUPPORTED, 0.5, 0.5, told), 0)
    assert dict(message.verdict.notes) == told


@pytest.mark.parametrize("finish", domain.FinishReason)
def test_every_finish_reason(finish):
    message = convert.event_message(domain.Done("", finish), 9)
    assert assistant_pb2.Done.FinishReason.Name(message.done.finish_reason) == f"FINISH_REASON_{finish.name}"
    assert message.done.total_us == 9


@pytest.mark.parametrize("reason", [None, *domain.AbstainReason])
def test_every_abstain_reason(reason):
    message = convert.event_message(domain.Done("", domain.FinishReason.COMPLETE, abstain_reason=reason), 0)
    name = reason.name if reason else "UNSPECIFIED"
    assert assistant_pb2.Done.AbstainReason.Name(message.done.abstain_reason) == f"ABSTAIN_REASON_{name}"


def test_every_event_has_its_message():
    later = (
        domain.Decided("act", "text", "act", (("text", 0.75), ("none", 0.25))),
        domain.Queries("split", ("Who?", "When?")),
        domain.Provisional("45"),
        domain.Confirmed(),
        domain.Withdrawn(),
    )
    events = (domain.Accepted("both", (bytes(32),), 5_000_000), *EVENTS, *later)
    made = [convert.event_message(event, 0).WhichOneof("event") for event in events]
    assert made[:8] == ["accepted", "plan", "query", "evidence", "answer_delta", "answer_delta", "verdict", "done"]
    assert made[8:] == ["decided", "queries", "provisional", "confirmed", "withdrawn"]
    decided, queries = (convert.event_message(event, 0) for event in later[:2])
    assert [(score.label, score.probability) for score in decided.decided.scores] == [("text", 0.75), ("none", 0.25)]
    assert (decided.decided.by, decided.decided.label, decided.decided.decided_by) == ("act", "text", "act")
    assert (queries.queries.task, list(queries.queries.texts)) == ("split", ["Who?", "When?"])
    assert {type(event) for event in events} == set(get_args(domain.TurnEvent))
    assert convert.event_message(domain.EvidenceFound(()), 0).WhichOneof("event") == "evidence"


def test_events_say_their_round_and_branch():
    message = convert.event_message(domain.AnswerDelta("45", round=2, branch="1.1"), 0)
    assert (message.round, message.branch) == (2, "1.1")
    skipped, timing = domain.SkippedStep("act", "BUDGET", 3), domain.StageTiming("act", 9, 1, 2)
    finish = domain.FinishReason.COMPLETE
    done = convert.event_message(domain.Done("", finish, skipped=(skipped,), timings=(timing,)), 0).done
    assert (done.skipped[0].round, done.timings[0].round) == (3, 2)


def test_evidence_keeps_every_field():
    shown = replace(FOUND, picture=b"p" * 32)
    message = convert.evidence_message(shown)
    for field in message.DESCRIPTOR.fields:
        if field.name not in ("origin", "picture_sha256"):
            assert getattr(message, field.name) == getattr(shown, field.name), field.name
    assert (message.picture_sha256, convert.evidence_message(FOUND).picture_sha256) == (b"p" * 32, b"")
    assert (evidence(message).picture, evidence(convert.evidence_message(FOUND)).picture) == (b"p" * 32, None)


def test_entries_come_back_as_they_went():
    entry = Entry("a", "A", "cap", "car", "text", {"year": "1974"}, "here")
    message = convert.entry_message(entry)
    assert convert.entry_value(message).entry == entry
    message.pictures.append(b"png")
    assert convert.entry_value(message).pictures == (b"png",)
    assert convert.entry_value(knowledge_pb2.Entry()).entry == Entry("", "")


def test_text_is_trimmed_and_loses_control_characters():
    assert checks.text("  what\tis\nthis\x00\x1b[2J? ", "question", longest=40) == "what is this[2J?"
    assert checks.text("<|im_end|> ist ein Token ✓", "question", longest=40) == "<|im_end|> ist ein Token ✓"
    assert checks.text("", "policy", longest=5, required=False) == ""


@pytest.mark.parametrize("value", ["", "  \n", "\x00\x07", "\u200b", "\u202e \u2066", "x" * 41])
def test_text_without_anything_to_read_or_too_long_is_refused(value):
    with pytest.raises(InvalidInput) as caught:
        checks.text(value, "question", longest=40)
    assert caught.value.field == "question"


@pytest.mark.parametrize(("value", "sound"), [(0, True), (5, True), (-1, False), (6, False)])
def test_numbers_are_within_their_range(value, sound):
    if sound:
        assert checks.within(value, 0, 5, "limit") == value
    else:
        with pytest.raises(InvalidInput, match="limit"):
            checks.within(value, 0, 5, "limit")
