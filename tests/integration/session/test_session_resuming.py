"""Resuming over real sockets: nothing twice, nothing missing, and an honest word where that cannot be."""

import asyncio
from dataclasses import replace

import grpc
import pytest

from quizglass.convert import client_message, server_value, to_message
from quizglass.session import (
    Ack,
    Cause,
    Close,
    FrameBegin,
    FrameState,
    FrameStatus,
    GoAway,
    Interrupted,
    Open,
    Ping,
    Playback,
    Pong,
    Progress,
    Restored,
    TurnUpdate,
)
from quizglass.v1 import session_pb2
from quizglass.values import AnswerDelta, Done, FinishReason
from quizglass_server.errors import EngineLost, Overloaded, SessionForged, SessionUnknown
from quizglass_server.session.dialogue.following import Spoken
from quizglass_server.session.dialogue.token import DialogueSealer
from tests.support.clock import Clock
from tests.support.gate import Gate
from tests.support.rpc_fakes import Stage, png, serve_stage, serving
from tests.support.sessions.session_links import (
    HOLDER,
    OTHER,
    WAIT_S,
    eventually,
    link,
    opened,
    parts,
    question,
    sender,
    text,
    words,
)

KEY = b"\1" * 32


@pytest.fixture
async def stage(tmp_path):
    async with serving(tmp_path) as stage:
        yield stage


def keyed(folder, *keys, clock=None, ttl=60, **settings):
    """A server whose states can be read by others with the same key."""
    stage = Stage(folder, **settings)
    stage.services = replace(stage.services, sealer=DialogueSealer(keys or (KEY,), ttl, clock or Clock(1_000_000.0)))
    return serve_stage(stage)


async def cut_off(said):
    """The link is gone, and the server knows."""
    said.call.cancel()


def deltas(*links):
    """Words of the answer and the numbers of the events that brought them, over several links."""
    updates = [said for each in links for _, said in each.heard if isinstance(said, TurnUpdate)]
    return (
        "".join(update.event.text for update in updates if isinstance(update.event, AnswerDelta)).strip(),
        [update.seq for update in updates],
    )


async def test_an_answer_goes_on_in_the_middle(stage):
    gate = Gate()
    stage.assistant.script = words(10, [(5, gate)])
    async with opened(stage.target) as (before, session):
        await before.say(question("a"))
        while deltas(before)[0] != text(3):
            await before.until(TurnUpdate)
        await gate.reached.wait()
        seq = before.numbered[-1]
    gate.open.set()  # inference goes on while the link is away
    async with link(stage.target) as after:
        again = await after.open(session_id=session.session_id, last_seq=seq)
        assert (again.session_id, again.stream, again.restored) == (session.session_id, 2, Restored.ALL)
        await after.done("a")
    answer, events = deltas(before, after)
    assert answer == text(10)
    assert events == list(range(1, len(events) + 1))
    assert before.numbered + after.numbered == list(range(1, len(events) + 1))
    assert len(stage.assistant.turns) == 1


async def test_what_was_received_and_not_told_comes_again(stage):
    async with opened(stage.target) as (before, session):
        await before.say(question("a"))
        await before.done("a")
    async with link(stage.target) as after:
        await after.open(session_id=session.session_id, last_seq=2)
        await after.done("a")
    assert after.numbered[0] == 3
    assert [each for each in before.heard if each[0] > 2] == after.heard[1:]


async def test_a_question_that_is_sent_again_is_not_answered_again(stage):
    gate = Gate()
    stage.assistant.script = words(2, [(1, gate)])
    async with opened(stage.target) as (before, session):
        await before.say(question("a"))
        await gate.reached.wait()
    async with link(stage.target) as after:
        again = await after.open(session_id=session.session_id)
        assert again.open_asks == ("a",)
        await after.say(question("a"))
        gate.open.set()
        await after.done("a")
    assert len(stage.assistant.turns) == 1


