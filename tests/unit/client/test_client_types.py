"""Messages become the SDK's values, and back; what a later server sends does not break it."""

import grpc
import pytest
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2

from quizglass.convert import event_message, event_value
from quizglass.v1 import assistant_pb2, knowledge_pb2, types_pb2
from quizglass.values import SkippedStep
from quizglass_client import (
    AddReport,
    Answer,
    AnswerDelta,
    AsyncSession,
    Cancelled,
    Client,
    ClientError,
    DeadlineExceeded,
    Entry,
    Event,
    EvidenceFound,
    InvalidRequest,
    NotFound,
    NotPermitted,
    NotSupported,
    Overloaded,
    Plan,
    Refused,
    ServerError,
    ServerUnavailable,
    Unauthenticated,
    errors,
    requests,
)
from quizglass_client.batches import batches
from quizglass_client.channel import is_local, options, service_config
from quizglass_client.timing import Limits
from tests.support.rpc_fakes import EVENTS, png


def events():
    for seq, event in enumerate(EVENTS, 2):
        message = event_message(event, 1_500_000)
        message.turn_id, message.seq = "t" * 32, seq
        yield Event(message.turn_id, message.seq, message.elapsed_us / 1e6, event_value(message))


def test_a_turn_is_gathered():
    answer = Answer.of(list(events()))
    assert answer.text == "45 crowns"
    assert not answer.abstained
    assert answer.plan.plan is Plan.BOTH
    assert answer.plan.probabilities == {Plan.NONE: 0.0625, Plan.TEXT: 0.1875, Plan.BOTH: 0.75}
    assert answer.query.text == "How much does the Velmora cost?"
    assert [item.origin for item in answer.evidence] == ["text_search"]
    assert (answer.verdict.outcome, answer.verdict.min_token_probability) == ("supported", 0.5)
    assert (answer.done.finish_reason, answer.done.abstain_reason) == ("complete", "")
    assert answer.done.skipped == (SkippedStep("rerank", "BUDGET"),)
    assert (answer.done.timings[0].duration, answer.done.timings[0].engine) == (0.002, 0.0015)
    assert answer.done.total == 1.5
    assert answer.done.citations[0].end == 9


@pytest.mark.parametrize("count", [0, 1, 6])
def test_a_turn_that_is_not_over_is_no_answer(count):
    with pytest.raises(ValueError, match="done"):
        Answer.of(list(events())[:count])


def test_an_event_of_a_later_version_is_left_out():
    assert event_value(assistant_pb2.AskResponse(turn_id="t", seq=1)) is None


def test_values_of_a_later_version_are_unknown_and_no_failure():
    verdict = assistant_pb2.AskResponse(verdict=assistant_pb2.Verdict(outcome=77))
    assert event_value(verdict).outcome == ""
    plan = assistant_pb2.AskResponse(plan=assistant_pb2.PlanMade(plan=77))
    assert event_value(plan).plan is None
    done = assistant_pb2.AskResponse(done=assistant_pb2.Done(finish_reason=77, abstain_reason=78))
    assert event_value(done).finish_reason == ""
    found = assistant_pb2.AskResponse(evidence=assistant_pb2.EvidenceFound(items=[types_pb2.Evidence(origin=9)]))
    assert isinstance(payload := event_value(found), EvidenceFound)
    assert payload.items[0].origin == ""


def test_values_are_frozen():
    with pytest.raises(AttributeError):
        AnswerDelta("x").text = "y"


def ask(**fields):
    given = {
        "question": "q",
        "picture": None,
        "history": (),
        "policy": "",
        "budget": None,
        "session": b"",
        "session_id": "",
    }
    return requests.ask(**given | fields)


def test_a_request_has_what_was_given():
    request = ask(picture=b"png", history=[("a", "b")], policy="both", budget=2.5, session=b"t", session_id="s")
    assert request.frames[0].encoded == b"png"
    assert (request.history[0].question, request.history[0].answer) == ("a", "b")
    assert (request.policy, request.budget_us, request.session_id, request.session) == ("both", 2_500_000, "s", b"t")
    assert ask().budget_us == 0
    assert ask(budget=1e-9).budget_us == 1
    assert (ask().max_answer_tokens, ask(max_answer_tokens=7).max_answer_tokens) == (0, 7)
    with pytest.raises(InvalidRequest, match="max_answer_tokens: -1 is no number of tokens"):
        ask(max_answer_tokens=-1)


@pytest.mark.parametrize("budget", [0, -1, float("nan"), float("inf"), 1e9])
def test_a_budget_that_is_no_time_is_refused_before_anything_is_sent(budget):
    with pytest.raises(InvalidRequest) as caught:
        ask(budget=budget)
    assert caught.value.field == "budget"
    assert caught.value.message == f"budget: {budget} is not above 0 and at most 86400 seconds"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"question": "\ud800"}, "question"),
        ({"policy": "\ud800"}, "policy"),
        ({"session_id": "\ud800"}, "session_id"),
        ({"history": [("a", "b"), ("c", "\ud800")]}, "history[1].answer"),
    ],
)
def test_text_that_cannot_be_encoded_is_refused_by_field(fields, field):
    with pytest.raises(InvalidRequest) as caught:
        ask(**fields)
    assert caught.value.field == field


