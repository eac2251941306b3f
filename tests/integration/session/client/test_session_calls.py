"""What the Python client's session takes, refuses and tells, also in the end: its calls and its turns."""

import asyncio
import math

import pytest

from quizglass.session import (
    Interrupted,
    OutputProfile,
    TurnUpdate,
)
from quizglass.values import AnswerDelta
from quizglass_client import (
    AsyncSession,
    Cancelled,
    ClientError,
    InvalidRequest,
    ServerError,
    Session,
)
from tests.support.gate import Gate
from tests.support.rpc_fakes import png, serving, serving_on_a_thread
from tests.support.sessions.session_links import WAIT_S, words


async def test_a_session_that_was_not_entered_says_so():
    session = AsyncSession("127.0.0.1:1")
    for call in (session.answer("Q?", policy="both"), session.show(png()), anext(session.news())):
        with pytest.raises(ClientError, match="not open") as caught:
            await call
        assert caught.value.reason == "NOT_OPEN"


async def test_an_answer_takes_what_a_question_does(tmp_path):
    async with serving(tmp_path) as stage, AsyncSession(stage.target) as session:
        answer = await session.answer("Q?", overlap="queue", policy="both", history=[("Before?", "Yes")], explain=True)
        assert answer.text == "45 crowns"
        assert [policy for policy, _ in stage.assistant.asked] == ["both"]
        assert [past.question for past in stage.assistant.turns[0].history] == ["Before?"]


async def test_an_abandoned_answer_ends_its_turn(tmp_path):
    begun, ended = asyncio.Event(), asyncio.Event()

    async def held(turn, policy, budget):
        begun.set()
        try:
            await asyncio.Event().wait()
            yield AnswerDelta("never")
        finally:
            ended.set()

    async with serving(tmp_path) as stage, AsyncSession(stage.target) as session, asyncio.timeout(WAIT_S):
        stage.assistant.script = held
        waiting = asyncio.create_task(session.answer("What?"))
        await begun.wait()
        waiting.cancel()
        await ended.wait()


async def test_what_ends_a_turn_here_has_the_status_of_a_call_that_ended_so(tmp_path):
    async with serving(tmp_path) as stage:
        stage.assistant.script = words(1, [(0, Gate())])
        async with AsyncSession(stage.target) as session:
            interrupted = await session.ask("First?")
            closed = await session.ask("Second?")
            with pytest.raises(Cancelled) as first:
                await interrupted.answer()
        with pytest.raises(Cancelled) as second:
            await closed.answer()
    assert (first.value.status, first.value.reason) == ("CANCELLED", "INTERRUPTED")
    assert (second.value.status, second.value.reason) == ("CANCELLED", "CLOSED")


async def test_a_session_that_fails_in_the_client_says_so_as_a_servers_failure(tmp_path, monkeypatch):
    async with serving(tmp_path) as stage, AsyncSession(stage.target) as session:
        monkeypatch.setattr("quizglass_client.session.reconnect.server_value", lambda _: 1 / 0)
        with pytest.raises(ServerError, match="ZeroDivisionError") as failed:
            await session.answer("What?")
    assert (failed.value.status, failed.value.reason) == ("UNKNOWN", "UNEXPECTED")


async def test_a_new_question_interrupts_and_the_rest_can_be_asked_for(tmp_path):
    gate = Gate()
    async with serving(tmp_path) as stage, AsyncSession(stage.target) as session:
        stage.assistant.script = words(4, [(3, gate)])
        first = await session.ask("Count.")
        await gate.reached.wait()
        async for said in first:
            if isinstance(said, TurnUpdate) and any(segment.index == 1 for segment in said.segments):
                break
        await first.played(0, 3)
        stage.assistant.script = words(1)
        second = await session.ask("And Tagrin?")
        assert isinstance([said async for said in first][-1], Interrupted)
        assert (await second.answer()).text == "w0."
        await second.played(0, 2)
        assert (await session.answer("Go on")).text == "."


async def test_an_answer_can_be_said_to_its_end_after_its_session(tmp_path):
    async with serving(tmp_path) as stage:
        stage.assistant.script = words(3)
        async with AsyncSession(stage.target) as session:
            turn = await session.ask("Count.")
            await turn.answer()
        told = [said async for said in turn if isinstance(said, TurnUpdate)]
        for segment in [segment for said in told for segment in said.segments]:
            await turn.played(segment.index, len(segment.text))
        await turn.cancel()


