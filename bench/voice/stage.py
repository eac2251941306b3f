"""A server of the demo's bundle and notes that hears and speaks."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.request
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from bench.hostile.sections import Setup
from bench.processes import running_server
from clients.demo.album import write_album
from clients.demo.demo import import_folder
from quizglass_client import AsyncClient
from quizglass_client.local import LocalServer
from quizglass_export.everyday.speech import SpeechCommands

_READY_S = 180.0


@dataclass(frozen=True)
class VoiceSetup(Setup):
    """What every section of voice works with."""

    demo: Path
    """Work directory of `make voice`."""
    speech: SpeechCommands
    everyday: Path
    """The everyday bundle, which may not be there."""


@dataclass(frozen=True)
class VoiceStage:
    """A server that serves, hears and speaks."""

    server: LocalServer
    pictures: Path
    """Photographs of the demo, as they are asked about."""

    async def heard(self, wav: bytes) -> str:
        """What is said in a file, by OpenAI's door."""
        return await asyncio.to_thread(_heard, self.server.web, wav)


def _heard(web: str, wav: bytes) -> str:
    mark = uuid.uuid4().hex
    head = 'Content-Disposition: form-data; name="file"; filename="question.wav"'
    body = f"--{mark}\r\n{head}\r\n\r\n".encode() + wav + f"\r\n--{mark}--\r\n".encode()
    headers = {"Content-Type": f"multipart/form-data; boundary={mark}"}
    request = urllib.request.Request(f"{web}/v1/audio/transcriptions", body, headers)
    with urllib.request.urlopen(request, timeout=300) as response:
        return str(json.load(response)["text"])


@asynccontextmanager
async def served(setup: VoiceSetup, flags: Sequence[str] = ()) -> AsyncIterator[VoiceStage]:
    """Such a server, stopped by its own process id afterwards."""
    setup.say("starting a server that hears and speaks")
    notes, pictures = await asyncio.to_thread(write_album, setup.demo)
    knowledge = setup.folder / "voice-knowledge"
    rmtree(knowledge, ignore_errors=True)
    usual = ("--web-port", "0", "--speech-patience-s", "120", *setup.speech.flags())
    local = LocalServer(setup.bundle, knowledge, flags=(*usual, *flags), log=setup.folder / "voice.log")
    async with running_server(local) as server:
        await asyncio.to_thread(import_folder, server.target, notes)
        await _ready(server.target)
        yield VoiceStage(server, pictures)


async def _ready(target: str) -> None:
    due = time.monotonic() + _READY_S
    async with AsyncClient(target) as client:
        while True:
            roles = (await client.capabilities()).roles
            waiting = [role for role in roles if role.role in ("hearing", "voice") and not role.ready]
            if not waiting:
                return
            if time.monotonic() > due:
                raise SystemExit(f"{waiting[0].role} does not serve: {waiting[0].notice}")
            await asyncio.sleep(0.2)
