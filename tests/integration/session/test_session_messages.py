"""What a session makes of its client's messages, sound and not, over a real socket."""

import asyncio
import hashlib

import grpc
import pytest

from quizglass.session import (
    Ack,
    CancelAsk,
    Cause,
    Close,
    DeviceState,
    Forget,
    FrameBegin,
    FrameDrop,
    FrameName,
    FramePart,
    FrameState,
    FrameStatus,
    Interrupted,
    NeedFrame,
    Open,
    OutputProfile,
    Overlap,
    Ping,
    Playback,
    Pong,
    Question,
    Role,
    SegmentState,
    SessionAsk,
    TurnUpdate,
)
from quizglass.v1 import session_pb2
from quizglass.values import AbstainReason, Accepted, AnswerDelta, Done, FinishReason
from quizglass_server.coaching.coach import ADVICE, FAULTS
from tests.support.rpc_fakes import Gate, png, serving
from tests.support.sessions.session_links import HOLDER, WAIT_S, link, opened, parts, question, text, words

PICTURE = png(200, 100)
NAME = hashlib.sha256(PICTURE).digest()


@pytest.fixture
async def stage(tmp_path):
    async with serving(tmp_path, frame_wait_s=0.2) as stage:
        yield stage


@pytest.fixture
async def said(stage):
    """A link with an open session."""
    async with opened(stage.target) as (made, _):
        yield made


async def usable(link):
    """The session still answers."""
    await link.say(question("still", "Still?"))
    assert (await link.done("still")).answer


# Turns


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


async def test_a_frame_is_looked_at_before_there_is_a_question(stage, said):
    name = await said.show(PICTURE)
    await usable(said)
    assert stage.assistant.looked_at in ([name], [])  # it gives way to the turn
    await said.say(Ping(b"x"))
    await said.until(Pong)


@pytest.mark.parametrize("gone", [FrameDrop(NAME), Forget()])
async def test_a_frame_that_is_given_up_is_not_decoded_to_the_end_nor_looked_at(stage, said, monkeypatch, gone):
    gate, ended = Gate(), asyncio.Event()

    async def slowly(encoded, field, *, sha256):
        try:
            await gate()
        finally:
            ended.set()

    monkeypatch.setattr(stage.decoder, "decode", slowly)
    await said.show(PICTURE)
    await gate.reached.wait()
    await said.say(gone)
    async with asyncio.timeout(WAIT_S):
        await ended.wait()
    await usable(said)
    assert not gate.open.is_set()
    assert stage.assistant.looked_at == []


async def test_a_failure_that_nobody_foresaw_is_told_and_the_link_stays(stage, said, monkeypatch):
    def fails(ask_id):
        raise RuntimeError("secret")

    (session,) = stage.rpc.sessions._sessions.values()
    monkeypatch.setattr(session._turns, "cancel", fails)
    await said.say(CancelAsk("a"))
    notice = await said.notice()
    assert (notice.message, notice.reason) == ("cancel", "UNEXPECTED")
    assert "secret" not in notice.text
    await usable(said)


async def test_a_question_about_a_frame_that_is_being_decoded_does_not_decode_it_again(stage, said, monkeypatch):
    gate, begun, decode = Gate(), [], stage.decoder.decode

    async def slowly(encoded, field, *, sha256):
        begun.append(sha256)
        await gate()
        return await decode(encoded, field, sha256=sha256)

    monkeypatch.setattr(stage.decoder, "decode", slowly)
    name = await said.show(PICTURE)
    await gate.reached.wait()
    await said.say(question("a", "What is this?", name), Ping(b"taken"))
    await said.until(Pong)
    gate.open.set()
    assert (await said.done("a")).answer
    assert begun == [name]


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


async def test_a_frame_that_is_missing_is_asked_for_and_waited_for(stage, said):
    await said.say(question("a", frame=NAME))
    need = await said.until(NeedFrame)
    assert (need.ask_id, need.frames[0].sha256, need.frames[0].offset) == ("a", NAME, 0)
    await said.say(FrameBegin(NAME, len(PICTURE)), *parts(PICTURE))
    await said.done("a")
    assert stage.assistant.turns[0].picture.sha256 == NAME


