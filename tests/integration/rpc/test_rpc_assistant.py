"""AssistantService over a real socket, with a scripted assistant behind it."""

import asyncio
import hashlib

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from quizglass import values
from quizglass.v1 import assistant_pb2, assistant_pb2_grpc, types_pb2
from quizglass_server import errors
from quizglass_server.domain import turns as domain
from tests.support.gate import Gate
from tests.support.rpc_fakes import EVENTS, HeldScript, png, serving

QUESTION = "How much does this cost?"


@pytest.fixture
async def assistant(stage):
    async with grpc.aio.insecure_channel(stage.target) as channel:
        yield assistant_pb2_grpc.AssistantServiceStub(channel)


def request(question=QUESTION, **fields):
    return assistant_pb2.AskRequest(question=question, **fields)


async def collect(call):
    return [event async for event in call]


async def failure(call):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await collect(call)
    return caught.value


def field_of(error):
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    for packed in rpc_status.from_call(error).details:
        bad = error_details_pb2.BadRequest()
        if packed.Unpack(bad):
            assert bad.field_violations[0].description in error.details()
            return bad.field_violations[0].field
    return None


async def test_events_of_a_turn_come_numbered_and_in_order(stage, assistant):
    picture = png()
    events = await collect(assistant.Ask(request(frames=[types_pb2.Frame(encoded=picture)])))
    kinds = [event.WhichOneof("event") for event in events]
    assert kinds == ["accepted", "plan", "query", "evidence", "answer_delta", "verdict", "done"]
    assert [event.seq for event in events] == list(range(1, 8))
    assert {event.turn_id for event in events} == {stage.assistant.turns[0].id}
    elapsed = [event.elapsed_us for event in events]
    assert elapsed == sorted(elapsed)
    accepted, done = events[0].accepted, events[-1].done
    assert accepted.policy == "planning-agent+"
    assert accepted.frame_sha256 == [hashlib.sha256(picture).digest()]
    assert done.answer == "45 crowns"
    assert [timing.stage for timing in done.timings] == ["decode", "generate"]
    assert done.total_us == elapsed[-1]


async def test_the_turn_has_what_was_asked(stage, assistant):
    history = [assistant_pb2.Exchange(question=" What is it? ", answer="A car.")]
    await collect(assistant.Ask(request(f"  {QUESTION}\n", history=history, policy="both", max_answer_tokens=7)))
    turn = stage.assistant.turns[0]
    assert turn.question == QUESTION
    assert turn.history == (values.Exchange("What is it?", "A car."),)
    assert turn.picture is None
    assert turn.max_answer_tokens == 7
    assert len(turn.id) == 32
    assert stage.assistant.asked[0][0] == "both"


async def test_a_budget_beyond_measure_is_an_hour(assistant):
    events = await collect(assistant.Ask(request(budget_us=2**63 - 1)))
    assert events[0].accepted.budget_us == 3600 * 10**6


@pytest.mark.parametrize(
    ("budget_us", "deadline", "low", "high"),
    [
        (0, None, 10, 10),
        (3_000_000, None, 3, 3),
        (0, 60, 10, 10),
        (0, 9, 6, 9),
        (90_000_000, 60, 40, 60),
        (2_000_000, 60, 2, 2),
    ],
)
async def test_a_deadline_bounds_the_budget(stage, assistant, budget_us, deadline, low, high):
    events = await collect(assistant.Ask(request(budget_us=budget_us), timeout=deadline))
    assert low <= stage.assistant.asked[0][1].total_s <= high
    assert events[0].accepted.budget_us == round(stage.assistant.asked[0][1].total_s * 1e6)


