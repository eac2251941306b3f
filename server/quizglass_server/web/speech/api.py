"""The applications of `/v1/audio/transcriptions` and `/v1/audio/speech`."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, aclosing
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from quizglass_server.decoding.picture_cache import PictureCache
from quizglass_server.decoding.resampling import Resampler, mono
from quizglass_server.domain.sound import Sound, SoundFormat
from quizglass_server.errors import InvalidInput, QuizglassError, needed, reported
from quizglass_server.observe import metrics
from quizglass_server.roles.speech import Hearing, Voice
from quizglass_server.scheduling.allowances import check_engines
from quizglass_server.web.http.asgi import Receive, Scope, Send, header, respond, respond_json, while_connected
from quizglass_server.web.http.bodies import uncompressed
from quizglass_server.web.http.gate import Route
from quizglass_server.web.http.problems import problem, respond_problem
from quizglass_server.web.speech.form import Form, read_form
from quizglass_server.web.speech.sounds import heard, pieces, recorded
from quizglass_server.web.speech.wav import wav_head

TRANSCRIPTIONS, SPEECH = "/v1/audio/transcriptions", "/v1/audio/speech"
_MOST_FILE, _MOST_SPEECH = 25 << 20, 64 << 10
"""Bytes of bodies; of files as many as OpenAI takes."""
_BECOMES = 4
"""A file, its form, its samples, and those at another rate are held at once, at most."""
_MOST_INPUT = 4096
_TELEPHONE = SoundFormat(rate_hz=24_000)
"""What `pcm` is to OpenAI's clients, who are not told its rate."""
_SENTENCE = re.compile(r"(?<=[.!?…])[\s]+|\n+")
_FORMATS = ("json", "text", "verbose_json")


class _Speech(BaseModel):
    """What is read of a body of `/v1/audio/speech`."""

    input: str = Field(min_length=1, max_length=_MOST_INPUT)
    voice: str | dict[str, Any] = ""
    response_format: Literal["wav", "pcm"] = "wav"
    speed: Literal[1] | None = None
    stream_format: Literal["audio"] = "audio"