async def test_what_cannot_be_asked_is_named(tmp_path):
    async with serving(tmp_path) as stage, AsyncSession(stage.target) as session:
        with pytest.raises(InvalidRequest) as caught:
            await session.ask("Q?", overlap="whatever")
        assert caught.value.field == "overlap"
        for name in ("photo.jpg", b"short"):
            with pytest.raises(InvalidRequest, match="give what `show` returned") as caught:
                await session.ask("Q?", frame=name)
            assert caught.value.field == "frame"
            with pytest.raises(InvalidRequest, match="give what `show` returned"):
                await session.drop(name)
        with pytest.raises(InvalidRequest, match="one of them"):
            await session.ask("Q?", png(), frame=b"x" * 32)
        with pytest.raises(InvalidRequest, match="thumbnail: -1"):
            await session.show(png(), thumbnail=-1)
        with pytest.raises(InvalidRequest) as caught:
            await session.answer("")
        assert caught.value.field == "ask.request.question"
        turn = await session.ask("Q?", frame=b"x" * 32, overlap="queue")
        await session.close()
        with pytest.raises(Cancelled):
            await turn.answer()
        with pytest.raises(Cancelled):
            await session.ask("Q?")


async def test_a_question_that_no_message_can_hold_is_refused_by_the_client(tmp_path):
    async with serving(tmp_path) as stage, AsyncSession(stage.target) as session:
        for question, history in (("x" * 300_000, ()), ("Q?", [("q", "y" * 300_000)])):
            with pytest.raises(InvalidRequest, match="more than 256000") as caught:
                await session.ask(question, history=history)
            assert caught.value.field == "question"


async def test_a_question_whose_session_ends_while_its_picture_is_read_fails(tmp_path, monkeypatch):
    gate = Gate()

    async def slow(picture, side):
        await gate()
        return picture

    monkeypatch.setattr("quizglass_client.session.frames.encode_on_thread", slow)
    async with serving(tmp_path) as stage, AsyncSession(stage.target) as session:
        asking = asyncio.create_task(session.answer("Q?", png()))
        await gate.reached.wait()
        await session.close()
        gate.open.set()
        with pytest.raises(Cancelled):
            await asyncio.wait_for(asking, WAIT_S)


def test_closing_a_session_twice_is_closing_it_once(tmp_path):
    with serving_on_a_thread(tmp_path) as stage, Session(stage.target) as session:
        session.close()
        session.close()
        with pytest.raises(Cancelled):
            session.ask("Q?")


def test_what_a_blocking_session_was_told_can_be_read_when_it_is_closed(tmp_path):
    with serving_on_a_thread(tmp_path) as stage:
        with Session(stage.target) as session:
            turn = session.ask("What is this?", png())
            turn.answer()
        assert turn.answer().text == "45 crowns"
        kinds = [type(said.event).__name__ for said in turn if isinstance(said, TurnUpdate)]
        assert (kinds[0], kinds[-1], next(turn, None)) == ("Accepted", "Done", None)
        assert {type(news).__name__ for news in session.news()} == {"FrameStatus"}
        turn.cancel()
        with pytest.raises(Cancelled, match="was closed"):
            session.ask("And now?")


def test_news_that_are_worked_on_while_a_session_is_closed_are_not_the_last(tmp_path):
    with serving_on_a_thread(tmp_path) as stage:
        with Session(stage.target) as session:
            session.show(png())
            session.answer("What is this?")
            news = session.news()
            first = next(news)
        assert {type(each).__name__ for each in (first, *news)} == {"FrameStatus"}


async def test_a_session_whose_opening_was_cancelled_says_so():
    connected = asyncio.Event()
    server = await asyncio.start_server(lambda reader, writer: connected.set(), "127.0.0.1", 0)
    async with server:
        session = AsyncSession(f"127.0.0.1:{server.sockets[0].getsockname()[1]}", connect_timeout=WAIT_S)
        opening = asyncio.create_task(session.__aenter__())
        await connected.wait()
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        with pytest.raises(Cancelled, match="was closed"):
            await session.ask("What is this?")


def test_the_blocking_session_does_the_same(tmp_path):
    with serving_on_a_thread(tmp_path) as stage, Session(stage.target) as session:
        frame = session.show(png(), pinned=True)
        turn = session.ask("What is this?", frame=frame)
        kinds = [type(said.event).__name__ for said in turn if isinstance(said, TurnUpdate)]
        assert (kinds[0], kinds[-1]) == ("Accepted", "Done")
        assert turn.answer().text == session.answer("And this?").text == "45 crowns"
        session.drop(frame)
        session.hint_reconnect()
        assert len(session.state) > 0
        assert session.limits.max_frames == 64


def test_what_answers_should_look_like_is_looked_at_before_anything_is_opened():
    with pytest.raises(InvalidRequest, match="lead_in_after: -1"):
        Session(output=OutputProfile(lead_in_after=-1.0))


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("connect_timeout", 0),
        ("connect_timeout", math.nan),
        ("patience", -1.0),
        ("patience", math.nan),
        ("keepalive", 0),
    ],
)
def test_times_that_cannot_be_waited_for_are_named_before_anything_is_opened(field, wrong):
    with pytest.raises(InvalidRequest, match=f"^{field}: {wrong} is not") as refused:
        Session(**{field: wrong})
    assert refused.value.field == field
