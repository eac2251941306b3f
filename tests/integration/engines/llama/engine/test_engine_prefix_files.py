"""What the generator has read, saved and restored."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from threading import Event, current_thread

import pytest

from quizglass_server.engines.llama.child.worker import EngineWorker
from quizglass_server.engines.llama.link.prompt import (
    Urgency,
)
from quizglass_server.engines.llama.native.model import NativeModel
from quizglass_server.engines.llama.native.options import LoadOptions
from quizglass_server.engines.llama.prefixes import files as prefix_files
from tests.support.engines.engine_runs import prompt
from tests.support.engines.tiny_engine import LOG, collected, working


async def test_prefixes_survive_a_restart(model: NativeModel, options: LoadOptions, tmp_path: Path) -> None:
    worker = await working(model)
    said = [await collected(worker, prompt(text, seed), 20, Urgency()) for text, seed in (("What?", 1), ("Who?", 2))]
    await worker.prefill(prompt("What else?", 1)[:3])
    assert await worker.files.save(tmp_path) == 3
    other = await working(NativeModel(options, LOG))
    assert await other.files.restore(tmp_path) == 3
    assert await other.files.restore(tmp_path) == 0
    assert other.engine.stats().kept == 3
    # What two of them begin with takes its cells once.
    assert other.engine.stats().cells_used == worker.engine.stats().cells_used
    for (text, before), (question, seed) in zip(said, (("What?", 1), ("Who?", 2)), strict=True):
        again, end = await collected(other, prompt(question, seed), 20, Urgency())
        assert again == text
        assert end.usage.reused_tokens == before.usage.prompt_tokens - 1
        assert not end.usage.encoded_picture


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "foreign", "other options"])
async def test_a_damaged_or_foreign_prefix_is_left_out(
    model: NativeModel, options: LoadOptions, tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    worker = await working(model)
    await collected(worker, prompt("What?"), 4, Urgency())
    assert await worker.files.save(tmp_path) == 1
    path = tmp_path / "0000.prefix"
    content = path.read_bytes()
    if damage == "cut":
        path.write_bytes(content[:-100])
    elif damage == "flipped":
        path.write_bytes(content[:-100] + bytes([content[-100] ^ 1]) + content[-99:])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "foreign":
        path.write_bytes(b"something else")
    changed = replace(options, width=56) if damage == "other options" else options
    other = await working(NativeModel(changed, LOG))
    assert await other.files.restore(tmp_path) == 0
    assert path.name in caplog.text
    assert (await collected(other, prompt("What?", None), 4, Urgency()))[1].reason == "length"


async def test_model_files_are_hashed_once_and_before_there_is_a_hurry(
    worker: EngineWorker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[tuple[str, str]] = []
    begun, go_on = Event(), Event()

    def digest(path: Path) -> str:
        begun.set()
        go_on.wait()
        hashed.append((current_thread().name, path.name))
        return "ab"

    monkeypatch.setattr(prefix_files, "file_sha256", digest)
    worker.files.get_ready()
    await asyncio.to_thread(begun.wait)
    saving = asyncio.create_task(worker.files.save(tmp_path))
    await asyncio.sleep(0)
    go_on.set()
    await saving
    await worker.files.save(tmp_path)
    assert len(hashed) == 2
    assert {name for name, _ in hashed} == {"fingerprint"}


async def test_every_kept_prefix_is_a_file(worker: EngineWorker, tmp_path: Path) -> None:
    for number in range(3):
        await collected(worker, prompt(f"{number}", None), 4, Urgency())
    assert await worker.files.save(tmp_path) == 3
    assert sorted(os.listdir(tmp_path)) == [f"{number:04d}.prefix" for number in range(3)]  # noqa: PTH208
    with pytest.raises(OSError, match="No such file"):
        await worker.files.save(tmp_path / "missing")
