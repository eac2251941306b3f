"""Links of a session, and messages that are none or come at the wrong time, over a real socket."""

import grpc
import pytest

from quizglass.session import (
    Ack,
    CancelAsk,
    Close,
    DeviceState,
    FrameDrop,
    Open,
    OutputProfile,
    Ping,
    Playback,
    Pong,
)
from quizglass.v1 import session_pb2
from tests.support.gate import Gate
from tests.support.rpc_fakes import png
from tests.support.sessions.session_links import HOLDER, link, question, text, usable, words

PICTURE = png(200, 100)


async def test_an_unexpected_failure_is_reported_and_the_link_stays(stage, said, monkeypatch):
    def fails(ask_id):
        raise RuntimeError("secret")

    (session,) = stage.rpc.sessions._sessions.values()
    monkeypatch.setattr(session._turns, "cancel", fails)
    await said.say(CancelAsk("a"))
    notice = await said.notice()
    assert (notice.message, notice.reason) == ("cancel", "UNEXPECTED")
    assert "secret" not in notice.text
    await usable(said)


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