class SpeechApi:
    """Hears and speaks.

    Args:
        hearing: recognises speech; None: nothing does.
        voice: speaks; None: nothing does.
        running: counts what runs, and refuses what must not.
        memory: admits the memory of held requests.
    """

    def __init__(
        self,
        hearing: Hearing | None,
        voice: Voice | None,
        running: Callable[[str], AbstractContextManager[None]],
        memory: PictureCache,
    ) -> None:
        self._hearing = hearing
        self._voice = voice
        self._running = running
        self._memory = memory

    def routes(self) -> dict[str, Route]:
        """What answers requests, by path."""
        return {
            TRANSCRIPTIONS: Route(self.transcribe, ("POST",), _MOST_FILE),
            SPEECH: Route(self.speak, ("POST",), _MOST_SPEECH),
        }

    async def transcribe(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with what is said in a file; a client that goes away is listened to no longer."""
        body = await uncompressed(scope, receive)
        try:
            with self._running("transcription"):
                check_engines()
                hearing = needed(self._hearing, "hearing", TRANSCRIPTIONS)
                async with self._memory.received(_BECOMES * len(body)):
                    form = await asyncio.to_thread(read_form, body, header(scope, b"content-type") or "")
                    del body
                    await while_connected(receive, _transcribed(hearing, form, send))
        except Exception as error:
            await _refuse(send, reported(error, "transcription"))

    async def speak(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with a text as sound, while it is spoken."""
        body = await uncompressed(scope, receive)
        sending = _Spoken(send)
        try:
            with self._running("speech"):
                check_engines()
                voice, asked = needed(self._voice, "voice", SPEECH), _asked(body)
                await while_connected(receive, sending.all(voice, asked))
        except Exception as error:
            if sending.begun:
                raise  # the connection is closed, which is how a client learns that its sound is not whole
            await _refuse(send, reported(error, "speech"))


async def _refuse(send: Send, error: QuizglassError) -> None:
    metrics.REFUSALS.add(error.code)
    await respond_problem(send, error, {})


async def _transcribed(hearing: Hearing, form: Form, send: Send) -> None:
    told, stream = _wanted(form), form.fields.get("stream", "").lower() in ("true", "1")
    if (content := form.files.get("file")) is None:
        raise InvalidInput("file", "is missing; send a WAV file")
    language = form.fields.get("language", "")[:35]
    if stream:
        await _streamed(hearing, content, language, send)
        return
    transcript = await heard(hearing, content, language, "file")
    samples, format = await recorded(content, "file")
    seconds = round(format.seconds(len(samples)), 3)
    usage = {"type": "duration", "seconds": seconds}
    match told:
        case "text":
            await respond(send, 200, f"{transcript.text}\n".encode(), "text/plain; charset=utf-8")
        case "verbose_json":
            about = {"task": "transcribe", "language": transcript.language or language, "duration": seconds}
            await respond_json(send, 200, {**about, "text": transcript.text, "usage": usage})
        case _:
            await respond_json(send, 200, {"text": transcript.text, "usage": usage})


def _wanted(form: Form) -> str:
    """The form of the answer."""
    told = form.fields.get("response_format", "json")
    if told not in _FORMATS:
        raise InvalidInput("response_format", f"{told[:40]!r} is not supported here; take one of {', '.join(_FORMATS)}")
    if form.fields.get("timestamp_granularities[]", "segment") != "segment":
        raise InvalidInput("timestamp_granularities", "words have no times here; leave it out")
    return told


async def _streamed(hearing: Hearing, content: bytes, language: str, send: Send) -> None:
    """The transcript while it is written, as events."""
    samples, format = await recorded(content, "file")
    headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
    begun, told = False, ""

    async def say(content: Mapping[str, Any]) -> None:
        nonlocal begun
        if not begun:
            begun = True
            await send({"type": "http.response.start", "status": 200, "headers": headers})
        event = f"data: {json.dumps(content, ensure_ascii=False)}\n\n".encode()
        await send({"type": "http.response.body", "body": event, "more_body": True})

    try:
        async with aclosing(hearing.transcribe(pieces(samples), format, language)) as transcripts:
            async for transcript in transcripts:
                if transcript.text.startswith(told) and (new := transcript.text[len(told) :]):
                    await say({"type": "transcript.text.delta", "delta": new})
                    told = transcript.text
                if transcript.final:
                    await say({"type": "transcript.text.done", "text": transcript.text})
    except QuizglassError as error:
        if not begun:
            raise
        await say({"type": "error", **problem(reported(error, "transcription"), {})})
    await send({"type": "http.response.body", "body": b""})


def _asked(body: bytes) -> _Speech:
    try:
        return _Speech.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = str(first["loc"][0]) if first["loc"] else "body"
        hint = "; give response_format wav or pcm" if place == "response_format" else ""
        raise InvalidInput(place, f"{first['msg']}{hint}") from None


async def _sentences(text: str) -> AsyncIterator[str]:
    """The sentences of a text: the first is heard before the others are spoken."""
    for sentence in _SENTENCE.split(text):
        if sentence.strip():
            yield sentence


class _Spoken:
    """The sound of one text, sent as it comes."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False
        self._format: SoundFormat | None = None
        self._resampler: Resampler | None = None

    async def all(self, voice: Voice, asked: _Speech) -> None:
        """Speak a text to its end."""
        pcm = asked.response_format == "pcm"
        name = asked.voice if isinstance(asked.voice, str) else str(asked.voice.get("id", ""))
        async with aclosing(voice.speak(_sentences(asked.input), name=name[:100])) as sounds:
            async for sound in sounds:
                await self._piece(sound, pcm=pcm)
        if self._format is None:
            raise InvalidInput("input", "has no words that could be spoken")
        rest = b"" if self._resampler is None else self._resampler.end().tobytes()
        await self._send({"type": "http.response.body", "body": rest})

    async def _piece(self, sound: Sound, *, pcm: bool) -> None:
        if self._format is None:
            self._format = sound.format
            if pcm:
                self._resampler = Resampler(sound.format.rate_hz, _TELEPHONE.rate_hz)
            kind = b"audio/pcm" if pcm else b"audio/wav"
            await self._send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
            self.begun = True
            if not pcm:
                await self._say(wav_head(sound.format))
        samples = sound.samples
        if self._resampler is not None:
            samples = self._resampler.take(mono(samples, sound.format.channels)).tobytes()
        if samples:
            await self._say(samples)

    async def _say(self, body: bytes) -> None:
        await self._send({"type": "http.response.body", "body": body, "more_body": True})
