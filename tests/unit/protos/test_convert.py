"""Between values and messages nothing is lost, and no value of an enumeration is forgotten."""

import dataclasses
import subprocess
import sys

import pytest

from quizglass import values
from quizglass.convert import _fields, event_message, event_name, event_value, to_message, to_value, words
from quizglass.v1 import assistant_pb2, knowledge_pb2, memory_pb2, types_pb2
from quizglass.values import Decided, Done, EvidenceFound, FinishReason, PlanMade, Verdict
from quizglass_server.domain.turns import Evidence
from tests.support.rpc_fakes import EVENTS, FOUND

MESSAGES = {
    values.Evidence: types_pb2.Evidence,
    values.Citation: assistant_pb2.Citation,
    values.SkippedStep: assistant_pb2.SkippedStep,
    values.StageTiming: types_pb2.StageTiming,
    values.Entry: knowledge_pb2.Entry,
    values.Refused: knowledge_pb2.RefusedEntry,
    values.Deleted: knowledge_pb2.DeleteEntryResponse,
    values.Filter: knowledge_pb2.EntryFilter,
    values.Sighting: memory_pb2.Sighting,
    values.MemoryStats: memory_pb2.GetMemoryStatsResponse,
    values.RoleCapability: assistant_pb2.RoleCapability,
    values.Region: assistant_pb2.Region,
    values.StepDetail: assistant_pb2.StepDetail,
} | {
    getattr(values, field.message_type.name): getattr(assistant_pb2, field.message_type.name)
    for field in assistant_pb2.AskResponse.DESCRIPTOR.oneofs_by_name["event"].fields
}
ENUMS = {
    values.Plan: types_pb2.Plan,
    values.Origin: types_pb2.Evidence.Origin,
    values.VerdictOutcome: assistant_pb2.Verdict.Outcome,
    values.FinishReason: assistant_pb2.Done.FinishReason,
    values.AbstainReason: assistant_pb2.Done.AbstainReason,
    values.SearchMode: knowledge_pb2.SearchMode,
    values.Order: memory_pb2.SightingOrder,
}
LATER = (
    values.Accepted("both", (bytes(32),), 5.0),
    Decided("act", "text", "act", {"text": 0.75, "none": 0.25}),
    values.Queries("split", ("Who?", "When?")),
    values.Provisional("45"),
    values.Confirmed(),
    values.Withdrawn(),
    values.StepEnded("verify"),
    values.StepEnded(
        *("embed", "image_encoder", -0.5, 0.25, 0.125),
        inputs=(values.StepDetail("part", region=values.Region(0.25, 0.0, 0.75, 1.0)),),
        outputs=(values.StepDetail("passage", "Velmora", 0.0, "1"), values.StepDetail("label")),
        reason="BUDGET",
    ),
)


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.__name__)
def test_every_field_of_a_message_is_one_of_its_value(kind):
    met = {field.wire for field in _fields(kind, MESSAGES[kind])}
    given_apart = {values.Entry: {"pictures"}}
    assert set(MESSAGES[kind].DESCRIPTOR.fields_by_name) - met == given_apart.get(kind, set())


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.__name__)
def test_every_field_of_a_value_is_one_of_its_message(kind):
    met = {field.name for field in _fields(kind, MESSAGES[kind])}
    said_elsewhere = {"id"} if kind is values.Deleted else set()
    if issubclass(kind, values.TurnEvent):
        said_elsewhere = {"round", "branch"}
    assert {field.name for field in dataclasses.fields(kind)} - met == said_elsewhere


@pytest.mark.parametrize("kind", ENUMS, ids=lambda kind: kind.__name__)
def test_every_word_of_an_enumeration_is_known_on_both_sides(kind):
    assert {member.value for member in kind} | {""} == set(words(ENUMS[kind].DESCRIPTOR))


@pytest.mark.parametrize("event", [*EVENTS, *LATER], ids=event_name)
def test_events_come_back_as_they_went(event):
    placed = dataclasses.replace(event, round=2, branch="1.1")
    message = event_message(placed, 1_500_000)
    assert message.WhichOneof("event") == event_name(event)
    assert (message.elapsed_us, message.round, message.branch) == (1_500_000, 2, "1.1")
    expected = dataclasses.replace(placed, total=1.5) if isinstance(placed, Done) else placed
    if isinstance(expected, EvidenceFound):
        expected = dataclasses.replace(expected, items=tuple(map(sent, expected.items)))
    assert event_value(message) == expected


def sent(evidence):
    return values.Evidence(**{each.name: getattr(evidence, each.name) for each in dataclasses.fields(values.Evidence)})


def test_every_event_of_the_contract_is_tried():
    contract = assistant_pb2.AskResponse.DESCRIPTOR.oneofs_by_name["event"].fields
    assert {event_name(event) for event in (*EVENTS, *LATER)} == {field.name for field in contract}


def test_an_event_without_content_is_still_that_event():
    assert event_message(EvidenceFound(()), 0).WhichOneof("event") == "evidence"


def test_what_is_unsaid_or_of_a_later_version_is_the_first_word():
    assert event_value(assistant_pb2.AskResponse(turn_id="t", seq=1)) is None
    scores = [assistant_pb2.PlanScore(plan=77, probability=0.5), assistant_pb2.PlanScore(plan=2, probability=0.25)]
    assert to_value(assistant_pb2.PlanMade(plan=77, scores=scores), PlanMade) == PlanMade(
        None, "", {values.Plan.IMAGE: 0.25}
    )
    assert to_value(assistant_pb2.Verdict(), Verdict).outcome == ""
    assert to_message(Done("", FinishReason.UNKNOWN), assistant_pb2.Done).finish_reason == 0


def test_steps_own_scores_stay_on_the_server():
    message = to_message(dataclasses.replace(FOUND, coarse_score=0.5), types_pb2.Evidence)
    assert to_value(message, values.Evidence) == sent(FOUND)
    assert isinstance(FOUND, Evidence)


def test_entries_come_back_as_they_went():
    entry = values.Entry("a", "A", "cap", "car", "text", {"year": "1974"}, "here", expires_after=60, text_format="html")
    assert to_value(to_message(entry, knowledge_pb2.Entry), values.Entry) == entry
    assert to_value(knowledge_pb2.Entry(), values.Entry) == values.Entry("", "")


@pytest.mark.parametrize(("number", "word"), [(0, ""), (1, ""), (2, "markdown"), (77, "77")])
def test_a_format_that_is_not_known_is_left_for_the_reader_to_judge(number, word):
    assert to_value(knowledge_pb2.Entry(text_format=number), values.Entry).text_format == word


def test_values_need_no_protobuf():
    code = "import sys, quizglass.values; assert not {'google', 'grpc', 'numpy', 'PIL'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