class Failure(grpc.RpcError):
    def __init__(self, code, *details, text="it failed", metadata=()):
        self._code, self._text, self._metadata = code, text, metadata
        packed = []
        for detail in details:
            packed.append(any_pb2.Any())
            packed[-1].Pack(detail)
        self._status = status_pb2.Status(code=code.value[0], message=text, details=packed)

    def code(self):
        return self._code

    def details(self):
        return self._text

    def initial_metadata(self):
        return self._metadata

    def trailing_metadata(self):
        return (("other", "text"), ("grpc-status-details-bin", self._status.SerializeToString()))


UNREACHED = "failed to connect to all addresses"

CLASSES = {
    grpc.StatusCode.UNAVAILABLE: ServerUnavailable,
    grpc.StatusCode.RESOURCE_EXHAUSTED: Overloaded,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.CANCELLED: Cancelled,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: NotPermitted,
    grpc.StatusCode.INVALID_ARGUMENT: InvalidRequest,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.FAILED_PRECONDITION: NotSupported,
    grpc.StatusCode.UNIMPLEMENTED: NotSupported,
}


@pytest.mark.parametrize("code", grpc.StatusCode)
def test_every_status_is_an_error_of_the_tree(code):
    error = errors.from_rpc(Failure(code))
    assert type(error) is CLASSES.get(code, ServerError)
    assert isinstance(error, ClientError)
    assert (error.status, error.message, error.reason) == (code.name, "it failed", "")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            f"{UNREACHED}; last error: refused",
            "no server was reached; start it, or give the address of its gRPC port (",
        ),
        (
            "errors resolving glasses:1: [...]",
            "no server was reached; start it, or give the address of its gRPC port (",
        ),
        (f"{UNREACHED}; (Trying to connect an http1.x server)", "what answers there speaks HTTP, not gRPC; give"),
    ],
)
def test_a_server_that_is_not_reached_says_what_to_do(text, told):
    error = errors.from_rpc(Failure(grpc.StatusCode.UNAVAILABLE, text=text))
    assert error.message.startswith(told)
    assert error.message.endswith(f"({text})")
    assert not error.begun


@pytest.mark.parametrize(
    ("failure", "begun"),
    [
        (Failure(grpc.StatusCode.UNAVAILABLE, error_details_pb2.ErrorInfo(reason="STOPPING")), False),
        (Failure(grpc.StatusCode.UNAVAILABLE, error_details_pb2.ErrorInfo(reason="ENGINE_LOST")), True),
        (Failure(grpc.StatusCode.UNAVAILABLE, text=f"{UNREACHED}; last error: ..."), False),
        (Failure(grpc.StatusCode.UNAVAILABLE, text=UNREACHED, metadata=[("quizglass-turn", "7")]), True),
        (Failure(grpc.StatusCode.UNAVAILABLE, text="Cancelling all calls"), False),
        (Failure(grpc.StatusCode.UNAVAILABLE, text="Cancelling all calls", metadata=[("quizglass-turn", "7")]), True),
        (Failure(grpc.StatusCode.UNAVAILABLE, text="Stream removed (Socket closed)"), True),
        (Failure(grpc.StatusCode.INTERNAL, text=UNREACHED), True),
        (Failure(grpc.StatusCode.CANCELLED, text="CANCELLED"), False),
        (Failure(grpc.StatusCode.CANCELLED, text="CANCELLED", metadata=[("quizglass-turn", "7")]), True),
        (Failure(grpc.StatusCode.CANCELLED, text="Locally cancelled by application!"), True),
        (Failure(grpc.StatusCode.INTERNAL), True),
    ],
)
def test_only_a_question_that_surely_no_handler_had_is_not_begun(failure, begun):
    assert errors.from_rpc(failure).begun == begun


def test_a_call_that_a_stopping_server_dropped_is_told_as_unavailable():
    error = errors.from_rpc(Failure(grpc.StatusCode.CANCELLED, text="CANCELLED"))
    assert (type(error), error.status) == (ServerUnavailable, "CANCELLED")


def test_details_are_read():
    info = error_details_pb2.ErrorInfo(reason="INVALID_FIELD", domain="quizglass", metadata={"a": "b"})
    violation = error_details_pb2.BadRequest.FieldViolation(field="question")
    bad = error_details_pb2.BadRequest(field_violations=[violation])
    error = errors.from_rpc(Failure(grpc.StatusCode.INVALID_ARGUMENT, info, bad))
    assert (error.reason, error.metadata, error.field) == ("INVALID_FIELD", {"a": "b"}, "question")


class Proxied(Failure):
    """What a proxy ends a call with, which has its own idea of details."""

    def __init__(self, code, packed):
        super().__init__(code)
        self._packed = packed

    def trailing_metadata(self):
        return (("grpc-status-details-bin", self._packed),)


