"""Speech as the unmodified client of OpenAI asks for it, through real Wyoming servers."""

from __future__ import annotations

import asyncio
import base64
import io
import logging
import wave

import openai
import pytest

from quizglass_bundle.speech_server import speech_server
from quizglass_server.engines.wyoming.hearing import WyomingHearing
from quizglass_server.engines.wyoming.server import WyomingServer
from quizglass_server.engines.wyoming.voice import WyomingVoice
from quizglass_server.roles.speech import HEARING, VOICE
from quizglass_server.web.routes import open_listener
from tests.support.engines.wyoming_server import RATE, SpeechScript, tone, wyoming_serving
from tests.support.rpc_fakes import Stage, serve_stage
from tests.support.web import WebStage


def wav(samples: bytes = tone(16_000), rate: int = 16_000) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setparams((1, 2, rate, 0, "NONE", ""))
        written.writeframes(samples)
    return file.getvalue()


@pytest.fixture
def script() -> SpeechScript:
    return SpeechScript()


@pytest.fixture
async def served(tmp_path, script):
    stage = Stage(tmp_path, web_port=0)
    async with wyoming_serving(script) as uri:
        server = speech_server(uri)
        stage.models[HEARING] = WyomingHearing(WyomingServer(server, "hearing", "asr"), 5.0)
        stage.models[VOICE] = WyomingVoice(WyomingServer(server, "voice", "tts"), 5.0)
        async with serve_stage(stage):
            web = await open_listener(stage.services, stage.rpc, stage.services.settings)
            yield WebStage(stage, web)
            await web.stop(0)


@pytest.fixture
async def client(served):
    async with openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none is needed", max_retries=0) as made:
        yield made


async def test_what_is_said_in_a_file_is_written(client, script):
    told = await client.audio.transcriptions.create(model="whisper-1", file=("question.wav", wav()), language="en")
    assert told.text == "What does this cost?"
    assert told.usage.seconds == 1
    assert script.heard == [tone(16_000)]


async def test_a_transcript_is_plain_text_or_has_its_particulars(client):
    text = await client.audio.transcriptions.create(model="x", file=wav(), response_format="text")
    assert text.strip() == "What does this cost?"
    verbose = await client.audio.transcriptions.create(
        model="x", file=("a.wav", wav(tone(8_000))), response_format="verbose_json"
    )
    assert (verbose.text, verbose.duration, verbose.language) == ("What does this cost?", 0.5, "en")


async def test_a_transcript_comes_while_it_is_written(client, script):
    script.streams = True
    stream = await client.audio.transcriptions.create(model="x", file=("a.wav", wav()), stream=True)
    events = [event async for event in stream]
    assert [event.delta for event in events[:-1]] == ["What", " does", " this", " cost?"]
    assert events[-1].text == "What does this cost?"


@pytest.mark.parametrize(
    ("file", "options", "param"),
    [
        (b"ID3 an mp3", {}, "file"),
        (wav(b"", 16_000), {"response_format": "srt"}, "response_format"),
        (wav(rate=4_000), {}, "file"),
        (wav(bytes(2 * 8_000 * 301), 8_000), {}, "file"),
        (wav(), {"response_format": "verbose_json", "timestamp_granularities": ["word"]}, "timestamp_granularities"),
    ],
)
async def test_what_cannot_be_heard_has_its_reason(client, file, options, param):
    with pytest.raises(openai.BadRequestError) as caught:
        await client.audio.transcriptions.create(model="x", file=("a.wav", file), **options)
    assert caught.value.param == param
    assert (await client.audio.transcriptions.create(model="x", file=("a.wav", wav()))).text


async def test_a_recogniser_that_fails_is_told_by_a_status(client, script):
    script.fault = "die"
    with pytest.raises(openai.InternalServerError) as caught:
        await client.audio.transcriptions.create(model="x", file=("a.wav", wav()))
    assert (caught.value.status_code, caught.value.code) == (503, "engine_lost")
    script.fault = ""
    assert (await client.audio.transcriptions.create(model="x", file=("a.wav", wav()))).text


async def test_what_was_said_and_spoken_is_in_no_log(client, script, caplog):
    with caplog.at_level(logging.DEBUG):
        await client.audio.transcriptions.create(model="x", file=("a.wav", wav()))
        await client.audio.speech.create(model="x", voice="x", input="My number is 4711.")
        script.fault = "die"
        with pytest.raises(openai.InternalServerError):
            await client.audio.transcriptions.create(model="x", file=("a.wav", wav()))
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("quizglass")]
    assert not any("4711" in said or "What does this" in said for said in ours)