async def test_an_upload_goes_on_where_it_was(stage):
    picture = png(300, 300)
    pieces = parts(picture, 100)
    async with opened(stage.target) as (before, session):
        await before.say(FrameBegin(pieces[0].sha256, len(picture)), *pieces[:3], Ping())
        await before.until(Pong)
    async with link(stage.target) as after:
        await after.open(session_id=session.session_id, last_seq=1)
        await after.say(FrameBegin(pieces[0].sha256, len(picture)))
        assert (await after.until(FrameStatus)).offset == 300
        await after.say(*pieces[3:], question("a", frame=pieces[0].sha256))
        await after.done("a")


async def test_pins_survive_and_so_does_what_was_heard(stage):
    async with opened(stage.target) as (before, session):
        name = await before.show(png(), pinned=True)
        stage.assistant.script = words(3)
        await before.say(question("a", "Count."))
        await before.done("a")
        await before.say(Playback("a", 0, 3), Ping())
        await before.until(Pong)
    async with link(stage.target) as after:
        await after.open(session_id=session.session_id, last_seq=before.numbered[-1])
        await after.say(FrameBegin(name, len(png()), pinned=True), question("b", "Who founded Orvex?"))
        assert await after.until(FrameStatus) == FrameStatus(name, FrameState.HELD, pinned=True)
        await after.done("b")
    assert [past.answer for past in stage.assistant.turns[-1].history] == ["w0."]


# Which link counts


async def test_the_newest_link_wins_and_the_older_one_ends_at_once(stage):
    async with opened(stage.target) as (older, session), link(stage.target) as newer:
        await newer.open(session_id=session.session_id)
        assert await older.ended() is grpc.StatusCode.ABORTED
        await newer.say(question("a"))
        await newer.done("a")


@pytest.mark.parametrize("first", [0, 1])
async def test_two_links_that_race_for_a_session_end_with_one(stage, first):
    gate = Gate()
    stage.assistant.script = words(4, [(2, gate)])
    async with opened(stage.target) as (before, session):
        await before.say(question("a"))
        await gate.reached.wait()
    async with link(stage.target) as one, link(stage.target) as two:
        wish = Open(HOLDER, session.session_id)
        order = (one, two) if first == 0 else (two, one)
        await asyncio.gather(*(each.say(wish) for each in order))
        openings = await asyncio.gather(*(each.hear() for each in order))
        assert {opening.stream for opening in openings} == {2, 3}
        winner, loser = order if openings[0].stream == 3 else order[::-1]
        assert await loser.ended() is grpc.StatusCode.ABORTED
        gate.open.set()
        await winner.done("a")
    assert deltas(winner)[0] == text(4)
    assert len(stage.assistant.turns) == 1


async def test_another_client_cannot_resume_and_disturbs_no_session(stage):
    async with opened(stage.target) as (own, session), link(stage.target) as foreign:
        other = await foreign.open(holder=OTHER, session_id=session.session_id)
        assert (other.restored, other.restored_reason) == (Restored.NONE, "SESSION_FOREIGN")
        assert other.session_id != session.session_id
        await own.say(question("a"))
        await own.done("a")


# Where not all can be restored


async def test_a_number_from_the_future_begins_a_new_session_with_the_dialogue(stage):
    async with opened(stage.target) as (before, session):
        await before.say(question("a", "Count."))
        await before.done("a")
    async with link(stage.target) as after:
        again = await after.open(session_id=session.session_id, last_seq=999)
        assert (again.restored, again.restored_reason) == (Restored.DIALOGUE, "SEQ_AHEAD")
        await after.say(question("b", "And Tagrin?"))
        await after.done("b")
    assert [past.question for past in stage.assistant.turns[-1].history] == ["Count."]
    assert len(stage.rpc.sessions) == 1


