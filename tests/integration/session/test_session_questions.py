"""What becomes of a session's questions: turns, what they interrupt and wait for, and what was heard of answers."""

import asyncio
import hashlib

import pytest

from quizglass.session import (
    CancelAsk,
    Cause,
    FrameName,
    Interrupted,
    NeedFrame,
    OutputProfile,
    Overlap,
    Ping,
    Playback,
    Pong,
    Question,
    SegmentState,
    SessionAsk,
    TurnUpdate,
)
from quizglass.values import Accepted, AnswerDelta, Done, FinishReason
from quizglass_server.errors import EngineFailed
from tests.support.gate import Gate
from tests.support.rpc_fakes import png, serving
from tests.support.sessions.session_links import opened, question, usable, words

PICTURE = png(200, 100)
NAME = hashlib.sha256(PICTURE).digest()


async def test_a_question_about_a_frame_that_was_sent_before(stage, said):
    name = await said.show(PICTURE, piece=100)
    await said.say(question("a", "What is this?", name))
    assert (await said.done("a")).answer == "45 crowns"
    (turn,) = stage.assistant.turns
    assert (turn.question, turn.picture.sha256) == ("What is this?", name)
    assert said.numbered == list(range(1, len(said.numbered) + 1))


async def test_events_are_those_of_ask_and_segments_make_the_answer(said):
    await said.say(question("a"))
    await said.done("a")
    updates = [each for _, each in said.heard if isinstance(each, TurnUpdate)]
    assert [each.seq for each in updates] == list(range(1, len(updates) + 1))
    assert isinstance(updates[0].event, Accepted)
    segments = [segment for each in updates for segment in each.segments]
    assert "".join(segment.text for segment in segments) == "45 crowns"
    assert {segment.state for segment in segments} == {SegmentState.CONFIRMED}
    assert updates[-1].event.session == b""


@pytest.mark.parametrize("overlap", [Overlap.UNKNOWN, Overlap.INTERRUPT])
async def test_a_new_question_ends_the_one_that_runs(stage, said, overlap):
    gate = Gate()
    stage.assistant.script = words(3, [(2, gate)])
    await said.say(question("a"))
    await gate.reached.wait()
    stage.assistant.script = words(1)
    await said.say(question("b", overlap=overlap))
    interrupted = await said.until(Interrupted)
    assert (interrupted.ask_id, interrupted.cause, interrupted.by_ask_id) == ("a", Cause.ASK, "b")
    assert (interrupted.heard, interrupted.unheard) == ("w0.", "w1.")
    assert (await said.done("b")).answer == "w0."
    assert stage.assistant.admission.running == 0


async def test_a_question_that_interrupts_gets_its_frame_while_the_other_lets_its_engines_go(stage, said):
    running, unwound = Gate(), Gate()

    async def slow_to_end(turn, policy, budget):
        try:
            await running()
            yield AnswerDelta("never")
        except asyncio.CancelledError:
            await unwound()
            raise

    stage.assistant.script = slow_to_end
    await said.say(question("a", "How much?"))
    await running.reached.wait()
    stage.assistant.script = stage.assistant.usual
    await said.say(question("b", "What is this?", hashlib.sha256(png()).digest()))
    await said.until(NeedFrame)
    await unwound.reached.wait()
    await said.show(png())
    assert [turn.question for turn in stage.assistant.turns] == ["How much?"]
    unwound.open.set()
    await said.done("b")
    assert [turn.question for turn in stage.assistant.turns] == ["How much?", "What is this?"]


async def test_a_question_waits_where_it_is_to(stage, said):
    gate = Gate()
    stage.assistant.script = words(2, [(1, gate)])
    await said.say(question("a"), question("b", overlap=Overlap.QUEUE))
    await gate.reached.wait()
    assert len(stage.assistant.turns) == 1
    gate.open.set()
    await said.done("a")
    await said.done("b")


async def test_a_question_is_refused_where_it_is_to_be(stage, said):
    gate = Gate()
    stage.assistant.script = words(2, [(1, gate)])
    await said.say(question("a"))
    await gate.reached.wait()
    await said.say(question("b", overlap=Overlap.REFUSE), id=9)
    notice = await said.notice()
    assert (notice.message_id, notice.message, notice.ask_id) == (9, "ask", "b")
    assert (notice.reason, notice.turn_over, notice.metadata) == ("TURN_RUNNING", True, {"ask_id": "a"})
    gate.open.set()
    await said.done("a")


