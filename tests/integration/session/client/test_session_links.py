"""The Python client's session through a network that fails: cut, resumed, and honest where it cannot be."""

import asyncio
import io
import random
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import fields

import grpc.aio
import pytest
from google.protobuf import any_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status
from PIL import Image

from bench.session.cutting_proxy import Cut, cutting_proxy
from quizglass.convert import server_message
from quizglass.session import (
    Forgotten,
    Opened,
    Ping,
    PostureChange,
    Restored,
    SessionLimits,
    TurnUpdate,
)
from quizglass.v1 import session_pb2_grpc
from quizglass.values import AnswerDelta
from quizglass_client import (
    AsyncSession,
    Cancelled,
    InvalidRequest,
    LinkLost,
    LinkRestored,
    ServerUnavailable,
    SessionLost,
)
from quizglass_client.session.link import SessionConnection
from tests.support.gate import Gate
from tests.support.rpc_fakes import png, serving
from tests.support.sessions.conformance import LIVELY
from tests.support.sessions.session_links import WAIT_S, eventually, text, words


def noise(seed=0):
    """A picture larger than what is on its way at once."""
    pixels = random.Random(seed).randbytes(640 * 480 * 3)
    out = io.BytesIO()
    Image.frombytes("RGB", (640, 480), pixels).save(out, "JPEG", quality=90)
    return out.getvalue()


LARGE = noise()


@pytest.fixture
def lively(monkeypatch):
    """A server that tells of life often, so that silence shows soon."""
    for name, seconds in LIVELY.items():
        monkeypatch.setattr(f"quizglass_server.session.{name}", seconds)


async def followed(turn, on_event=None):
    """The numbers of a turn's events, and what its deltas say."""
    numbers, said = [], ""
    async for update in turn:
        if isinstance(update, TurnUpdate):
            numbers.append(update.seq)
            if isinstance(update.event, AnswerDelta):
                said += update.event.text
            if on_event is not None:
                on_event(len(numbers))
    return numbers, said.strip()


@pytest.mark.parametrize("how", Cut)
async def test_an_answer_survives_a_cut_in_its_middle(tmp_path, lively, how):
    gate = Gate()
    async with (
        serving(tmp_path) as stage,
        cutting_proxy(stage.rpc.port) as proxy,
        AsyncSession(proxy.target) as session,
    ):
        stage.assistant.script = words(20, [(10, gate)])
        turn = await session.ask("Count.", png())

        def cut(seen):
            if seen == 5:
                proxy.cut(how)
                gate.open.set()

        numbers, said = await followed(turn, cut)
        assert (await turn.answer()).text == said == text(20)
        assert numbers == list(range(1, len(numbers) + 1))
        assert session.links == 2
        assert len(stage.assistant.turns) == 1
        news = session.news()
        kinds = [type(await anext(news)).__name__ for _ in range(len(session._core._news))]
        assert kinds.index("LinkLost") < kinds.index("LinkRestored")


async def test_cuts_drawn_by_seed_lose_and_repeat_nothing(tmp_path, lively):
    draw = random.Random(7)
    async with (
        serving(tmp_path) as stage,
        cutting_proxy(stage.rpc.port) as proxy,
        AsyncSession(proxy.target) as session,
    ):
        stage.assistant.script = words(30)
        for at in range(20):
            how = draw.choice([Cut.FIN, Cut.RST, Cut.RST, Cut.BLACK_HOLE] if at % 5 == 0 else [Cut.FIN, Cut.RST])
            if draw.random() < 0.7:
                proxy.cut_after(draw.randrange(500, 40_000), how)
            if draw.random() < 0.5:
                proxy.cut(Cut.RST)
            picture = noise(at) if at % 3 == 0 else png(64, 48 + at)
            numbers, said = await followed(await session.ask(f"Question {at}?", picture))
            assert numbers == list(range(1, len(numbers) + 1))
            assert said == text(30)
        assert [turn.question for turn in stage.assistant.turns] == [f"Question {at}?" for at in range(20)]