async def test_messages_that_are_not_kept_any_more_are_missed_honestly(stage):
    async with opened(stage.target) as (before, session):
        await before.say(question("a", "Count."))
        await before.done("a")
        await before.say(Ack(before.numbered[-1]), Ping())
        await before.until(Pong)
    async with link(stage.target) as after:
        again = await after.open(session_id=session.session_id, last_seq=2)
        assert (again.restored, again.restored_reason) == (Restored.DIALOGUE, "SEQ_NOT_KEPT")


async def test_a_session_of_which_nothing_is_known_begins_anew(stage):
    async with link(stage.target) as after:
        again = await after.open(session_id="0" * 32, last_seq=5)
        assert (again.restored, again.restored_reason) == (Restored.NONE, "SESSION_UNKNOWN")


async def test_a_session_without_a_link_ends_after_its_time(tmp_path):
    gate = Gate()
    async with serving(tmp_path, session_away_s=0.1) as stage:
        stage.assistant.script = words(2, [(1, gate)])
        async with opened(stage.target) as (before, session):
            await before.say(question("a"))
            await gate.reached.wait()
        await eventually(lambda: not len(stage.rpc.sessions) and not stage.assistant.admission.running)
        async with link(stage.target) as after:
            assert (await after.open(session_id=session.session_id)).restored_reason == "SESSION_UNKNOWN"


async def test_the_dialogue_goes_on_on_another_server(tmp_path):
    async with keyed(tmp_path) as one, opened(one.target) as (before, session):
        await before.say(question("a", "Count."))
        await before.done("a")
    assert 0 < len(before.state) <= 8192
    async with keyed(tmp_path) as two, link(two.target) as after:
        again = await after.open(session_id=session.session_id, last_seq=3, state=before.state)
        assert (again.restored, again.restored_reason) == (Restored.DIALOGUE, "SESSION_UNKNOWN")
        await after.say(question("a", "And Tagrin?"))  # names begin anew
        await after.done("a")
    assert [past.question for past in two.assistant.turns[-1].history] == ["Count."]


async def test_what_was_said_of_an_answer_that_failed_goes_on_on_another_server_too(tmp_path):
    async def failing(turn, policy, budget):
        yield AnswerDelta("One. Two. ")
        raise EngineLost("the generator died")

    async with keyed(tmp_path) as one, opened(one.target) as (before, session):
        one.assistant.script = failing
        await before.say(question("a", "Count."))
        assert (await before.notice()).turn_over
    async with keyed(tmp_path) as two, link(two.target) as after:
        again = await after.open(session_id=session.session_id, last_seq=9, state=before.state)
        assert again.restored is Restored.DIALOGUE
        await after.say(question("b", "And then?"))
        await after.done("b")
    assert [(past.question, past.answer) for past in two.assistant.turns[-1].history] == [("Count.", "One. Two.")]


def forged(state):
    return state[:-1] + bytes([state[-1] ^ 1])


@pytest.mark.parametrize(
    ("spoil", "holder", "later", "reason"),
    [
        (forged, HOLDER, 0, "SESSION_FORGED"),
        (lambda state: state[:20], HOLDER, 0, "SESSION_FORGED"),
        (lambda state: state[:60], HOLDER, 0, "SESSION_FORGED"),
        (lambda state: b"x" * 9000, HOLDER, 0, "INVALID_FIELD"),
        (lambda state: state, OTHER, 0, "SESSION_FOREIGN"),
        (lambda state: state, HOLDER, 61, "SESSION_EXPIRED"),
    ],
)
async def test_a_state_that_is_not_to_be_used_is_told(tmp_path, spoil, holder, later, reason):
    clock = Clock(1_000_000.0)
    async with keyed(tmp_path, clock=clock) as one, opened(one.target) as (before, session):
        await before.say(question("a", "Count."))
        await before.done("a")
    clock.now += later
    async with keyed(tmp_path, clock=clock) as two, link(two.target) as after:
        again = await after.open(holder=holder, session_id=session.session_id, state=spoil(before.state))
        assert (again.restored, again.restored_reason) == (Restored.NONE, reason)
        await after.say(question("a"))
        await after.done("a")
    assert two.assistant.turns[-1].history == ()


