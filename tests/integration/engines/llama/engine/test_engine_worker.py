"""The engine's thread as the event loop sees it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from itertools import count
from threading import Event
from time import monotonic

import pytest

from quizglass_server.engines.llama.child.worker import EngineWorker
from quizglass_server.engines.llama.engine.engine import Engine
from quizglass_server.engines.llama.link.prompt import (
    Urgency,
)
from quizglass_server.engines.llama.native.batch import EmbeddingBatch, TokenBatch
from quizglass_server.engines.llama.native.model import NativeModel
from tests.support.engines.engine_runs import SMALL_PIECES, prompt
from tests.support.engines.tiny_engine import collected


async def test_closing_a_stream_ends_its_request(worker: EngineWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    decode, steps, closed = worker.engine.model.decode, count(), Event()

    def held(batch: TokenBatch | EmbeddingBatch) -> int:
        """Steps take no time: one of them waits, or the answer might be complete before the stream is closed."""
        if next(steps) == 50:
            assert closed.wait(60)
        return decode(batch)

    monkeypatch.setattr(worker.engine.model, "decode", held)
    async with aclosing(worker.generate(prompt("Tell me"), 400)) as stream:
        await anext(stream)
    closed.set()
    while worker.engine.pending:  # noqa: ASYNC110
        await asyncio.sleep(0)
    assert worker.engine.stats().active == 0
    assert worker.engine.stats().decode_steps < 100


async def test_vitals_tell_what_the_engine_does(worker: EngineWorker) -> None:
    before = worker.engine.stats()
    assert not before.busy
    await collected(worker, prompt("What?"), 8, Urgency())
    after = worker.engine.stats()
    assert after.decode_steps > before.decode_steps
    assert (after.encoded_pictures, after.kept, after.active, after.waiting) == (1, 1, 0, 0)
    assert after.prefilled_tokens > 16
    assert after.step_us == SMALL_PIECES.step_us
    assert monotonic() - after.beat < 60


async def test_a_thread_that_cannot_go_on_says_so(model: NativeModel, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = asyncio.Event()
    loop = asyncio.get_running_loop()

    def note() -> None:
        loop.call_soon_threadsafe(broken.set)

    worker = await EngineWorker.start(lambda: Engine(model, [], SMALL_PIECES), note)
    monkeypatch.setattr(worker.engine.scheduler, "plan", lambda: 1 / 0)
    call = asyncio.create_task(worker.choose(prompt("What?"), ["a", "b"]))
    await broken.wait()
    call.cancel()
