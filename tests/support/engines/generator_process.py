"""A generator process on a tiny model, for tests that break it."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from quizglass_server.engines.generator.process.options import ProcessOptions
from quizglass_server.engines.generator.process.programs import Origin, Program
from quizglass_server.engines.generator.process.supervisor import GeneratorProcess
from quizglass_server.engines.generator.process.watch import WatchOptions
from quizglass_server.engines.generator.prompt import Finished, Part, PicturePart, Piece, TextPart
from tests.support.bundles.tiny_models import HEIGHT, WIDTH, write_generator

PROMPT: list[Part] = [TextPart("<|im_start|>", trusted=True), TextPart("Tell me a long story", trusted=False)]
_FAKE = Path(__file__).with_name("fake_llama_server.py")
CONTEXT = 8192
LONG = 8000
"""Tokens: long enough that a test can act before the answer is complete, even when steps take microseconds."""
PATIENCE_S = 120
"""Seconds: a process that is started proves itself, which takes its time on a busy machine."""


def tiny_options(directory: Path) -> ProcessOptions:
    """Of a process on a tiny model, which is written; without a time limit."""
    made = write_generator(directory, context=CONTEXT)
    patient = {"restart_wait_s": PATIENCE_S, "save_wait_s": PATIENCE_S}
    watch = WatchOptions(silent_s=PATIENCE_S)
    return ProcessOptions(made.model, made.projector, CONTEXT, watch=watch, **patient)


@asynccontextmanager
async def started(options: ProcessOptions, **changed: object) -> AsyncIterator[GeneratorProcess]:
    """A process that serves, from entering to leaving."""
    process = GeneratorProcess(replace(options, **changed))  # type: ignore[arg-type]
    await process.start()
    try:
        yield process
    finally:
        await process.close()


def picture(number: int) -> PicturePart:
    """One picture of many, of one colour."""
    rgb = bytes([number % 256]) * (WIDTH * HEIGHT * 3)
    return PicturePart(sha256(rgb).digest(), WIDTH, HEIGHT, rgb)


async def complete(process: GeneratorProcess, tokens: int = 8) -> list[Piece | Finished]:
    """A whole answer."""
    return [item async for item in (await process.client()).generate(PROMPT, tokens)]


async def texts(process: GeneratorProcess, tokens: int = 8, prompt: Sequence[Part] = PROMPT) -> list[str]:
    """The texts of an answer's tokens."""
    return [item.text async for item in (await process.client()).generate(prompt, tokens) if isinstance(item, Piece)]


async def drain(stream: AsyncGenerator[Piece | Finished, None]) -> None:
    """Read to the end."""
    async for _ in stream:
        pass


def kill(process: GeneratorProcess, number: int = signal.SIGKILL) -> None:
    """Send a signal to the process that serves."""
    assert process.pid is not None
    os.kill(process.pid, number)


async def until(process: GeneratorProcess, ready: bool) -> None:
    """Wait until it is ready, or is not."""
    changed = asyncio.Event()
    process.on_change = changed.set
    async with asyncio.timeout(PATIENCE_S):
        while process.ready is not ready:
            await changed.wait()
            changed.clear()


def fake_program(mode: str, folder: Path) -> Program:
    """A llama-server that behaves as `mode` says, and notes its starts in a file of the folder: a script, which may."""
    script = folder / f"fake-{re.sub(r'[^a-z]+', '-', mode.lower())}"
    command = shlex.join((sys.executable, str(_FAKE), mode, str(folder / "starts")))
    script.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    script.chmod(0o755)
    return Program(Origin.NAMED, (str(script),))