async def test_a_hint_finds_a_dead_link_at_once(tmp_path):
    gate = Gate()
    async with (
        serving(tmp_path) as stage,
        cutting_proxy(stage.rpc.port) as proxy,
        AsyncSession(proxy.target) as session,
    ):
        stage.assistant.script = words(4, [(2, gate)])
        turn = await session.ask("Count.")
        await gate.reached.wait()
        proxy.cut(Cut.BLACK_HOLE)
        session.hint_reconnect()
        await eventually(lambda: session.links == 2)
        gate.open.set()
        assert (await turn.answer()).text == text(4)


async def test_a_hint_ends_an_attempt_over_a_network_that_is_no_more(tmp_path):
    async with (
        serving(tmp_path) as stage,
        cutting_proxy(stage.rpc.port) as proxy,
        AsyncSession(proxy.target, connect_timeout=600, patience=10) as session,
    ):
        proxy.cut_after(1, Cut.BLACK_HOLE)
        proxy.cut(Cut.RST)
        await proxy.went_dark.wait()
        session.hint_reconnect()
        assert (await session.answer("What is this?")).text == "45 crowns"
        assert (session.links, proxy.connections) == (2, 3)


async def test_a_cancel_does_not_wait_behind_a_picture(tmp_path):
    gate = Gate()
    async with AsyncExitStack() as stack:
        stage = await stack.enter_async_context(serving(tmp_path))
        proxy = await stack.enter_async_context(cutting_proxy(stage.rpc.port, rate=100_000))
        session = await stack.enter_async_context(AsyncSession(proxy.target))
        stage.assistant.script = words(4, [(2, gate)])
        turn = await session.ask("Count.")
        await gate.reached.wait()
        await session.show(LARGE)
        await eventually(lambda: proxy.up > 20_000)
        await turn.cancel()
        with pytest.raises(Cancelled):
            await turn.answer()
        assert proxy.up < len(LARGE) / 2


async def test_a_peer_that_never_speaks_is_given_up_in_time():
    async def silent(reader, writer):
        await reader.read()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    target = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    with pytest.raises(ServerUnavailable, match=r"does not answer within 0\.3 s"):
        async with AsyncSession(target, connect_timeout=0.3):
            pass
    server.close()


