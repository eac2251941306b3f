"""What becomes of a session's frames: their pieces, speculative work for them, and what is reported about them."""

import asyncio
import hashlib

import pytest

from quizglass.session import (
    Ack,
    Forget,
    FrameBegin,
    FrameDrop,
    FramePart,
    FrameState,
    FrameStatus,
    NeedFrame,
    Ping,
    Pong,
    Role,
    TurnUpdate,
)
from quizglass.values import AbstainReason, Done, FinishReason
from quizglass_server.session.coaching.coach import ADVICE, FAULTS
from tests.support.gate import Gate
from tests.support.rpc_fakes import png, serving
from tests.support.sessions.session_links import WAIT_S, opened, parts, question, usable

PICTURE = png(200, 100)
NAME = hashlib.sha256(PICTURE).digest()


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


async def test_a_frame_that_came_in_part_says_how_much_of_it(said):
    await said.say(FrameBegin(NAME, len(PICTURE)), *parts(PICTURE, 100)[:1], question("a", frame=NAME))
    notice = await said.notice()
    assert (notice.ask_id, notice.reason) == ("a", "NOT_FOUND")
    assert f"100 of {len(PICTURE)} bytes came in time; ask again once it is whole" in notice.text
    await said.say(*parts(PICTURE, 100)[1:], question("b", frame=NAME))
    await said.done("b")


SHOWN = "What does it cost?"


async def _after_a_restart(tmp_path, stage):
    """A server that has the dialogue of a session with a picture, and not the picture."""
    async with opened(stage.target) as (before, _):
        await before.say(question("a", SHOWN, await before.show(PICTURE)))
        await before.done("a")
    return before.state


@pytest.mark.parametrize("later", ["And when?", "What colour is this?", "How much does it weigh?", "How old is he?"])
async def test_the_picture_of_a_dialogue_is_asked_for_after_a_restart(tmp_path, stage, later):
    state = await _after_a_restart(tmp_path, stage)
    async with serving(tmp_path) as again, opened(again.target, state=state) as (said, _):
        await said.say(question("b", later))
        need = await said.until(NeedFrame)
        assert (need.ask_id, need.frames[0].sha256) == ("b", NAME)
        await said.say(FrameBegin(NAME, len(PICTURE)), *parts(PICTURE))
        await said.done("b")
    (turn,) = again.assistant.turns
    assert (turn.question, turn.picture.sha256) == (later, NAME)


async def test_a_question_waits_no_longer_for_a_picture_that_its_client_has_not(tmp_path, stage):
    state = await _after_a_restart(tmp_path, stage)
    async with serving(tmp_path, frame_wait_s=3600) as again, opened(again.target, state=state) as (said, _):
        await said.say(question("b", "What colour is this?"))
        await said.until(NeedFrame)
        await said.say(FrameDrop(NAME))
        notice = await said.notice()
        assert (notice.ask_id, notice.reason, notice.turn_over) == ("b", "NOT_FOUND", True)
        await said.say(question("c", "How much does it weigh?"))  # about the thing that is named
        await said.until(NeedFrame)
        await said.say(FrameDrop(NAME))
        await said.done("c")
    assert [turn.picture for turn in again.assistant.turns] == [None]


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


REFUSED = {
    "of nothing": (FrameBegin(NAME, 0), "the picture has 0 bytes; send the whole file"),
    "too large": (FrameBegin(NAME, 1 << 40), f"{1 << 40} bytes is more than the {8 << 20} allowed; resize it"),
}


@pytest.mark.parametrize("bad", REFUSED)
@pytest.mark.parametrize("asked_first", [False, True])
async def test_a_question_about_a_refused_frame_fails_with_the_reason(said, bad, asked_first):
    begin, why = REFUSED[bad]
    if asked_first:
        await said.say(question("a", frame=NAME))
        await said.until(NeedFrame)
        await said.say(begin)
    else:
        await said.say(begin, question("a", frame=NAME))
    assert (await said.notice()).field == "frame_begin.size"
    over = await said.notice()
    assert (over.ask_id, over.reason, over.field) == ("a", "INVALID_PICTURE", "ask.request.frames[0]")
    assert over.text == f"ask.request.frames[0]: {why}"
    assert over.turn_over
    await said.show(PICTURE)
    await said.say(question("b", frame=NAME))
    await said.done("b")


async def test_a_question_about_what_was_no_picture_fails_without_sending_it_again(said):
    data = b"no picture at all" * 10
    name = hashlib.sha256(data).digest()
    await said.say(FrameBegin(name, len(data)), *parts(data))
    await said.notice()
    await said.say(question("a", frame=name))
    notice = await said.notice()
    assert (notice.ask_id, notice.reason, notice.field) == ("a", "INVALID_PICTURE", "ask.request.frames[0]")


async def test_a_question_about_a_frame_that_cannot_be_pinned_says_so(said):
    for side in range(4):
        await said.show(png(9 + side, 9), pinned=True)
    await said.say(FrameBegin(NAME, len(PICTURE), pinned=True), question("a", frame=NAME))
    assert (await said.notice()).field == "frame_begin.pinned"
    notice = await said.notice()
    assert (notice.ask_id, notice.field) == ("a", "ask.request.frames[0]")
    assert "4 frames are pinned" in notice.text


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


async def test_ten_thousand_frames_that_never_come_hold_nothing(stage, said):
    names = [hashlib.sha256(bytes([at % 256, at // 256])).digest() for at in range(10_000)]
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
