"""Dialogues over a real socket: `done.session` comes back in the next request, to any server that has the key."""

import hashlib
from dataclasses import replace

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from quizglass import values
from quizglass.v1 import assistant_pb2, assistant_pb2_grpc, types_pb2
from quizglass_server.session.dialogue.token import LONGEST, DialogueSealer
from tests.support.clock import Clock
from tests.support.rpc_fakes import Stage, png, serve_stage

KEY, OTHER = b"\1" * 32, b"\2" * 32
TTL = 60
FIRST, COST = "How much does the boat on the left cost?", "45 crowns"
RED, BLUE = (png(colour=colour) for colour in ("red", "blue"))


@pytest.fixture
def clock():
    return Clock(1_000_000.0)


def server(folder, *keys, clock=None):
    stage = Stage(folder)
    stage.services = replace(stage.services, sealer=DialogueSealer(keys or (KEY,), TTL, clock or Clock(1_000_000.0)))
    return serve_stage(stage)


async def ask(stage, question, session=b"", picture=None, **fields):
    """The turn as the assistant was given it, and what the client is given back."""
    frames = [] if picture is None else [types_pb2.Frame(encoded=picture)]
    async with grpc.aio.insecure_channel(stage.target) as channel:
        call = assistant_pb2_grpc.AssistantServiceStub(channel).Ask
        request = assistant_pb2.AskRequest(question=question, session=session, frames=frames, **fields)
        done = [event async for event in call(request)][-1].done
    return stage.assistant.turns[-1], done.session


async def refusal(stage, question, session, **fields):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await ask(stage, question, session, **fields)
    found = {}
    for packed in rpc_status.from_call(caught.value).details:
        for message in (error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()):
            if packed.Unpack(message):
                found[message.DESCRIPTOR.name] = message
    info, bad = found["ErrorInfo"], found.get("BadRequest")
    field = bad.field_violations[0].field if bad else info.metadata["field"]
    assert field == "session"
    return caught.value.code().name, info.reason, caught.value.details()


def told(turn):
    return [(exchange.question, exchange.answer) for exchange in turn.history]


async def test_a_session_goes_on_after_a_restart_and_on_another_server(tmp_path):
    async with server(tmp_path) as stage:
        turn, session = await ask(stage, FIRST, picture=RED)
        assert turn.history == ()
        turn, session = await ask(stage, "How much does it weigh?", session)
    assert turn.picture.sha256 == hashlib.sha256(RED).digest()
    assert told(turn) == [("What is it called?", "Velmora"), (FIRST, COST)]
    assert 0 < len(session) <= LONGEST
    async with server(tmp_path) as again:
        turn, _ = await ask(again, "Who founded Jolawex?", session)
    assert told(turn) == [(FIRST, COST), ("How much does it weigh?", COST)]
    async with server(tmp_path, OTHER, KEY) as another:
        turn, session = await ask(another, "Who founded Jolawex?", session)
        assert len(turn.history) == 2
        turn, _ = await ask(another, "Who founded Zelfex?", session)
    assert len(turn.history) == 3


async def test_a_session_has_an_end_that_every_turn_moves(tmp_path, clock):
    async with server(tmp_path, clock=clock) as stage:
        _, first = await ask(stage, FIRST)
        clock.now += TTL - 1
        _, second = await ask(stage, "Who made it?", first)
        clock.now += 1
        code, reason, message = await refusal(stage, "Who made it?", first)
        assert (code, reason) == ("INVALID_ARGUMENT", "SESSION_EXPIRED")
        assert "ask again without it" in message
        turn, _ = await ask(stage, "Who made it?", second)
    assert len(stage.assistant.turns) == 3
    assert told(turn)[-1] == ("Who made it?", COST)


async def test_what_no_server_of_the_key_has_made_is_refused_by_name_and_the_next_is_answered(tmp_path):
    async with server(tmp_path, OTHER) as foreign:
        _, elsewhere = await ask(foreign, FIRST)
    async with server(tmp_path) as stage:
        _, session = await ask(stage, FIRST)
        flipped = bytes([*session[:-1], session[-1] ^ 1])
        forged = [flipped, session[:-1], session + b"\0", b"x", bytes(LONGEST)]
        for token, wanted in [*((token, "SESSION_FORGED") for token in forged), (elsewhere, "SESSION_UNKNOWN_KEY")]:
            code, reason, message = await refusal(stage, FIRST, token)
            assert (code, reason) == ("INVALID_ARGUMENT", wanted)
            assert "ask again without it" in message
        code, reason, message = await refusal(stage, FIRST, bytes(LONGEST + 1))
        assert (code, reason) == ("INVALID_ARGUMENT", "INVALID_FIELD")
        assert "8193 bytes" in message
        await ask(stage, FIRST, session)
    assert len(stage.assistant.turns) == 2


async def test_the_picture_may_change(tmp_path):
    async with server(tmp_path) as stage:
        _, session = await ask(stage, FIRST, picture=RED)
        turn, session = await ask(stage, "And this one?", session, picture=BLUE)
        assert turn.question == "How much does the boat cost?"
        assert turn.picture.sha256 == hashlib.sha256(BLUE).digest()
        turn, _ = await ask(stage, "What colour is that?", session)
    assert turn.picture.sha256 == hashlib.sha256(BLUE).digest()
    assert told(turn) == [("How much does the boat cost?", COST)]