async def test_a_token_of_a_turn_is_no_state_and_a_state_no_token(tmp_path):
    sealer = DialogueSealer([KEY], 60)
    token, state = sealer.seal((Spoken("Q?", "A"),)), sealer.seal_state((Spoken("Q?", "A"),), HOLDER)
    async with keyed(tmp_path) as stage, link(stage.target) as after:
        assert (await after.open(state=token)).restored_reason == "SESSION_FORGED"
    with pytest.raises(SessionForged):
        sealer.open(state)


async def test_a_clock_that_jumps_changes_nothing_but_what_expires(tmp_path):
    clock = Clock(1_000_000.0)
    async with keyed(tmp_path, clock=clock) as stage, opened(stage.target) as (before, session):
        await before.say(question("a"))
        await before.done("a")
        clock.now -= 1e6
        await before.say(question("b", "And this?"))
        await before.done("b")
        clock.now += 1e9
        seq = before.numbered[-1]
        async with link(stage.target) as after:
            again = await after.open(session_id=session.session_id, last_seq=seq)
            assert again.restored is Restored.ALL


# Faults


async def test_a_reader_that_stops_reading_has_its_turn_cancelled_and_disturbs_no_other(tmp_path):
    async def endless(turn, policy, budget):
        at = 0
        while True:
            await asyncio.sleep(0)
            at += 1
            yield AnswerDelta("x" * 1000)

    async with serving(tmp_path, session_unacknowledged_bytes=16 << 10) as stage:
        stage.assistant.script = endless
        async with opened(stage.target) as (stuck, _):
            await stuck.say(question("a"))  # and nothing is read
            await eventually(lambda: stage.assistant.turns and not stage.assistant.admission.running)
            stage.assistant.script = words(2)
            async with opened(stage.target) as (other, _):
                await other.say(question("b"))
                await other.done("b")
            interrupted = await stuck.until(Interrupted)
            assert (interrupted.ask_id, interrupted.cause) == ("a", Cause.UNREAD)


async def test_a_turn_that_outgrows_the_log_while_the_link_is_away_is_cancelled(tmp_path):
    gate = Gate()

    async def long(turn, policy, budget):
        yield AnswerDelta("w0. ")
        await gate()
        for _ in range(100):
            await asyncio.sleep(0)
            yield AnswerDelta("x" * 1000)
        yield Done("", FinishReason.COMPLETE)

    async with serving(tmp_path, session_unacknowledged_bytes=16 << 10) as stage:
        stage.assistant.script = long
        async with opened(stage.target) as (before, session):
            await before.say(question("a"))
            await gate.reached.wait()
        await eventually(lambda: stage.rpc.sessions.get(session.session_id, 0).link is None)
        gate.open.set()
        async with link(stage.target) as after:
            await after.open(session_id=session.session_id)
            assert (await after.until(Interrupted)).cause is Cause.UNREAD
        assert after.numbered == list(range(1, len(after.numbered) + 1))


async def test_a_stop_lets_the_turn_finish_and_says_so_before(stage):
    gate = Gate()
    stage.assistant.script = words(3, [(1, gate)])
    async with opened(stage.target) as (said, _), opened(stage.target) as (idle, _):
        await said.say(question("a"))
        await gate.reached.wait()
        stopping = asyncio.create_task(stage.rpc.stop(20))
        go_away = await said.until(GoAway)
        assert (go_away.reason, 0 < go_away.left <= 20) == ("STOPPING", True)
        assert await idle.ended() is grpc.StatusCode.OK
        await said.say(question("b"))
        notice = await said.notice()
        assert (notice.ask_id, notice.reason, notice.turn_over) == ("b", "STOPPING", True)
        gate.open.set()
        await said.done("a")
        assert said.state
        assert await said.ended() is grpc.StatusCode.OK
        await stopping