NOTHING = types_pb2.Frame()
BAD = {
    "no question": (request(""), "question"),
    "a blank question": (request(" \n"), "question"),
    "control characters only": (request("\x00\x07"), "question"),
    "20,000 characters": (request("x" * 20_000), "question"),
    "an unknown policy": (request(policy="planing-agent"), "policy"),
    "a negative budget": (request(budget_us=-1), "budget_us"),
    "two frames": (request(frames=[NOTHING, NOTHING]), "frames"),
    "an empty frame": (request(frames=[NOTHING]), "frames[0]"),
    "not a picture": (request(frames=[types_pb2.Frame(encoded=b"GIF89a")]), "frames[0].encoded"),
    "no bytes": (request(frames=[types_pb2.Frame(encoded=b"")]), "frames[0].encoded"),
    "half a hash": (request(frames=[types_pb2.Frame(sha256=bytes(16))]), "frames[0].sha256"),
    "too much history": (request(history=[assistant_pb2.Exchange(question="a", answer="b")] * 9), "history"),
    "history without a question": (
        request(history=[assistant_pb2.Exchange(question="a"), assistant_pb2.Exchange(answer="b")]),
        "history[1].question",
    ),
    "a long old answer": (
        request(history=[assistant_pb2.Exchange(question="a", answer="b" * 2001)]),
        "history[0].answer",
    ),
    "a long session": (request(session_id="s" * 65), "session_id"),
    "negative tokens": (request(max_answer_tokens=-1), "max_answer_tokens"),
    "too many tokens": (request(max_answer_tokens=100_000), "max_answer_tokens"),
}


@pytest.mark.parametrize(("bad", "field"), BAD.values(), ids=BAD)
async def test_a_bad_field_is_named_and_the_next_question_is_answered(stage, assistant, bad, field):
    assert field_of(await failure(assistant.Ask(bad))) == field
    assert not stage.assistant.turns
    assert (await collect(assistant.Ask(request())))[-1].done.answer == "45 crowns"


async def test_a_frame_that_is_not_held_is_not_found(assistant):
    error = await failure(assistant.Ask(request(frames=[types_pb2.Frame(sha256=bytes(32))])))
    assert error.code() is grpc.StatusCode.NOT_FOUND


async def test_a_held_frame_can_be_asked_about_by_its_hash(assistant):
    await collect(assistant.Ask(request(frames=[types_pb2.Frame(encoded=png())])))
    named = types_pb2.Frame(sha256=hashlib.sha256(png()).digest())
    events = await collect(assistant.Ask(request(frames=[named])))
    assert events[-1].done.answer == "45 crowns"


async def test_cancelling_closes_the_turn_and_frees_its_place(stage, assistant):
    held = HeldScript()
    stage.assistant.script = held
    call = assistant.Ask(request())
    assert (await call.read()).seq == 1
    await held.gate.reached.wait()
    call.cancel()
    async with asyncio.timeout(60):
        await held.closed.wait()
    assert await stage.rpc.guard.drain(60)
    assert stage.assistant.admission.running == 0


async def test_leaving_after_one_event_closes_the_turn_too(stage, assistant):
    closed = asyncio.Event()

    async def endless(turn, policy, budget):
        try:
            while True:
                yield values.AnswerDelta("and " * 1000)
                await asyncio.sleep(0)
        finally:
            closed.set()

    stage.assistant.script = endless
    call = assistant.Ask(request())
    async for _ in call:
        break
    call.cancel()
    async with asyncio.timeout(60):
        await closed.wait()


async def test_the_deadline_ends_a_turn_that_does_not_keep_to_it(stage, assistant):
    gate, closed = Gate(), asyncio.Event()

    async def waits(turn, policy, budget):
        try:
            await gate()
            yield EVENTS[0]
        finally:
            closed.set()

    stage.assistant.script = waits
    error = await failure(assistant.Ask(request(), timeout=3))
    assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    async with asyncio.timeout(60):
        await closed.wait()


async def test_an_unexpected_exception_does_not_tell_its_text(stage, assistant, caplog):
    async def breaks(turn, policy, budget):
        yield EVENTS[0]
        raise ValueError("secret path /srv/models")

    stage.assistant.script = breaks
    error = await failure(assistant.Ask(request()))
    assert error.code() is grpc.StatusCode.INTERNAL
    assert "secret" not in repr(error) + str(error.trailing_metadata())
    assert "incident" in error.details()
    assert any("secret" in str(record.exc_info[1]) for record in caplog.records if record.exc_info)


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (errors.EngineLost("the generator died; it is being restarted"), grpc.StatusCode.UNAVAILABLE),
        (errors.EngineFailed("the planner failed"), grpc.StatusCode.INTERNAL),
        (errors.RoleMissing("planner", "planning-agent+"), grpc.StatusCode.FAILED_PRECONDITION),
        (errors.BudgetExceeded("no time"), grpc.StatusCode.DEADLINE_EXCEEDED),
    ],
)
async def test_a_domain_error_in_mid_turn_is_its_status(stage, assistant, raised, code):
    async def breaks(turn, policy, budget):
        yield EVENTS[0]
        raise raised

    stage.assistant.script = breaks
    error = await failure(assistant.Ask(request()))
    assert error.code() is code
    assert error.details() == raised.message


