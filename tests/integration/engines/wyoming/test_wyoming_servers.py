"""Recognisers and voices behind the Wyoming protocol: real servers on real sockets, which also fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from quizglass_bundle.speech_server import speech_server
from quizglass_server.domain.sound import Sound, SoundFormat, Transcript
from quizglass_server.engines.wyoming.hearing import WyomingHearing
from quizglass_server.engines.wyoming.server import WyomingServer
from quizglass_server.engines.wyoming.voice import WyomingVoice
from quizglass_server.errors import EngineFailed, EngineLost, InvalidInput, Overloaded, QuizglassError
from quizglass_server.scheduling.ledger import ByteLedger, entered_in
from tests.support.engines.wyoming_server import RATE, SpeechScript, tone, wyoming_serving
from tests.support.gate import Gate

HEARD = SoundFormat()
SECOND = tone(16_000)
PATIENCE_S = 0.3


@asynccontextmanager
async def hearing(script: SpeechScript, **options: float) -> AsyncIterator[WyomingHearing]:
    async with wyoming_serving(script) as uri:
        made = WyomingHearing(WyomingServer(speech_server(uri), "hearing", "asr"), **{"patience_s": 30.0, **options})
        yield made
        await made.close()


@asynccontextmanager
async def voice(script: SpeechScript, patience_s: float = 30.0) -> AsyncIterator[WyomingVoice]:
    async with wyoming_serving(script) as uri:
        made = WyomingVoice(WyomingServer(speech_server(uri), "voice", "tts"), patience_s)
        yield made
        await made.close()


async def said(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def texts(*each: str) -> AsyncIterator[str]:
    for text in each:
        yield text


async def heard(
    by: WyomingHearing, *pieces: bytes, format: SoundFormat = HEARD, language: str = ""
) -> list[Transcript]:
    return [each async for each in by.transcribe(said(*pieces), format, language)]


async def spoken(by: WyomingVoice, *each: str, language: str = "", name: str = "") -> list[Sound]:
    return [sound async for sound in by.speak(texts(*each), language, name)]


async def test_a_speech_becomes_one_transcript() -> None:
    script = SpeechScript()
    async with hearing(script) as by:
        assert await heard(by, SECOND, language="en-GB") == [Transcript("What does this cost?", True, "en")]
        assert by.ready
        assert by.languages == {"en", "de"}
    assert script.heard == [SECOND]


async def test_partial_transcripts_come_where_the_server_gives_them() -> None:
    async with hearing(SpeechScript(streams=True)) as by:
        told = await heard(by, SECOND)
    assert [(each.text, each.final) for each in told] == [
        ("What", False),
        ("What does", False),
        ("What does this", False),
        ("What does this cost?", False),
        ("What does this cost?", True),
    ]


async def test_a_long_transcript_may_come_in_pieces_and_again_as_a_whole() -> None:
    async with hearing(SpeechScript(words=("word " * 2_400,), streams=True)) as by:
        told = await heard(by, SECOND)
    assert [(len(each.text), each.final) for each in told] == [(11_999, False), (11_999, True)]


async def test_the_server_hears_the_first_words_while_the_last_are_said() -> None:
    script, gate = SpeechScript(), Gate()

    async def slowly() -> AsyncIterator[bytes]:
        yield SECOND
        await gate()
        yield SECOND

    async with hearing(script) as by:
        task = asyncio.create_task(anext(by.transcribe(slowly(), SoundFormat())))
        await gate.reached.wait()
        async with asyncio.timeout(60):
            await script.listening.wait()
        gate.open.set()
        assert (await task).final
    assert script.heard == [2 * SECOND]


@pytest.mark.parametrize("size", [1, 7, 3_200, 100_000])
async def test_pieces_may_be_cut_anywhere(size: int) -> None:
    script = SpeechScript()
    sound = SECOND[: 2 * 4_000]
    pieces = [sound[at : at + size] for at in range(0, len(sound), size)]
    async with hearing(script) as by:
        await heard(by, *pieces)
    assert script.heard == [sound]


@pytest.mark.parametrize(("rate_hz", "channels"), [(48_000, 2), (44_100, 1), (8_000, 1)])
async def test_sound_of_other_rates_is_heard_as_16_khz_in_mono(rate_hz: int, channels: int) -> None:
    script = SpeechScript()
    async with hearing(script) as by:
        await heard(by, tone(rate_hz * channels), format=SoundFormat(rate_hz, channels=channels))
    assert len(script.heard[0]) == pytest.approx(32_000, rel=0.01)


@pytest.mark.parametrize("words", ["", "[BLANK_AUDIO]", " (soft music) ", "♪ ♪", "*breathing*", "..."])
async def test_sound_without_words_is_an_empty_transcript(words: str) -> None:
    async with hearing(SpeechScript(words=(words,))) as by:
        assert [each.text for each in await heard(by, SECOND)] == [""]


async def test_no_sound_at_all_is_sent_to_no_server() -> None:
    script = SpeechScript()
    async with hearing(script) as by:
        assert await heard(by, b"") == [Transcript("", True)]
    assert script.asked == []


@pytest.mark.parametrize(
    ("format", "pieces", "told"),
    [
        (SoundFormat(width_bytes=4), (SECOND,), "32-bit pcm is not taken"),
        (SoundFormat(codec="opus"), (SECOND,), "opus is not taken"),
        (SoundFormat(rate_hz=4_000), (SECOND,), "4000 Hz in 1 channels"),
        (SoundFormat(channels=9), (SECOND,), "in 9 channels"),
        (SoundFormat(), (SECOND, b"x"), "ends in the middle of a sample"),
        (SoundFormat(), (SECOND, SECOND, SECOND), "more than the 2 s"),
    ],
)
async def test_wrong_sound_has_its_reason(format: SoundFormat, pieces: tuple[bytes, ...], told: str) -> None:
    async with hearing(SpeechScript(), most_s=2) as by:
        with pytest.raises(InvalidInput, match=told):
            await heard(by, *pieces, format=format)
        assert len(await heard(by, SECOND)) == 1


FAULTS: list[tuple[str, type[QuizglassError], str]] = [
    ("hang", EngineLost, "sent nothing for 0.3 s"),
    ("die", EngineLost, "closed the connection"),
    ("no event", EngineFailed, "no event of the Wyoming protocol"),
    ("garbage", EngineFailed, "no event of the Wyoming protocol"),
    ("huge", EngineFailed, "an event of 4294967296 bytes"),
    ("error", EngineFailed, r"failed: the model is \[31m broken"),
    ("endless", EngineFailed, "more than"),
]


@pytest.mark.parametrize(("fault", "error", "told"), FAULTS, ids=[fault for fault, _, _ in FAULTS])
async def test_a_recogniser_that_fails_has_its_reason_and_the_next_speech_is_heard(
    fault: str, error: type[QuizglassError], told: str
) -> None:
    script = SpeechScript(fault=fault)
    async with hearing(script, patience_s=PATIENCE_S) as by:
        with pytest.raises(error, match=told):
            await heard(by, SECOND)
        script.fault = ""
        assert [each.text for each in await heard(by, SECOND)] == ["What does this cost?"]


@pytest.mark.parametrize(
    ("fault", "error", "told"),
    [*FAULTS, ("odd", EngineFailed, "middle of a sample"), ("no format", EngineFailed, "without its format")],
)
async def test_a_voice_that_fails_has_its_reason_and_the_next_text_is_spoken(
    fault: str, error: type[QuizglassError], told: str
) -> None:
    script = SpeechScript(fault=fault)
    async with voice(script, PATIENCE_S) as by:
        with pytest.raises(error, match=told):
            await spoken(by, "It costs five euros.")
        script.fault = ""
        assert len(await spoken(by, "It costs five euros.")) == 2


@pytest.mark.parametrize("streams", [False, True])
async def test_sound_names_its_text_and_texts_without_words_are_left_out(*, streams: bool) -> None:
    script = SpeechScript(streams=streams)
    async with voice(script) as by:
        sounds = await spoken(by, "One.", "…", "And\ntwo.")
    assert [sound.text for sound in sounds] == [0, 0, 2, 2]
    assert {sound.format for sound in sounds} == {SoundFormat(RATE)}
    assert [text for text, _ in script.spoken] == ["One.", "And two."]
    assert ("synthesize-stop" in script.asked) is streams


async def test_the_first_sentence_is_heard_while_the_second_is_written() -> None:
    gate = Gate()

    async def written() -> AsyncIterator[str]:
        yield "One."
        await gate()
        yield "Two."

    async with voice(SpeechScript()) as by:
        sounds = by.speak(written())
        assert [(await anext(sounds)).text for _ in range(2)] == [0, 0]
        gate.open.set()
        assert [sound.text async for sound in sounds] == [1, 1]


async def test_a_voice_speaks_as_it_is_asked_to_where_it_can() -> None:
    script = SpeechScript()
    async with voice(script) as by:
        await spoken(by, "Hello.", name="fake")
        await spoken(by, "Hello.", name="alloy")
        await spoken(by, "Hello.", language="de")
        await spoken(by, "Hello.", language="fr")
    assert [chosen for _, chosen in script.spoken] == ["{'name': 'fake'}", "", "{'language': 'de'}", ""]


async def test_a_voice_that_is_interrupted_learns_of_it() -> None:
    script = SpeechScript()
    async with voice(script) as by:
        sounds = by.speak(texts("A long answer. " * 100))
        await anext(sounds)
        script.left.clear()
        await sounds.aclose()
        async with asyncio.timeout(60):
            await script.left.wait()


async def test_a_server_of_the_other_kind_is_distinguished() -> None:
    async with hearing(SpeechScript(serves="tts")) as by:
        with pytest.raises(EngineFailed, match="recognises no speech"):
            await heard(by, SECOND)


async def test_another_version_of_the_protocol_is_told() -> None:
    async with hearing(SpeechScript(fault="other version")) as by:
        with pytest.raises(EngineFailed, match="another version of the Wyoming protocol"):
            await heard(by, SECOND)


async def test_a_server_that_is_not_there_is_lost_and_found(tmp_path: Path) -> None:
    uri = f"unix://{tmp_path / 's'}"
    by = WyomingHearing(WyomingServer(speech_server(uri), "hearing", "asr"), 30.0)
    changed = asyncio.Event()
    by.on_change(changed.set)
    by.start()
    with pytest.raises(EngineLost, match="cannot be reached"):
        await heard(by, SECOND)
    assert not by.ready
    assert "cannot be reached" in by.notice
    async with wyoming_serving(SpeechScript(), uri), asyncio.timeout(60):
        while not by.ready:
            changed.clear()
            await changed.wait()
        assert len(await heard(by, SECOND)) == 1
    await by.close()


async def test_no_more_is_asked_at_once_than_there_are_places() -> None:
    async with hearing(SpeechScript(fault="hang")) as by:
        tasks = [asyncio.create_task(heard(by, SECOND)) for _ in range(64)]
        refused: set[asyncio.Task[list[Transcript]]] = set()
        async with asyncio.timeout(60):
            while len(refused) < 50:  # an address gets 14 of the 16
                refused |= (await asyncio.wait(set(tasks) - refused, return_when=asyncio.FIRST_COMPLETED))[0]
        assert {type(task.exception()) for task in refused} == {Overloaded}
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def test_the_ledger_has_what_was_handed_over() -> None:
    ledger = ByteLedger()
    with entered_in(ledger):
        async with hearing(SpeechScript()) as by:
            await heard(by, SECOND)
        async with voice(SpeechScript()) as by_voice:
            await spoken(by_voice, "Five euros.")
    entries = {each.to: (each.bytes, each.kept, each.elsewhere) for each in ledger.entries(elsewhere=("hearing",))}
    assert entries == {"hearing": (len(SECOND), "", True), "voice": (len("Five euros."), "", False)}