async def test_too_many_questions_wait(stage, said):
    gate = Gate()
    stage.assistant.script = words(1, [(0, gate)])
    await said.say(*(question(f"{at}", overlap=Overlap.QUEUE) for at in range(6)))
    notice = await said.notice()
    assert (notice.ask_id, notice.reason, notice.retry_after > 0) == ("5", "OVERLOADED", True)
    gate.open.set()
    for at in range(5):
        await said.done(f"{at}")


async def test_a_cancelled_question_ends_once_and_one_that_is_over_is_left_alone(stage, said):
    gate = Gate()
    stage.assistant.script = words(2, [(1, gate)])
    await said.say(question("a"))
    await gate.reached.wait()
    await said.say(CancelAsk("a"), CancelAsk("a"), CancelAsk("never asked"), CancelAsk())
    interrupted = await said.until(Interrupted)
    assert (interrupted.ask_id, interrupted.cause) == ("a", Cause.CANCEL)
    stage.assistant.script = words(1)
    await said.say(question("b"))
    await said.done("b")
    assert sum(isinstance(each, Interrupted) for _, each in said.heard) == 1


async def test_cancelling_all_ends_what_waits_too(stage, said):
    gate = Gate()
    stage.assistant.script = words(2, [(1, gate)])
    await said.say(question("a"), question("b", overlap=Overlap.QUEUE))
    await gate.reached.wait()
    await said.say(CancelAsk())
    assert {(await said.until(Interrupted)).ask_id for _ in range(2)} == {"a", "b"}


async def test_the_same_question_under_the_same_name_is_answered_once(stage, said):
    await said.say(question("a"), question("a"))
    await said.done("a")
    await said.say(question("a"), Ping(b"1"))
    await said.until(Pong)
    assert len(stage.assistant.turns) == 1


async def test_another_question_under_a_used_name_is_refused(stage, said):
    await said.say(question("a"))
    await said.done("a")
    await said.say(question("a", "Something else?"), id=4)
    notice = await said.notice()
    assert (notice.message_id, notice.reason, notice.field) == (4, "INVALID_FIELD", "ask.id")
    assert len(stage.assistant.turns) == 1
    await usable(said)


async def test_a_turn_that_fails_is_told_with_its_reason(stage, said):
    async def failing(turn, policy, budget):
        raise RuntimeError("secret")
        yield

    stage.assistant.script = failing
    await said.say(question("a"), id=3)
    notice = await said.notice()
    assert (notice.ask_id, notice.message_id, notice.reason, notice.turn_over) == ("a", 3, "UNEXPECTED", True)
    assert "secret" not in notice.text
    stage.assistant.script = words(1)
    await usable(said)


async def test_what_is_behind_a_turn_that_fails_is_in_the_log(stage, said, caplog):
    async def failing(turn, policy, budget):
        raise EngineFailed("the engine failed; see the server's log") from RuntimeError("out of registers")
        yield

    stage.assistant.script = failing
    await said.say(question("a"))
    assert (await said.notice()).reason == "ENGINE_FAILED"
    causes = [record.exc_info[1].__cause__ for record in caplog.records if record.exc_info]
    assert "out of registers" in map(str, causes)


BAD_QUESTIONS = {
    "no text": (question("a", ""), "ask.request.question"),
    "no name": (question(""), "ask.id"),
    "a name that is too long": (question("a" * 65), "ask.id"),
    "an unknown policy": (question("a", policy="nonsense"), "ask.request.policy"),
    "a session": (question("a", session=b"x"), "ask.request.session"),
    "half a hash": (question("a", frame=b"x" * 16), "ask.request.frames[0].sha256"),
    "two frames": (SessionAsk("a", Question("Q?", (FrameName(NAME), FrameName(NAME)))), "ask.request.frames"),
    "bytes": (SessionAsk("a", Question("Q?", (FrameName(encoded=PICTURE),))), "ask.request.frames[0].encoded"),
    "a negative budget": (question("a", budget=-1.0), "ask.request.budget_us"),
}


@pytest.mark.parametrize("bad", BAD_QUESTIONS)
async def test_a_bad_question_is_named_and_the_session_stays(stage, said, bad):
    ask, field = BAD_QUESTIONS[bad]
    await said.say(ask, id=5)
    notice = await said.notice()
    assert (notice.message_id, notice.field, notice.turn_over) == (5, field, True)
    assert stage.assistant.turns == []
    await usable(said)