async def test_too_many_turns_are_refused_with_a_delay(stage, assistant):
    gate = Gate()

    async def waits(turn, policy, budget):
        await gate()
        yield EVENTS[-1]

    stage.assistant.script = waits
    running = [aiter(assistant.Ask(request())) for _ in range(4)]
    for events in running:
        assert (await anext(events)).HasField("accepted")
    error = await failure(assistant.Ask(request()))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    retry = error_details_pb2.RetryInfo()
    assert any(packed.Unpack(retry) for packed in rpc_status.from_call(error).details)
    gate.open.set()
    for events in running:
        assert (await collect(events))[-1].done.answer == "45 crowns"


async def test_a_turn_of_no_events_ends_without_breaking(stage, assistant):
    async def silent(turn, policy, budget):
        return
        yield

    stage.assistant.script = silent
    assert [event.WhichOneof("event") for event in await collect(assistant.Ask(request()))] == ["accepted"]


async def test_capabilities_say_what_the_server_can_do(stage, assistant):
    found = await assistant.GetCapabilities(assistant_pb2.GetCapabilitiesRequest())
    assert found.bundle == "starter 0.1.0"
    assert list(found.languages) == ["en"]
    assert found.answers == "write"
    assert list(found.policies) == list(stage.assistant.policies)
    told = found.policy_capabilities
    assert [(each.name, each.servable, list(each.missing), list(each.without)) for each in told] == [
        ("planning-agent+", True, [], []),
        ("none", True, [], []),
        ("both", True, [], ["reranker", "coarse_reranker"]),
        ("draft-first", False, ["tool_router"], []),
    ]
    assert [(role.role, role.engine, role.ready, role.notice) for role in found.roles] == [
        ("planner", "onnx", True, "runs slowly")
    ]
    assert found.limits.max_question_chars == stage.services.settings.max_question_chars
    assert all(getattr(found.limits, field.name) > 0 for field in found.limits.DESCRIPTOR.fields)
    assert found.entries == 0
    assert found.useful_picture_side >= 448


async def test_a_decoded_picture_larger_than_allowed_is_refused(tmp_path):
    async with serving(tmp_path, max_frame_pixels=1000) as stage, grpc.aio.insecure_channel(stage.target) as channel:
        stub = assistant_pb2_grpc.AssistantServiceStub(channel)
        error = await failure(stub.Ask(request(frames=[types_pb2.Frame(encoded=png(64, 48))])))
        assert field_of(error) == "frames[0].encoded"


async def test_many_cancelled_turns_leave_nothing_behind(stage, assistant):
    async def waits(turn, policy, budget):
        yield EVENTS[0]
        await asyncio.Event().wait()

    stage.assistant.script = waits
    for _ in range(100):
        call = assistant.Ask(request())
        assert (await call.read()).seq == 1
        call.cancel()
    assert await stage.rpc.guard.drain(60)
    assert stage.assistant.admission.running == 0


async def test_a_turn_is_explained_where_the_request_says_so(stage, assistant):
    async def script(turn, policy, budget):
        if turn.explain:
            passage = domain.StepDetail("passage", "The Velmora costs 45 crowns.", 0.5, "1")
            yield values.StepEnded("rerank", "reranker", 0.5, 0.25, 0.125, (), (passage,), round=2, branch="1")
        for event in EVENTS:
            yield event

    stage.assistant.script = script
    picture = types_pb2.Frame(encoded=png(60, 40))
    assert not [e for e in await collect(assistant.Ask(request(frames=[picture]))) if e.WhichOneof("event") == "step"]
    events = await collect(assistant.Ask(request(frames=[picture], explain=True)))
    assert [event.WhichOneof("event") for event in events[:3]] == ["accepted", "step", "step"]
    decode, rerank = events[1].step, events[2].step
    assert (decode.name, decode.started_us) == ("decode", -decode.duration_us)
    assert decode.duration_us > 0
    assert (rerank.name, rerank.outputs[0].evidence_id, events[2].round, events[2].branch) == ("rerank", "1", 2, "1")
    plain = await collect(assistant.Ask(request(explain=True)))
    assert [event.step.name for event in plain if event.WhichOneof("event") == "step"] == ["rerank"]