async def test_a_frame_that_never_comes_fails_its_question_alone(stage, said):
    await said.say(FrameBegin(NAME, len(PICTURE)), question("a", frame=NAME))
    notice = await said.notice()
    assert (notice.ask_id, notice.reason, notice.field) == ("a", "NOT_FOUND", "ask.request.frames[0]")
    assert notice.turn_over
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


# Heard and not heard


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
        from quizglass.values import AnswerDelta, Done, FinishReason

        yield AnswerDelta("one two three four five six seven\u202e eight nine ten\x07")
        yield Done("one two three four five six seven\u202e eight nine ten\x07", FinishReason.COMPLETE)

    stage.assistant.script = long
    async with opened(stage.target, output=OutputProfile(20)) as (said, _):
        await said.say(question("a"))
        done = await said.done("a")
        segments = [segment.text for _, each in said.heard if isinstance(each, TurnUpdate) for segment in each.segments]
    assert max(map(len, segments)) <= 20
    assert "".join(segments) == done.answer == "one two three four five six seven eight nine ten"


# Frames


async def test_a_frame_goes_on_where_it_was_and_is_taken_once(said):
    pieces = parts(PICTURE, 50)
    await said.say(FrameBegin(NAME, len(PICTURE)), pieces[0], pieces[1], FrameBegin(NAME, len(PICTURE)))
    await said.until(FrameStatus, lambda status: status.offset == 0)
    assert (await said.until(FrameStatus)).offset == 100
    await said.say(pieces[0], *pieces[1:], pieces[-1])  # twice is once
    assert (await said.until(FrameStatus)).state is FrameState.HELD
    await said.say(FrameBegin(NAME, len(PICTURE), pinned=True))
    assert await said.until(FrameStatus) == FrameStatus(NAME, FrameState.HELD, pinned=True)


async def test_a_dropped_frame_is_gone(said):
    name = await said.show(PICTURE)
    await said.say(FrameDrop(name), question("a", frame=name))
    assert (await said.until(FrameStatus)).state is FrameState.DROPPED
    assert (await said.until(NeedFrame)).frames[0].sha256 == name


def spoilt(part, **fields):
    from dataclasses import replace

    return replace(part, **fields)


PART = parts(PICTURE, 50)
BAD_PARTS = {
    "out of order": (PART[1], "frame_part.offset"),
    "before the beginning": (spoilt(PART[0], offset=-1), "frame_part.offset"),
    "with a wrong CRC": (spoilt(PART[0], crc32c=PART[0].crc32c ^ 1), "frame_part.crc32c"),
    "of nothing": (spoilt(PART[0], data=b""), "frame_part.data"),
    "of too much": (FramePart(NAME, 0, b"x" * 65537, 0), "frame_part.data"),
    "beyond the size": (spoilt(PART[0], data=b"x" * (len(PICTURE) + 1)), "frame_part.data"),
}


@pytest.mark.parametrize("bad", BAD_PARTS)
async def test_a_bad_piece_is_refused_and_the_frame_can_still_be_sent(said, bad):
    part, field = BAD_PARTS[bad]
    await said.say(FrameBegin(NAME, len(PICTURE)))
    await said.say(part, id=6)
    notice = await said.notice()
    assert (notice.message_id, notice.message, notice.frame, notice.field) == (6, "frame_part", NAME, field)
    assert await said.until(FrameStatus) == FrameStatus(NAME, FrameState.SEND, 0)
    await said.say(*PART)
    assert (await said.until(FrameStatus)).state is FrameState.HELD


async def test_bytes_of_another_sha256_are_given_up(said):
    other = bytearray(PICTURE)
    other[-1] ^= 1
    pieces = [spoilt(part, sha256=NAME) for part in parts(bytes(other))]
    await said.say(FrameBegin(NAME, len(PICTURE)), *pieces)
    assert (await said.notice()).field == "frame_begin.sha256"
    assert (await said.until(FrameStatus)).state is FrameState.DROPPED
    await said.show(PICTURE)