async def test_what_is_remembered_of_a_refused_question_is_small_and_tells_it_from_others(tmp_path):
    async with serving(tmp_path) as stage, opened(stage.target) as (said, there):
        long = question("a", "What? " * 5000)
        await said.say(long)
        assert (await said.notice()).field == "ask.request.question"
        await said.say(long, question("a", "Who?"))  # the first of these is over
        assert (await said.notice()).field == "ask.id"
        session = stage.rpc.sessions.get(there.session_id, 0)
        assert [len(each) for each in session._turns._asked.values()] == [32]


async def test_later_questions_know_what_was_heard_and_the_rest_can_be_asked_for(stage, said):
    gate = Gate()
    stage.assistant.script = words(5, [(4, gate)])
    await said.say(question("a", "Count."))
    await gate.reached.wait()
    stage.assistant.script = words(1)
    await said.say(Playback("a", 1, 2), question("b", "And Tagrin?"))
    interrupted = await said.until(Interrupted)
    assert (interrupted.heard, interrupted.unheard) == ("w0. w", "1. w2. w3.")
    await said.done("b")
    assert [(past.question, past.answer) for past in stage.assistant.turns[-1].history] == [("Count.", "w0. w")]
    await said.say(Playback("b", 0, 1), question("c", "Go on."))
    assert (await said.done("c")).answer == "0."
    assert len(stage.assistant.turns) == 2  # nothing was inferred again


async def test_after_going_on_the_question_before_is_still_what_is_spoken_of(stage, said):
    stage.assistant.script = words(3)
    name = await said.show(png())
    await said.say(question("a", "What is this car on the right?", name))
    await said.done("a")
    await said.say(Playback("a", 0, 1), question("b", "Go on."))
    await said.done("b")
    await said.say(question("c", "How much does it weigh?"))
    await said.done("c")
    assert stage.assistant.turns[-1].picture.sha256 == name
    await said.say(Playback("c", 0, 1), question("d", "Go on."))
    await said.done("d")
    await said.say(question("e", "And the one on the left?"))
    await said.done("e")
    assert stage.assistant.turns[-1].picture.sha256 == name


async def test_after_going_on_from_an_answer_of_which_nothing_was_heard_its_thing_has_a_name(stage, said):
    name = await said.show(png())
    await said.say(question("a", "How much does it cost?", name))
    await said.done("a")
    await said.say(Playback("a", 0, 0), question("b", "Go on."))
    assert (await said.done("b")).answer == "45 crowns"
    await said.say(question("c", "How much does it weigh?"))
    await said.done("c")
    assert "Velmora" in [each.answer for each in stage.assistant.turns[-1].history]


async def test_an_answer_that_was_played_in_part_is_remembered_in_part(stage, said):
    stage.assistant.script = words(3)
    await said.say(question("a", "Count."))
    await said.done("a")
    await said.say(Playback("a", 1, 4), Playback("a", 0, 1), question("b", "Who founded Orvex?"))
    await said.done("b")
    assert [past.answer for past in stage.assistant.turns[-1].history] == ["w0. w1."]


@pytest.mark.parametrize(
    ("playback", "field"),
    [(Playback("a", 9, 0), "playback.segment"), (Playback("a", 0, 99), "playback.code_point")],
)
async def test_a_playback_of_what_was_not_said_is_refused(stage, said, playback, field):
    await said.say(question("a"))
    await said.done("a")
    await said.say(playback)
    assert (await said.notice()).field == field
    await usable(said)


async def test_segments_are_as_long_as_the_client_wants(stage):
    async def long(turn, policy, budget):
        from quizglass.values import AnswerDelta

        yield AnswerDelta("one two three four five six seven\u202e eight nine ten\x07")
        yield Done("one two three four five six seven\u202e eight nine ten\x07", FinishReason.COMPLETE)

    stage.assistant.script = long
    async with opened(stage.target, output=OutputProfile(20)) as (said, _):
        await said.say(question("a"))
        done = await said.done("a")
        segments = [segment.text for _, each in said.heard if isinstance(each, TurnUpdate) for segment in each.segments]
    assert max(map(len, segments)) <= 20
    assert "".join(segments) == done.answer == "one two three four five six seven eight nine ten"