async def test_a_server_that_takes_a_session_and_says_nothing_is_given_up_in_time():
    class Silent(session_pb2_grpc.SessionServiceServicer):
        async def Converse(self, messages, context):
            await asyncio.Event().wait()
            yield

    server = grpc.aio.server()
    session_pb2_grpc.add_SessionServiceServicer_to_server(Silent(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    with pytest.raises(ServerUnavailable, match=r"does not answer within 0\.3 s"):
        async with asyncio.timeout(WAIT_S), AsyncSession(f"127.0.0.1:{port}", connect_timeout=0.3, patience=None):
            pass
    await server.stop(None)


async def test_an_unreachable_server_is_reported_at_once(tmp_path):
    with pytest.raises(ServerUnavailable, match="nothing answers"):
        async with AsyncSession("127.0.0.1:1"):
            pass


async def test_a_session_is_given_up_when_patience_ends(tmp_path):
    gate = Gate()
    async with AsyncExitStack() as stack:
        stage = await stack.enter_async_context(serving(tmp_path))
        proxy = await stack.enter_async_context(cutting_proxy(stage.rpc.port))
        session = await stack.enter_async_context(AsyncSession(proxy.target, patience=0.3))
        stage.assistant.script = words(4, [(2, gate)])
        turn = await session.ask("Count.")
        await gate.reached.wait()
        proxy.refusing = True
        proxy.cut(Cut.RST)
        with pytest.raises(ServerUnavailable, match=r"no link for 0\.3 s"):
            await turn.answer()
        with pytest.raises(ServerUnavailable):
            await session.ask("Again?")


class Brief(session_pb2_grpc.SessionServiceServicer):
    """Opens every session, and ends every link at once."""

    links = 0

    async def Converse(self, messages, context):
        await anext(messages)
        self.links += 1
        limits = SessionLimits(**{each.name: 1 for each in fields(SessionLimits)})
        yield server_message(Opened("one", 1, Restored.ALL, "", limits), 0)


@asynccontextmanager
async def brief_links(service=None):
    """The address of a server that has this service, or ends every link at once."""
    server = grpc.aio.server()
    session_pb2_grpc.add_SessionServiceServicer_to_server(service or Brief(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield f"127.0.0.1:{port}"
    await server.stop(None)


async def test_links_that_bring_nothing_and_break_are_not_made_without_a_pause():
    async with brief_links() as target, AsyncSession(target, patience=0.3) as session:
        with pytest.raises(ServerUnavailable, match=r"no link for 0\.3 s: the server ended it"):
            await asyncio.wait_for(session.answer("What?"), WAIT_S)
        assert session.links <= 5


async def test_a_server_that_asks_to_be_left_alone_is_left_alone():
    """For longer than the session's patience, so that it is given up at once."""
    retry = error_details_pb2.RetryInfo()
    retry.retry_delay.FromSeconds(3600)
    full = status_pb2.Status(code=code_pb2.RESOURCE_EXHAUSTED, message="full", details=[any_pb2.Any()])
    full.details[0].Pack(retry)

    class Full(Brief):
        async def Converse(self, messages, context):
            if self.links:
                await context.abort_with_status(rpc_status.to_status(full))
            async for said in super().Converse(messages, context):
                yield said

    async with brief_links(Full()) as target, AsyncSession(target, patience=600) as session:
        with pytest.raises(ServerUnavailable, match="no link for 600 s: full"):
            await asyncio.wait_for(session.answer("What?"), WAIT_S)
        assert session.links == 1


async def test_a_question_waits_for_no_pause_between_attempts():
    """The pauses alone would be longer than the test."""
    async with brief_links() as target, AsyncSession(target) as session, asyncio.timeout(WAIT_S):
        async for news in session.news():
            if isinstance(news, LinkLost):
                await session.ask("And now?")
            if session.links > 100:
                break


async def test_a_link_that_ends_while_a_message_is_sent_tells_what_the_server_said():
    class Taken(session_pb2_grpc.SessionServiceServicer):
        async def Converse(self, messages, context):
            await anext(messages)
            await context.abort(grpc.StatusCode.ABORTED, "a newer link has taken the session over")
            yield

    async def talk(connection):
        while True:
            await connection.write(Ping())
            await asyncio.sleep(0)

    server = grpc.aio.server()
    session_pb2_grpc.add_SessionServiceServicer_to_server(Taken(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    for _ in range(10):
        connection = SessionConnection(f"127.0.0.1:{port}", None)
        await connection.open(Ping())
        talking = asyncio.create_task(talk(connection))
        with pytest.raises(grpc.RpcError) as caught:
            await connection.read()
        assert caught.value.code() is grpc.StatusCode.ABORTED
        talking.cancel()
        await connection.close()
    await server.stop(None)


async def test_on_another_server_the_dialogue_goes_on_and_half_an_answer_is_told_as_lost(tmp_path):
    gate = Gate()
    async with serving(tmp_path) as one, serving(tmp_path) as two, cutting_proxy(one.rpc.port) as proxy:
        async with AsyncSession(proxy.target) as session:
            one.assistant.script = words(4)
            await session.answer("Count.")
            one.assistant.script = words(4, [(2, gate)])
            half = await session.ask("Half?")
            await gate.reached.wait()
            await eventually(lambda: half._feed.begun)
            proxy.move(two.rpc.port)
            proxy.cut(Cut.RST)
            with pytest.raises(SessionLost, match="SESSION_UNKNOWN") as lost:
                await half.answer()
            assert lost.value.status == "UNAVAILABLE"
            assert (await session.answer("And this?", png())).text == "45 crowns"
            news = [each async for each in _now(session)]
        restored = next(each for each in news if isinstance(each, LinkRestored))
        assert (restored.restored, restored.reason) == (Restored.DIALOGUE, "SESSION_UNKNOWN")
        assert any(isinstance(each, LinkLost) for each in news)
        assert [past.question for past in two.assistant.turns[-1].history] == ["Count."]


async def _now(session):
    """What has been told so far."""
    news = session.news()
    for _ in range(len(session._core._news)):
        yield await anext(news)


async def test_a_question_that_a_stopping_server_refuses_is_asked_at_the_next(tmp_path):
    gate = Gate()
    async with serving(tmp_path) as one, serving(tmp_path) as two, cutting_proxy(one.rpc.port) as proxy:
        async with AsyncSession(proxy.target) as session:
            one.assistant.script = words(4, [(2, gate)])
            running = await session.ask("First?")
            await gate.reached.wait()
            proxy.move(two.rpc.port)
            stopping = asyncio.create_task(one.rpc.stop(20))
            refused = await session.ask("Second?", overlap="queue")
            await asyncio.sleep(0)
            gate.open.set()
            assert (await running.answer()).text == text(4)
            assert (await refused.answer()).text == "45 crowns"
            await stopping
        assert [turn.question for turn in two.assistant.turns] == ["Second?"]


async def test_a_later_session_takes_the_dialogue_from_the_state_of_an_earlier_one(tmp_path):
    async with serving(tmp_path) as stage:
        async with AsyncSession(stage.target) as earlier:
            assert earlier.state == b""
            await earlier.answer("Count.")
            state = earlier.state
        async with AsyncSession(stage.target, state=state) as later:
            restored = await told(later, LinkRestored)
            assert (restored.restored, restored.reason) == (Restored.DIALOGUE, "")
            await later.answer("Who founded Jolawex?")
        assert [past.question for past in stage.assistant.turns[-1].history] == ["Count."]
        async with AsyncSession(stage.target, state=bytes(32) + state[32:]) as foreign:
            restored = await told(foreign, LinkRestored)
            assert (restored.restored, restored.reason) == (Restored.NONE, "SESSION_FOREIGN")
        with pytest.raises(InvalidRequest, match="state: 5 bytes"):
            AsyncSession(stage.target, state=b"short")


async def test_a_picture_is_sent_once_for_many_questions(tmp_path):
    async with (
        serving(tmp_path) as stage,
        cutting_proxy(stage.rpc.port) as proxy,
        AsyncSession(proxy.target) as session,
    ):
        frame = await session.show(LARGE)
        await session.answer("One?", frame=frame)
        before = proxy.up
        await session.answer("Two?", frame=frame)
        await session.answer("Three?", LARGE)
        assert proxy.up - before < 2000


async def test_what_is_said_without_a_link_is_said_over_the_next_one(tmp_path):
    async with (
        serving(tmp_path) as stage,
        cutting_proxy(stage.rpc.port) as proxy,
        AsyncSession(proxy.target) as session,
    ):
        frame = await session.show(png())
        await session.answer("One?", frame=frame)
        proxy.refusing = True
        proxy.cut(Cut.RST)
        await eventually(lambda: not session._core._link.linked)
        await session.device(9)
        await session.drop(frame)
        await session.forget()
        after = await session.ask("Two?")
        proxy.refusing = False
        session.hint_reconnect()
        receipt = await told(session, Forgotten)
        assert (receipt.frames, receipt.exchanges) == (1, 1)
        assert (await after.answer()).text == "45 crowns"
        assert [turn.history for turn in stage.assistant.turns] == [(), ()]
        assert session._core._posture is not None


async def test_another_server_is_told_how_the_device_is(tmp_path):
    async with (
        serving(tmp_path) as one,
        serving(tmp_path) as two,
        cutting_proxy(one.rpc.port) as proxy,
        AsyncSession(proxy.target) as session,
    ):
        await session.device(9)
        first = await told(session, PostureChange)
        proxy.move(two.rpc.port)
        proxy.cut(Cut.RST)
        assert await told(session, PostureChange) == first


async def told(session, kind):
    """The next news of a kind."""
    async with asyncio.timeout(WAIT_S):
        return await anext(news async for news in session.news() if isinstance(news, kind))