async def test_a_frame_that_is_no_picture_is_told_at_once(said):
    data = b"no picture at all" * 10
    name = hashlib.sha256(data).digest()
    await said.say(FrameBegin(name, len(data)), *parts(data))
    await said.until(FrameStatus, lambda status: status.state is FrameState.HELD)
    notice = await said.notice()
    assert (notice.frame, notice.reason) == (name, "INVALID_PICTURE")
    assert (await said.until(FrameStatus)).state is FrameState.DROPPED
    await usable(said)


BAD_BEGINS = {
    "half a hash": (FrameBegin(b"x" * 16, 5), "frame_begin.sha256"),
    "of nothing": (FrameBegin(NAME, 0), "frame_begin.size"),
    "too large": (FrameBegin(NAME, 1 << 40), "frame_begin.size"),
    "a text": (FrameBegin(NAME, 5, "text/plain"), "frame_begin.mime"),
    "from the future": (FrameBegin(NAME, 5, age=-1.0), "frame_begin.age_us"),
    "a crop of nothing": (FrameBegin(NAME, 5, role=Role.CROP), "frame_begin.parent_sha256"),
    "a crop of no part": (FrameBegin(NAME, 5, role=Role.CROP, parent=NAME), "frame_begin.region"),
}


@pytest.mark.parametrize("bad", BAD_BEGINS)
async def test_a_bad_announcement_is_named(said, bad):
    begin, field = BAD_BEGINS[bad]
    await said.say(begin)
    assert (await said.notice()).field == field
    await usable(said)