async def test_a_stop_whose_time_is_over_ends_the_turn_and_says_so(stage):
    gate = Gate()
    stage.assistant.script = words(3, [(1, gate)])
    async with opened(stage.target) as (said, _):
        await said.say(question("a"))
        await gate.reached.wait()
        stopping = asyncio.create_task(stage.rpc.stop(0.1))
        assert (await said.until(Interrupted)).cause is Cause.STOPPING
        await stopping


async def test_a_stop_in_the_middle_of_an_upload(stage):
    picture = png(300, 300)
    async with opened(stage.target) as (said, _):
        await said.say(FrameBegin(parts(picture)[0].sha256, len(picture)), parts(picture, 100)[0])
        await said.until(FrameStatus)
        await stage.rpc.stop(20)
        assert await said.ended() is grpc.StatusCode.OK
        assert isinstance(said.heard[-1][1], GoAway)


async def test_progress_is_told_while_nothing_else_is(tmp_path, monkeypatch):
    monkeypatch.setattr("quizglass_server.session.directory.PROGRESS_S", 0.05)
    gate = Gate()
    async with serving(tmp_path) as stage, opened(stage.target) as (said, _):
        stage.assistant.script = words(2, [(1, gate)])
        await said.say(question("a"))
        for _ in range(3):
            progress = await said.until(Progress)
        assert (progress.ask_id, progress.elapsed > 0) == ("a", True)
        gate.open.set()
        await said.done("a")


async def test_a_ping_is_answered_while_every_place_is_taken(stage):
    gate = Gate()
    stage.assistant.script = words(1, [(0, gate)])
    async with opened(stage.target) as (said, _):
        others = []
        for _ in range(4):
            other = link(stage.target)
            others.append(other)
            there = await other.__aenter__()
            await there.open()
            await there.say(question("a"))
        await said.say(Ping(b"x"))
        assert (await said.until(Pong)).payload == b"x"
        gate.open.set()
        for other in others:
            await other.__aexit__(None, None, None)


async def test_only_so_many_sessions_are_open(tmp_path):
    async with serving(tmp_path, max_sessions=2) as stage, opened(stage.target):
        async with opened(stage.target) as (_, second), link(stage.target) as third:
            await third.say(Open(HOLDER))
            assert await third.ended() is grpc.StatusCode.RESOURCE_EXHAUSTED
        await eventually(lambda: stage.rpc.sessions.get(second.session_id, 0).link is None)
        async with opened(stage.target):
            with pytest.raises(SessionUnknown):
                stage.rpc.sessions.get(second.session_id, 0)


# Attach and Send


async def attached(stub, wish):
    call = stub.Attach(session_pb2.AttachRequest(open=to_message(wish, session_pb2.Open)))
    return call, server_value(await call.read())


def sent(opened, *said, stream=None, holder=HOLDER):
    messages = [client_message(each) for each in said]
    number = opened.stream if stream is None else stream
    return session_pb2.SendRequest(session_id=opened.session_id, stream=number, messages=messages, holder=holder)


async def test_a_session_over_a_stream_and_single_calls(stage):
    channel, stub = sender(stage.target)
    async with channel:
        call, opening = await attached(stub, Open(HOLDER))
        await stub.Send(sent(opening, question("a")))
        async with asyncio.timeout(WAIT_S):
            while not (message := await call.read()).turn.event.HasField("done"):
                pass
        call.cancel()
        again, resumed = await attached(stub, Open(HOLDER, opening.session_id, message.seq))
        assert (resumed.restored, resumed.stream) == (Restored.ALL, 2)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Send(sent(opening, Ping()))
        assert caught.value.code() is grpc.StatusCode.ABORTED
        await stub.Send(sent(resumed, Ping(b"x"), stream=0))
        assert server_value(await again.read()) == Pong(b"x")
        await stub.Send(sent(resumed, Close()))
        assert await again.read() is grpc.aio.EOF
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Send(sent(resumed, Ping()))
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND


