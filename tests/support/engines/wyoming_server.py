"""A server of the Wyoming protocol that hears and speaks as a test says, in the test's process or as a program.

As a program it takes `--uri`, as all such servers do, and the fields of `SpeechScript`: `--fault hang`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from urllib.parse import urlsplit

from wyoming.asr import Transcript, TranscriptChunk, TranscriptStart, TranscriptStop
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.error import Error
from wyoming.event import Event, async_read_event, async_write_event

RATE = 22_050
WORDS = ("What", " does", " this", " cost?")
_ABOUT = {"attribution": {"name": "tests", "url": ""}, "installed": True, "description": None, "version": "1"}


@dataclass
class SpeechScript:
    """What the server does; a test changes it between requests."""

    words: tuple[str, ...] = WORDS
    """What is heard, whatever is said; told piece by piece where `streams`."""
    language: str = "en"
    streams: bool = False
    """Whether transcripts and texts are streamed."""
    serves: str = "asr tts"
    fault: str = ""
    """hang, die, no event, garbage, error, huge, endless, odd, no format, other version; empty: none."""
    writes: bool = False
    """Whether each speech is written to a temporary file, as `wyoming-faster-whisper` does."""
    heard: list[bytes] = field(default_factory=list)
    """Samples of each speech."""
    spoken: list[tuple[str, str]] = field(default_factory=list)
    """Texts, and the voice that each was to be spoken by."""
    asked: list[str] = field(default_factory=list)
    """Types of the events that came."""
    listening: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the first sound has come."""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a client has gone away."""

    def info(self) -> Event:
        about = {**_ABOUT, "name": "fake"}
        models = [{**about, "languages": ["en", "de"]}]
        streams = {"supports_transcript_streaming": self.streams, "supports_synthesize_streaming": self.streams}
        services = {"asr": [{**about, "models": models, **streams}], "tts": [{**about, "voices": models, **streams}]}
        if self.fault == "other version":
            return Event("info", {"asr": "many", "tts": "many"})
        return Event("info", {name: what if name in self.serves else [] for name, what in services.items()})


class _Connection:
    def __init__(self, script: SpeechScript, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.script, self.reader, self.writer = script, reader, writer
        self.sound, self.text, self.voice = bytearray(), "", ""

    async def run(self) -> None:
        try:
            while (event := await async_read_event(self.reader)) is not None:
                self.script.asked.append(event.type)
                await self.take(event)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.script.left.set()
            self.writer.close()

    async def say(self, event: Event) -> None:
        await async_write_event(event, self.writer)

    async def take(self, event: Event) -> None:
        match event.type:
            case "describe":
                await self.say(self.script.info())
            case "audio-chunk":
                self.sound += event.payload or b""
                self.script.listening.set()
            case "audio-stop":
                self.script.heard.append(bytes(self.sound))
                if self.script.writes:
                    with NamedTemporaryFile() as file:
                        file.write(self.sound)
                        file.flush()
                await self.hear()
            case "synthesize":
                self.begin(event)
                await self.speak(str(event.data["text"]))
            case "synthesize-start":
                self.begin(event)
            case "synthesize-chunk":
                self.text += str(event.data["text"])
            case "synthesize-stop":
                await self.speak(self.text)
                await self.say(Event("synthesize-stopped"))

    def begin(self, event: Event) -> None:
        self.voice, self.text = str(event.data.get("voice", "")), ""

    async def hear(self) -> None:
        await self.fail()
        script, text = self.script, "".join(self.script.words)
        if script.streams:
            await self.say(TranscriptStart(language=script.language).event())
            for word in script.words:
                await self.say(TranscriptChunk(word).event())
        if script.fault == "endless":
            while True:
                await self.say(TranscriptChunk("and so on " * 100).event())
        await self.say(Transcript(text, language=script.language).event())
        if script.streams:
            await self.say(TranscriptStop().event())

    async def speak(self, text: str) -> None:
        """Ten milliseconds a character, as two pieces."""
        await self.fail()
        self.script.spoken.append((text, self.voice))
        await self.say(AudioStart(RATE, 2, 1).event())
        for _ in range(2):
            await self.say(AudioChunk(RATE, 2, 1, tone(len(text) * RATE // 200)).event())
        while self.script.fault == "endless":
            await self.say(AudioChunk(RATE, 2, 1, bytes(2 * RATE)).event())
        if self.script.fault == "odd":
            await self.say(AudioChunk(RATE, 2, 1, b"odd").event())
        if self.script.fault == "no format":
            await self.say(Event("audio-chunk", {}, b"1234"))
        await self.say(AudioStop().event())

    async def fail(self) -> None:
        match self.script.fault:
            case "hang":
                await asyncio.Event().wait()
            case "die":
                self.writer.transport.abort()
                raise ConnectionResetError
            case "exit":
                os._exit(9)
            case "no event":
                self.writer.write(b"[1, 2]\n")
            case "garbage":
                self.writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            case "huge":
                self.writer.write(b'{"type": "audio-chunk", "payload_length": 4294967296}\n')
            case "error":
                await self.say(Error("the model is\x1b[31m broken", "X").event())


def tone(samples: int) -> bytes:
    """A sound that is not silence."""
    return struct.pack(f"<{samples}h", *(8_000 * (-1) ** (index // 25) for index in range(samples)))


@asynccontextmanager
async def wyoming_serving(script: SpeechScript, uri: str = "tcp://127.0.0.1:0") -> AsyncIterator[str]:
    """Serve, on the test's own loop; gives the address."""
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        await _Connection(script, reader, writer).run()

    parts = urlsplit(uri)
    if parts.scheme == "unix":
        server = await asyncio.start_unix_server(connected, parts.path)
    else:
        server = await asyncio.start_server(connected, parts.hostname, parts.port)
        uri = f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield uri
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


async def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--uri", required=True)
    parser.add_argument("--fault", default="")
    parser.add_argument("--starts", type=Path, help="file to which each start adds its process id")
    parser.add_argument("--writes", action="store_true")
    parser.add_argument("--fails-at-start", action="store_true")
    given = parser.parse_args()
    if given.starts:
        with given.starts.open("a") as file:
            file.write(f"{os.getpid()}\n")
    if given.fails_at_start:
        raise SystemExit("error: no such model: whisper-colossal")
    async with wyoming_serving(SpeechScript(fault=given.fault, writes=given.writes), given.uri):
        print("heard: my secret is 4711", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main())