async def test_two_thousand_frames_that_never_come_hold_nothing(stage, said):
    names = [hashlib.sha256(bytes([at % 256, at // 256])).digest() for at in range(2000)]
    for at in range(0, len(names), 100):
        await said.say(*(FrameBegin(name, 1000) for name in names[at : at + 100]), Ack(0))
        await said.say(Ping(b"x"))
        await said.until(Pong)
    (session,) = stage.rpc.sessions._sessions.values()
    assert len(session._shelf._frames) == 64
    await usable(said)


async def test_pins_are_bounded_and_stay(stage, said):
    pinned = await said.show(PICTURE, pinned=True)
    for at in range(3):
        await said.say(FrameBegin(hashlib.sha256(bytes([at])).digest(), 5, pinned=True))
    await said.say(FrameBegin(hashlib.sha256(b"five").digest(), 5, pinned=True))
    assert (await said.notice()).field == "frame_begin.pinned"
    await said.say(*(FrameBegin(hashlib.sha256(bytes([at, at])).digest(), 5) for at in range(100)))
    await said.say(FrameBegin(pinned, len(PICTURE), pinned=True))
    await said.until(FrameStatus, lambda status: status == FrameStatus(pinned, FrameState.HELD, pinned=True))


async def test_no_session_can_name_anothers_frame(stage, said):
    name = await said.show(PICTURE)
    async with opened(stage.target) as (other, _):
        await other.say(question("a", frame=name))
        assert (await other.until(NeedFrame)).frames[0].sha256 == name
        assert (await other.notice()).reason == "NOT_FOUND"


# Links


async def test_what_comes_before_open_is_refused(stage):
    async with link(stage.target) as said:
        await said.say(question("a"))
        assert await said.ended() is grpc.StatusCode.INVALID_ARGUMENT
    assert stage.assistant.turns == []


async def test_a_link_without_a_word_is_refused(stage):
    async with link(stage.target) as said:
        await said.call.done_writing()
        assert await said.ended() is grpc.StatusCode.INVALID_ARGUMENT


async def test_an_opener_that_never_says_a_word_is_ended(stage, monkeypatch):
    monkeypatch.setattr("quizglass_server.rpc.session.OPEN_S", 0.1)
    async with link(stage.target) as said:
        await said.call.wait_for_connection()
        assert await said.ended() is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_a_second_open_is_refused_and_changes_nothing(stage, said):
    await said.say(Open(HOLDER), id=8)
    notice = await said.notice()
    assert (notice.message_id, notice.message, notice.field) == (8, "open", "open")
    await usable(said)


@pytest.mark.parametrize(
    "bad", [Open(b"short"), Open(b"x" * 65), Open(HOLDER, last_seq=-1), Open(HOLDER, output=OutputProfile(3))]
)
async def test_a_bad_open_is_refused(stage, bad):
    async with link(stage.target) as said:
        await said.say(bad)
        assert await said.ended() is grpc.StatusCode.INVALID_ARGUMENT


async def test_bytes_that_are_no_message_are_told_and_change_nothing(stage):
    async with grpc.aio.insecure_channel(stage.target) as channel:
        call = channel.stream_stream("/quizglass.v1.SessionService/Converse")()
        await call.write(session_pb2.ClientMessage(open=session_pb2.Open(holder=HOLDER)).SerializeToString())
        await call.read()
        await call.write(b"\xff\xff\xff")
        notice = session_pb2.ServerMessage.FromString(await call.read()).notice
        assert (notice.reason, notice.field) == ("INVALID_FIELD", "request")
        await call.write(session_pb2.ClientMessage(ping=session_pb2.Ping(payload=b"x")).SerializeToString())
        assert session_pb2.ServerMessage.FromString(await call.read()).pong.payload == b"x"
        call.cancel()


async def test_a_message_of_a_later_version_is_left_alone(stage, said):
    await said.call.write(session_pb2.ClientMessage(id=3))
    await usable(said)


async def test_other_bad_messages_are_named(said):
    for bad, field in (
        (Ack(999), "ack.seq"),
        (Ack(-1), "ack.seq"),
        (Ping(b"x" * 65), "ping.payload"),
        (FrameDrop(b"x"), "frame_drop.sha256"),
        (DeviceState(battery_percent=101), "device_state.battery_percent"),
        (Playback("never asked", 0, 0), "playback.ask_id"),
    ):
        await said.say(bad)
        assert (await said.notice()).field == field
    await usable(said)


async def test_a_flood_of_pings_gets_answers_and_costs_nothing(said):
    for at in range(5000):
        await said.say(Ping(at.to_bytes(4, "big")))
    await said.until(Pong, lambda pong: pong.payload == (4999).to_bytes(4, "big"))
    await usable(said)


async def test_close_ends_the_session(stage, said):
    await said.show(PICTURE)
    await said.say(Close())
    assert await said.ended() is grpc.StatusCode.OK
    assert len(stage.rpc.sessions) == 0


async def test_who_says_nothing_more_still_hears_the_answer(stage, said):
    gate = Gate()
    stage.assistant.script = words(3, [(1, gate)])
    await said.say(question("a"))
    await gate.reached.wait()
    await said.call.done_writing()
    gate.open.set()
    assert (await said.done("a")).answer == text(3)
    assert await said.ended() is grpc.StatusCode.OK


# What is wrong with frames


async def test_a_dark_frame_is_told_of_and_an_abstention_names_it(tmp_path):
    async def abstains(turn, policy, budget):
        yield Done("I don't know.", FinishReason.COMPLETE, abstain_reason=AbstainReason.MODEL)

    async with serving(tmp_path, coaching="all") as stage, opened(stage.target) as (said, _):
        name = await said.show(png(160, 120, "#030303"))
        status = await said.until(FrameStatus, lambda each: bool(each.fault))
        assert (status.sha256, status.state, status.advice) == (name, FrameState.HELD, ADVICE[status.fault])
        assert {each.fault for each in status.capture} == set(FAULTS)
        stage.assistant.script = abstains
        await said.say(question("a", "What is this?", name))
        update = await said.until(TurnUpdate, lambda each: isinstance(each.event, Done))
        assert (update.fault, update.advice) == (status.fault, status.advice)


async def test_without_coaching_nothing_is_said_of_frames(tmp_path):
    async with serving(tmp_path) as stage, opened(stage.target) as (said, _):
        name = await said.show(png(160, 120, "#030303"))
        await said.say(question("a", "What is this?", name))
        await said.done("a")
        assert not [each for _, each in said.heard if isinstance(each, FrameStatus) and each.fault]