async def test_the_other_one_is_not_the_one_before(tmp_path):
    async with server(tmp_path) as stage:
        _, session = await ask(stage, FIRST, picture=RED)
        turn, _ = await ask(stage, "And the other one?", session)
    assert turn.question == "How much does the boat on the right cost?"
    assert "Velmora" in turn.other_than
    assert turn.picture is not None


async def test_a_question_that_points_at_nothing_is_asked_without_the_picture(tmp_path):
    async with server(tmp_path) as stage:
        _, session = await ask(stage, FIRST, picture=RED)
        turn, session = await ask(stage, "Who founded Jolawex?", session)
        assert turn.picture is None
        turn, session = await ask(stage, "When was it founded?", session)
        assert turn.picture is None  # "it" is what was spoken of last
        turn, _ = await ask(stage, "And what is on the left?", session)
    assert turn.picture.sha256 == hashlib.sha256(RED).digest()


async def test_a_picture_that_is_not_held_is_asked_for_only_if_it_is_needed(tmp_path):
    async with server(tmp_path) as stage:
        _, session = await ask(stage, FIRST, picture=RED)
    async with server(tmp_path) as again:
        turn, _ = await ask(again, "How much does it weigh?", session)
        assert turn.picture is None
        assert told(turn)[0] == ("What is it called?", "Velmora")
        code, reason, message = await refusal(again, "What colour is it?", session)
        assert (code, reason) == ("NOT_FOUND", "NOT_FOUND")
        assert message.endswith("the picture that this question is about is not held any more; show it again")
        turn, _ = await ask(again, "What colour is it?", session, picture=RED)
    assert told(turn) == [(FIRST, COST)]


@pytest.mark.parametrize(
    "question",
    ["And when?", "For how much?", "With whom?", "And on Mondays?", "How much does he eat?", "Who walks her?"],
)
async def test_a_question_without_a_subject_is_about_the_picture_that_is_shown(tmp_path, question):
    async with server(tmp_path) as stage:
        _, session = await ask(stage, FIRST, picture=RED)
        turn, session = await ask(stage, question, session)
        assert (turn.question, turn.picture.sha256) == (question, hashlib.sha256(RED).digest())
        turn, _ = await ask(stage, "And where?", session)
    assert turn.picture.sha256 == hashlib.sha256(RED).digest()
    async with server(tmp_path) as again:
        assert (await refusal(again, "And where?", session))[0] == "NOT_FOUND"


async def test_what_is_answered_from_elsewhere_does_not_become_it(tmp_path):
    async with server(tmp_path) as stage:
        _, session = await ask(stage, FIRST, picture=RED)
        turn, session = await ask(stage, "Is breakfast included?", session)
        assert turn.picture is None
        turn, _ = await ask(stage, "How much does it weigh?", session)
    assert turn.picture.sha256 == hashlib.sha256(RED).digest()


async def test_he_is_the_person_that_was_named_last(tmp_path):
    async def told(turn, policy, budget):
        yield values.Done("It was painted by Ole Berg in 1912.", values.FinishReason.COMPLETE)

    async with server(tmp_path) as stage:
        stage.assistant.script = told
        _, session = await ask(stage, "Who painted this?", picture=RED)
        turn, session = await ask(stage, "When was he born?", session)
        assert (turn.question, turn.picture) == ("When was Ole Berg born?", None)
        turn, _ = await ask(stage, "And where did he live?", session)
    assert (turn.question, turn.picture) == ("And where did Ole Berg live?", None)


async def test_it_needs_the_picture_while_its_name_is_not_known(tmp_path):
    async def unsure(turn, policy, budget):
        yield values.Verdict(values.VerdictOutcome.UNSUPPORTED, 0.5, 0.5)
        yield values.Done(COST, values.FinishReason.COMPLETE)

    async with server(tmp_path) as stage:
        stage.assistant.script = unsure
        _, session = await ask(stage, FIRST, picture=RED)
    async with server(tmp_path) as again:
        assert (await refusal(again, "How much does it weigh?", session))[0] == "NOT_FOUND"


async def test_history_is_what_came_after_the_session(tmp_path):
    async with server(tmp_path) as stage:
        _, session = await ask(stage, FIRST, picture=RED)
        since = [assistant_pb2.Exchange(question="What time is it?", answer="Noon")]
        turn, session = await ask(stage, "Who founded Jolawex?", session, history=since)
        assert told(turn) == [(FIRST, COST), ("What time is it?", "Noon")]
        turn, _ = await ask(stage, "Who founded Zelfex?", session)
    assert [question for question, _ in told(turn)] == [FIRST, "What time is it?", "Who founded Jolawex?"]


async def test_without_a_session_nothing_of_a_request_changes(tmp_path):
    before = [assistant_pb2.Exchange(question=FIRST, answer=COST)]
    async with server(tmp_path) as stage:
        turn, _ = await ask(stage, "And the other one?", picture=RED, history=before)
    assert (turn.question, told(turn), turn.other_than) == ("And the other one?", [(FIRST, COST)], ())