DAMAGED = any_pb2.Any(type_url="type.googleapis.com/google.rpc.RetryInfo", value=b"\xff")


@pytest.mark.parametrize("packed", [b"\xff", status_pb2.Status(details=[DAMAGED]).SerializeToString()])
def test_a_status_whose_details_cannot_be_read_is_told_as_it_is(packed):
    error = errors.from_rpc(Proxied(grpc.StatusCode.RESOURCE_EXHAUSTED, packed))
    assert (type(error), error.status, error.message) == (Overloaded, "RESOURCE_EXHAUSTED", "it failed")
    assert (error.reason, error.retry_after) == ("", None)


@pytest.mark.parametrize("seconds", [0, 1.5])
def test_a_delay_of_nothing_is_a_delay(seconds):
    retry = error_details_pb2.RetryInfo()
    retry.retry_delay.FromMicroseconds(round(seconds * 1e6))
    assert errors.from_rpc(Failure(grpc.StatusCode.RESOURCE_EXHAUSTED, retry)).retry_after == seconds
    assert errors.from_rpc(Failure(grpc.StatusCode.RESOURCE_EXHAUSTED)).retry_after is None


def test_the_tree_in_the_docstring_is_the_tree():
    drawn = {line.split("── ")[1].split()[0] for line in errors.__doc__.splitlines() if "── " in line}
    assert drawn == {cls.__name__ for cls in ClientError.__subclasses__()}


def entry(id, **fields):
    return Entry(id, "title", **fields)


def test_batches_keep_their_order_and_positions(tmp_path):
    entries = [entry("a"), entry("b", pictures=(tmp_path / "none.png",)), entry("c", text="\ud800"), entry("d")]
    first, second = batches(entries, 100, 3)
    assert [request.entry.id for request in first.requests] == ["a"]
    assert [(r.index, r.id, r.field) for r in first.refused] == [(1, "b", "pictures[0]"), (2, "c", "text")]
    assert second.indexes == [3]
    response = knowledge_pb2.AddEntriesResponse(refused=[knowledge_pb2.RefusedEntry(id="d", index=0, field="id")])
    assert second.report(response) == AddReport(0, (Refused(3, "d", "id", ""),))
    assert first.report(knowledge_pb2.AddEntriesResponse(added=1)).added == 1


def test_batches_are_made_as_they_are_sent():
    taken = []

    def endless():
        while True:
            taken.append(1)
            yield entry("a")

    pieces = batches(endless(), 0, 5)
    assert len(next(pieces).requests) == 5
    assert len(taken) == 5
    assert list(batches([], 0, 5)) == []
    with pytest.raises(ValueError, match="batch"):
        next(batches([], 0, 0))


def test_an_entry_too_large_for_a_message_is_refused(monkeypatch):
    monkeypatch.setattr("quizglass_client.batches.MAX_SENT_BYTES", 1000)
    (batch,) = batches([entry("a", text="x" * 2000), entry("b", pictures=(png(),))], 0, 5)
    assert [(r.index, r.field) for r in batch.refused] == [(0, "pictures")]
    assert batch.indexes == [1]


@pytest.mark.parametrize(
    ("target", "local"),
    [
        ("127.0.0.1:50061", True),
        ("localhost:1", True),
        ("[::1]:1", True),
        ("unix:/tmp/s", True),
        ("10.0.0.2:1", False),
        ("glasses.example:50061", False),
        ("dns:///localhost:1", True),
    ],
)
def test_only_other_machines_are_reached_through_a_proxy(target, local):
    assert is_local(target) is local
    assert (("grpc.enable_http_proxy", 0) in options(target)) is local


@pytest.mark.parametrize(
    "target", ["http://127.0.0.1:50062", "localhost", "127.0.0.1", ":50061", "glasses:", "::1", "::1:50061", "h:x", ""]
)
def test_what_is_no_address_is_told_before_anybody_is_looked_for(target):
    with pytest.raises(InvalidRequest, match=r"give HOST:PORT of the gRPC port, such as 127\.0\.0\.1:50061") as caught:
        Client(target)
    assert caught.value.field == "target"
    with pytest.raises(InvalidRequest, match="give HOST:PORT"):
        AsyncSession(target)


@pytest.mark.parametrize(
    "target", ["[::1]:50061", "unix:/tmp/s", "unix:s", "dns:///glasses:1", "dns:glasses", "g.example:1"]
)
def test_other_addresses_that_grpc_knows_are_taken_as_they_are(target):
    with Client(target) as client:
        assert client.target == target


def test_retries_come_from_the_file_beside_the_protos():
    assert '"retryPolicy"' in service_config()
    assert ("grpc.service_config", service_config()) in options("x:1")


def test_a_turn_with_a_budget_gets_its_time_and_a_little():
    assert Limits(30.0).turn(None) == 30.0
    assert Limits(30.0).turn(60.0) == 65.0
    assert Limits(None).turn(None) is None
    assert Limits(1.0).health == 1.0
    assert Limits(None).health == 5.0
