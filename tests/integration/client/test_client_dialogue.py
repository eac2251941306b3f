"""`Dialogue` over a real socket: it carries the session, sends a picture again, and begins anew when it must."""

import hashlib

import pytest

from quizglass import values
from quizglass_client import (
    AnswerDelta,
    AsyncClient,
    AsyncDialogue,
    Client,
    ClientError,
    Dialogue,
    InvalidRequest,
    NotFound,
)
from quizglass_server.errors import EngineLost
from tests.support.rpc_fakes import EVENTS, png, serving

COST = values.Exchange("How much does this cost?", "45 crowns")
SHA256 = hashlib.sha256(png()).digest()


@pytest.fixture
def client(stage):
    with Client(stage.target) as connected:
        yield connected


def forget_frames(stage):
    for let_go in stage.services.work.keepers:
        let_go(1 << 40)


def test_a_question_goes_on_where_the_last_one_ended(stage, client):
    dialogue = Dialogue(client)
    dialogue.answer(COST.question, png(), policy="both", budget=5)
    answer = dialogue.answer("How much does it weigh?")
    assert answer.accepted.frame_sha256 == (SHA256,)
    assert stage.assistant.turns[1].history[-1] == COST
    assert [policy for policy, _ in stage.assistant.asked] == ["both", "planning-agent+"]
    elsewhere = Dialogue(client, dialogue.session)
    elsewhere.answer("Who founded Jolawex?")
    assert len(stage.assistant.turns[2].history) == 2
    assert dialogue.session == answer.session != elsewhere.session


def test_a_picture_that_is_not_held_any_more_is_sent_again(stage, client):
    dialogue = Dialogue(client)
    dialogue.answer(COST.question, png())
    forget_frames(stage)
    with pytest.raises(NotFound, match="show it again"):
        Dialogue(client, dialogue.session).answer("What colour is this?")
    assert dialogue.answer("What colour is this?").accepted.frame_sha256 == (SHA256,)
    assert stage.assistant.turns[-1].history == (COST,)


def test_a_session_that_is_refused_begins_anew_with_the_last_picture(stage, client):
    dialogue = Dialogue(client)
    dialogue.answer(COST.question, png())
    dialogue.session = b"forged"
    assert dialogue.answer("What colour is this?").accepted.frame_sha256 == (SHA256,)
    assert stage.assistant.turns[-1].history == ()
    dialogue.answer("Who founded Jolawex?")
    assert len(stage.assistant.turns[-1].history) == 1


def test_a_dialogue_can_be_followed_as_it_is_answered(stage, client):
    dialogue = Dialogue(client)
    payloads = [event.payload for event in dialogue.ask(COST.question, png())]
    assert "".join(each.text for each in payloads if isinstance(each, AnswerDelta)) == " 45 crowns"
    forget_frames(stage)
    first = next(dialogue.ask("What colour is this?"))  # which is not followed to its end
    assert first.payload.frame_sha256 == (SHA256,)
    dialogue.session = b"forged"
    assert len(list(dialogue.ask("What colour is this?"))) > 1
    assert [turn.history for turn in stage.assistant.turns] == [(), (COST,), ()]
    assert list(dialogue.ask("And now?"))[-1].payload.session == dialogue.session


def test_a_turn_that_breaks_after_it_was_told_of_is_not_asked_again(stage, client):
    async def breaks(turn, policy, budget):
        yield EVENTS[0]
        raise EngineLost("the generator died")

    stage.assistant.script = breaks
    with pytest.raises(ClientError):
        list(Dialogue(client).ask(COST.question, png()))
    assert len(stage.assistant.turns) == 1


def test_other_errors_are_the_callers_and_change_nothing(stage, client):
    dialogue = Dialogue(client)
    dialogue.answer(COST.question, png())
    session = dialogue.session
    with pytest.raises(InvalidRequest, match="question"):
        dialogue.answer("")
    assert dialogue.session == session
    assert len(stage.assistant.turns) == 1


def test_a_question_of_a_dialogue_takes_what_any_question_does(stage, client):
    Dialogue(client).answer(COST.question, png(), policy="both", history=[("Before?", "Yes")], session_id="walk")
    turn = stage.assistant.turns[0]
    assert (turn.history, turn.session) == ((values.Exchange("Before?", "Yes"),), "walk")


async def test_the_same_for_asyncio(tmp_path):
    async with serving(tmp_path) as stage, AsyncClient(stage.target) as client:
        dialogue = AsyncDialogue(client)
        await dialogue.answer(COST.question, png())
        forget_frames(stage)
        assert (await dialogue.answer("What colour is this?")).accepted.frame_sha256 == (SHA256,)
        assert stage.assistant.turns[-1].history == (COST,)