async def test_a_text_is_spoken_as_a_wav_file(client, script):
    async with client.audio.speech.with_streaming_response.create(
        model="tts-1", voice="alloy", input="It costs five euros. Anything else?", response_format="wav"
    ) as response:
        assert response.headers["content-type"] == "audio/wav"
        content = await response.read()
    with wave.open(io.BytesIO(content)) as read:
        assert (read.getframerate(), read.getnchannels(), read.getsampwidth()) == (RATE, 1, 2)
    assert [text for text, _ in script.spoken] == ["It costs five euros.", "Anything else?"]
    assert len(content) - 44 == sum(2 * 2 * (len(text) * RATE // 200) for text, _ in script.spoken)


async def test_samples_alone_are_at_the_rate_that_clients_expect(client):
    wav_file = await client.audio.speech.create(model="x", voice="x", input="It costs five euros.")
    pcm = await client.audio.speech.create(model="x", voice="x", input="It costs five euros.", response_format="pcm")
    assert len(pcm.content) / 24_000 == pytest.approx((len(wav_file.content) - 44) / RATE, rel=0.01)


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"response_format": "mp3"}, "response_format"),
        ({"input": ""}, "input"),
        ({"input": "…"}, "input"),
        ({"input": "x" * 4_097}, "input"),
        ({"speed": 2.0}, "speed"),
    ],
)
async def test_what_cannot_be_spoken_has_its_reason(client, options, param):
    with pytest.raises(openai.BadRequestError) as caught:
        await client.audio.speech.create(**{"model": "x", "voice": "x", "input": "Hello."} | options)
    assert caught.value.param == param


async def test_a_voice_that_dies_in_the_middle_ends_the_connection(client, script):
    script.fault = "odd"
    with pytest.raises(openai.APIConnectionError):
        await client.audio.speech.create(model="x", voice="x", input="Hello there.")


async def test_a_client_that_leaves_is_spoken_to_no_longer(client, script):
    script.fault = "endless"
    async with client.audio.speech.with_streaming_response.create(model="x", voice="x", input="x" * 4_000) as response:
        await anext(response.iter_bytes())
        script.left.clear()
    async with asyncio.timeout(60):
        await script.left.wait()


def asked(text: str = "", *files: bytes):
    sounds = [
        {"type": "input_audio", "input_audio": {"data": base64.b64encode(file).decode(), "format": "wav"}}
        for file in files
    ]
    return {"role": "user", "content": [*([{"type": "text", "text": text}] if text else []), *sounds]}


async def test_a_chat_asks_by_voice(client, served):
    answer = await client.chat.completions.create(model="both", messages=[asked("", wav())])
    assert answer.choices[0].message.content == "45 crowns"
    assert answer.quizglass["heard"] == "What does this cost?"
    assert served.stage.assistant.turns[-1].question == "What does this cost?"


async def test_what_was_heard_before_is_not_heard_again(client, served, script):
    past = {"role": "assistant", "content": "Five."}
    messages = [asked("", wav()), past, asked("In this shop:", wav())]
    answer = await client.chat.completions.create(model="both", messages=messages)
    assert len(script.heard) == 1
    turn = served.stage.assistant.turns[-1]
    assert (turn.question, turn.history) == ("In this shop: What does this cost?", ())
    assert answer.quizglass["ignored"] == ["messages[0].content[0].input_audio.data"]


async def test_a_chat_in_which_nothing_is_said_is_refused(client, script):
    script.words = ("[BLANK_AUDIO]",)
    with pytest.raises(openai.BadRequestError, match="no words are heard"):
        await client.chat.completions.create(model="both", messages=[asked("", wav())])


@pytest.mark.parametrize(
    ("data", "kind", "told"), [("!", "wav", "base64"), ("aaaa", "wav", "WAV"), ("aaaa", "mp3", "wav")]
)
async def test_sound_of_a_chat_that_cannot_be_read_names_its_place(client, data, kind, told):
    message = {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": data, "format": kind}}]}
    with pytest.raises(openai.BadRequestError, match=told) as caught:
        await client.chat.completions.create(model="both", messages=[message])
    assert caught.value.param.startswith("messages[0].content[0].input_audio")


async def test_a_server_without_speech_says_how_to_get_it(tmp_path):
    stage = Stage(tmp_path, web_port=0)
    async with serve_stage(stage):
        web = await open_listener(stage.services, stage.rpc, stage.services.settings)
        async with openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{web.port}/v1", api_key="x", max_retries=0) as client:
            with pytest.raises(openai.APIStatusError, match="--hearing"):
                await client.audio.transcriptions.create(model="x", file=("a.wav", wav()))
            with pytest.raises(openai.APIStatusError, match="--voice"):
                await client.audio.speech.create(model="x", voice="x", input="Hello.")
            with pytest.raises(openai.APIStatusError, match="--hearing"):
                await client.chat.completions.create(model="both", messages=[asked("", wav())])
        await web.stop(0)
