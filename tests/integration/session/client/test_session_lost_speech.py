"""Spoken questions whose session is lost before they are understood, with the Python client over real sockets."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from bench.session.cutting_proxy import Cut, cutting_proxy
from quizglass.session import SpeechState, SpeechStatus, SpeechTranscript
from quizglass_client import AsyncSession, Cancelled, ClientError, LinkRestored, SessionLost
from tests.support.gate import Gate
from tests.support.rpc_fakes import serving
from tests.support.sessions.speech import hearing_and_speaking, silence, tone, wav


class Lost:
    """A session behind a proxy, whose first server hears and gives no transcript, and another server."""

    def __init__(self, first, second, proxy, session):
        self.first, self.second, self.proxy, self.session = first, second, proxy, session

    async def ended(self, turn):
        """Wait until the server has all of a question."""
        async for said in turn:
            if isinstance(said, SpeechStatus) and said.state is SpeechState.ENDED:
                return

    def away(self):
        """Cut the link, and make none."""
        self.proxy.refusing = True
        self.proxy.cut(Cut.RST)

    def back(self, stage):
        """Make links again, to that server."""
        self.proxy.move(stage.rpc.port)
        self.proxy.refusing = False
        self.session.hint_reconnect()


@pytest.fixture
async def lost(tmp_path, request):
    settings = getattr(request, "param", {})
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(hearing_and_speaking(tmp_path))
        second = await stack.enter_async_context(
            serving(tmp_path) if settings is None else hearing_and_speaking(tmp_path, **settings)
        )
        first.hearing.gate = Gate()
        proxy = await stack.enter_async_context(cutting_proxy(first.rpc.port))
        session = await stack.enter_async_context(AsyncSession(proxy.target))
        yield Lost(first, second, proxy, session)


async def test_a_question_that_was_spoken_is_heard_and_answered_once_by_the_next_session(lost):
    turn = await lost.session.say(wav(tone(1.0)))
    await lost.ended(turn)
    lost.away()
    lost.back(lost.second)
    told = [said async for said in turn]
    assert [said.text for said in told if isinstance(said, SpeechTranscript) and said.final] == ["What is this?"]
    assert SpeechState.ENDED not in [getattr(said, "state", None) for said in told]  # it came before
    assert (await turn.answer()).text == "45 crowns"
    assert (lost.first.hearing.heard, lost.second.hearing.heard) == ([tone(1.0)], [tone(1.0)])
    assert (len(lost.first.assistant.turns), len(lost.second.assistant.turns)) == (0, 1)


async def test_a_session_that_is_resumed_is_sent_nothing_again(lost):
    turn = await lost.session.say(wav(tone(1.0)))
    await lost.ended(turn)
    lost.away()
    before = lost.proxy.up
    lost.back(lost.first)
    async for news in lost.session.news():
        if isinstance(news, LinkRestored):
            break
    lost.first.hearing.gate.open.set()
    assert (await turn.answer()).text == "45 crowns"
    assert lost.proxy.up - before < 16_000  # the sound has twice as much
    assert lost.first.hearing.heard == [tone(1.0)]


async def test_speech_that_begins_meanwhile_is_not_refused(lost):
    lost.second.hearing.texts = ["First?", "Second?"]
    first = await lost.session.say(wav(tone(1.0)), overlap="queue")
    await lost.ended(first)
    lost.away()
    second = await lost.session.say(wav(tone(0.5)), overlap="queue")
    lost.back(lost.second)
    assert [(await turn.transcript()).text for turn in (first, second)] == ["First?", "Second?"]
    assert [(await turn.answer()).text for turn in (first, second)] == ["45 crowns"] * 2
    assert lost.second.hearing.heard == [tone(1.0), tone(0.5)]


async def test_silence_behind_a_question_does_not_interrupt_it(lost):
    def microphone():
        yield silence(0.8) + tone(0.6) + silence(1.2)
        yield silence(0.1)

    turns = lost.session.listen(microphone())
    first = await anext(turns)
    await lost.ended(first)
    await lost.ended(await anext(turns))
    lost.away()
    lost.back(lost.second)
    assert (await first.answer()).text == "45 crowns"
    assert len(lost.second.hearing.heard) == 1


async def test_a_question_that_was_cancelled_meanwhile_is_not_asked(lost):
    first = await lost.session.say(wav(tone(1.0)))
    await lost.ended(first)
    lost.away()
    second = await lost.session.say(wav(tone(0.5)), overlap="queue")
    await first.cancel()
    await second.cancel()
    lost.back(lost.second)
    for turn in (first, second):
        with pytest.raises(Cancelled):
            await turn.answer()
    third = await lost.session.say(wav(tone(0.5)))
    assert (await third.answer()).text == "45 crowns"
    assert len(lost.second.assistant.turns) == 1


async def test_what_was_to_be_forgotten_is_not_sent_again(lost):
    turn = await lost.session.say(wav(tone(1.0)))
    await lost.ended(turn)
    lost.away()
    await lost.session.forget()
    lost.back(lost.second)
    with pytest.raises(SessionLost) as failed:
        await turn.answer()
    assert failed.value.reason == "SOUND_LOST"
    assert lost.second.hearing.heard == []
    again = await lost.session.say(wav(tone(0.5)))
    assert (await again.answer()).text == "45 crowns"


@pytest.mark.parametrize("lost", [None], indirect=True)
async def test_a_server_that_hears_nothing_says_so_at_once(lost):
    turn = await lost.session.say(wav(tone(1.0)))
    await lost.ended(turn)
    lost.away()
    lost.back(lost.second)
    with pytest.raises(ClientError) as failed:
        await turn.answer()
    assert failed.value.reason == "ROLE_MISSING"


async def test_sound_that_is_not_kept_any_more_is_told_at_once_and_the_next_question_works(lost):
    lost.first.hearing.gate.open.set()
    begun, cut = asyncio.Event(), asyncio.Event()

    async def microphone():
        yield silence(0.1, rate_hz=48_000)
        begun.set()
        await cut.wait()
        for _ in range(9 * 32):  # 9 MiB
            yield bytes(32 * 1024)
        await asyncio.Event().wait()

    turn = await lost.session.say(microphone(), rate_hz=48_000, ends_by_silence=True)
    await begun.wait()
    await anext(turn)
    lost.away()
    cut.set()
    with pytest.raises(SessionLost) as failed:
        await turn.answer()
    assert failed.value.reason == "SOUND_LOST"
    lost.back(lost.first)
    again = await lost.session.say(wav(tone(0.5)))
    assert (await again.answer()).text == "45 crowns"


@pytest.mark.parametrize(("lost", "seconds"), [({}, 60), ({"session_speech_s": 5.0}, 40)], indirect=["lost"])
async def test_a_question_of_an_open_microphone_that_went_on_recording_is_heard_and_so_is_the_next(lost, seconds):
    lost.second.hearing.texts = ["First?", "Second?"]
    cut, back = asyncio.Event(), asyncio.Event()

    async def microphone():
        yield silence(0.8) + tone(0.6)
        await cut.wait()
        for _ in range(seconds):
            yield silence(1.0)
        yield tone(0.6) + silence(1.2)
        back.set()
        while True:
            await asyncio.sleep(0.1)
            yield silence(0.1)

    turns = lost.session.listen(microphone(), overlap="queue")
    first = await anext(turns)
    async for said in first:
        if isinstance(said, SpeechStatus) and said.state is SpeechState.VOICE:
            break
    lost.away()
    cut.set()
    await back.wait()
    lost.back(lost.second)
    assert (await first.transcript()).text == "First?"
    assert (await (await anext(turns)).transcript()).text == "Second?"
    assert len(lost.second.hearing.heard) == 2
    await turns.aclose()


async def test_packets_of_opus_are_sent_again_from_shortly_before_the_first_word(lost):
    pytest.importorskip("av")
    from tests.support.sessions.opus import encoded

    sound = silence(5.0, rate_hz=48_000) + tone(1.0, rate_hz=48_000) + silence(1.0, rate_hz=48_000)
    turn = await lost.session.say(encoded(sound), codec="opus", ends_by_silence=True)
    await lost.ended(turn)
    lost.away()
    lost.back(lost.second)
    assert (await turn.answer()).text == "45 crowns"
    (before,), (heard,) = lost.first.hearing.heard, lost.second.hearing.heard
    assert len(heard) == pytest.approx(len(before), abs=3_200)
    assert len(heard) < 32_000 * 3