async def test_a_client_that_sends_and_reads_nothing_is_refused_until_it_attaches(tmp_path):
    async with serving(tmp_path, session_unacknowledged_bytes=16 << 10) as stage:
        channel, stub = sender(stage.target)
        async with channel:
            call, opening = await attached(stub, Open(HOLDER))
            call.cancel()
            session = stage.rpc.sessions.get(opening.session_id, 0)
            await eventually(lambda: session.link is None)

            async def flood():
                for _ in range(100):  # each of these is answered by a notice
                    await stub.Send(sent(opening, *[Ack(999)] * 64))

            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await flood()
            assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            again, resumed = await attached(stub, Open(HOLDER, opening.session_id))
            assert resumed.restored is Restored.ALL
            sending = stub.Send(sent(resumed, Ping(b"x")))
            async with asyncio.timeout(WAIT_S):
                while server_value(await again.read()) != Pong(b"x"):
                    pass
            await sending


async def test_who_waits_for_a_link_to_be_read_is_told_when_it_is_gone(tmp_path):
    async with serving(tmp_path, session_unacknowledged_bytes=16 << 10) as stage:
        session, link = stage.rpc.sessions.open(Open(HOLDER))
        for _ in range(1000):  # each of these is answered by a notice that is not read
            session.receive(Ack(1 << 40))
        sending = asyncio.create_task(session.room())
        await asyncio.sleep(0)
        assert not sending.done()
        session.detach(link)
        async with asyncio.timeout(WAIT_S):
            with pytest.raises(Overloaded, match="attach to the session first"):
                await sending


async def test_nor_does_anybody_wait_for_the_link_of_a_session_that_has_ended(tmp_path):
    async with serving(tmp_path, session_unacknowledged_bytes=16 << 10) as stage:
        session, link = stage.rpc.sessions.open(Open(HOLDER))
        for _ in range(1000):
            session.receive(Ack(1 << 40))
        sending = asyncio.create_task(session.room())
        await asyncio.sleep(0)
        session.end()
        session.detach(link)
        async with asyncio.timeout(WAIT_S):
            with pytest.raises(SessionUnknown):
                await sending


async def test_a_link_of_one_kind_takes_the_session_over_from_the_other(stage):
    channel, stub = sender(stage.target)
    async with channel, opened(stage.target) as (said, opening):
        _, resumed = await attached(stub, Open(HOLDER, opening.session_id))
        assert resumed.restored is Restored.ALL
        assert await said.ended() is grpc.StatusCode.ABORTED


@pytest.mark.parametrize(
    ("holder", "status"),
    [
        (OTHER, grpc.StatusCode.NOT_FOUND),
        (b"", grpc.StatusCode.INVALID_ARGUMENT),
        (HOLDER + b"x", grpc.StatusCode.NOT_FOUND),
        (b"x" * 65, grpc.StatusCode.INVALID_ARGUMENT),
    ],
)
async def test_the_name_of_a_session_is_no_right_to_speak_in_it(stage, holder, status):
    channel, stub = sender(stage.target)
    async with channel:
        call, opening = await attached(stub, Open(HOLDER))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Send(sent(opening, Close(), holder=holder))
        assert caught.value.code() is status
        await stub.Send(sent(opening, Ping(b"x")))
        assert server_value(await call.read()) == Pong(b"x")


@pytest.mark.parametrize("messages", [[], [Ping()] * 65, [Open(HOLDER)]])
async def test_what_send_does_not_take(stage, messages):
    channel, stub = sender(stage.target)
    async with channel:
        call, opening = await attached(stub, Open(HOLDER))
        if messages == [Open(HOLDER)]:
            await stub.Send(sent(opening, *messages))
            assert server_value(await call.read()).field == "open"
            return
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Send(sent(opening, *messages))
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
