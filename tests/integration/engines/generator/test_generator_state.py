"""What the generator has read survives an orderly restart, and damaged files cost no more than that."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from quizglass_server.engines.generator.process.launcher import Launcher, Life
from quizglass_server.engines.generator.process.options import ProcessOptions
from quizglass_server.engines.generator.process.state import StateDirectory
from quizglass_server.engines.generator.process.supervisor import GeneratorProcess
from quizglass_server.engines.generator.prompt import Finished, Part, PicturePart, Piece, TextPart
from quizglass_server.errors import EngineFailed
from tests.support.bundles.tiny_models import HEIGHT, WIDTH
from tests.support.engines.generator_process import fake_program, until

PICTURE = PicturePart(b"p" * 32, WIDTH, HEIGHT, bytes(range(256)) * (WIDTH * HEIGHT * 3 // 256))
PROMPT: list[Part] = [
    TextPart("<|im_start|>", trusted=True),
    PICTURE,
    TextPart("What is to be seen here, and how much of it is there?", trusted=False),
]


@asynccontextmanager
async def run(options: ProcessOptions, root: Path) -> AsyncIterator[GeneratorProcess]:
    """One run of a server's generator, ended in order."""
    process = GeneratorProcess(options, StateDirectory(root, "aa"))
    await process.start()
    try:
        yield process
    finally:
        await process.close()


async def answer(process: GeneratorProcess) -> tuple[list[str], Finished]:
    """The texts of an answer, and its end."""
    *pieces, end = [item async for item in (await process.client()).generate(PROMPT, 8)]
    assert isinstance(end, Finished)
    return [piece.text for piece in pieces if isinstance(piece, Piece)], end


def files(root: Path) -> list[Path]:
    """Everything that was saved."""
    return sorted(path for path in root.rglob("*") if path.is_file())


async def test_a_second_question_stays_cheap_across_an_orderly_restart(options: ProcessOptions, tmp_path: Path) -> None:
    async with run(options, tmp_path) as process:
        texts, first = await answer(process)
    assert files(tmp_path)
    async with run(options, tmp_path) as process:
        again, end = await answer(process)
    assert again == texts
    assert end.usage.reused_tokens >= first.usage.prompt_tokens - 1


async def test_after_a_kill_the_old_state_is_not_used_again(options: ProcessOptions, tmp_path: Path) -> None:
    async with run(options, tmp_path) as process:
        texts, _ = await answer(process)
    async with run(options, tmp_path) as process:
        assert process.pid is not None
        assert not files(tmp_path), "a state is restored once"
        os.kill(process.pid, signal.SIGKILL)
        await until(process, False)
        await until(process, True)
        again, end = await answer(process)
    assert again == texts
    assert end.usage.reused_tokens == 0


def _truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _flipped(path: Path) -> None:
    content, random = bytearray(path.read_bytes()), Random(7)
    for _ in range(8):
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [_truncated, _flipped])
async def test_damaged_files_are_left_out(
    options: ProcessOptions, tmp_path: Path, damage: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    async with run(options, tmp_path) as process:
        texts, _ = await answer(process)
    for path in files(tmp_path):
        damage(path)
    with caplog.at_level(logging.WARNING):
        async with run(options, tmp_path) as process:
            again, end = await answer(process)
    assert again == texts
    assert end.usage.reused_tokens == 0
    assert "left out" in caplog.text


async def test_a_state_that_kills_its_process_is_left_out(
    options: ProcessOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    launch = Launcher.launch

    async def deadly(self: Launcher, restore: Path | None = None) -> Life:
        if restore is not None:
            raise EngineFailed("model.gguf: the generator process died while loading it (signal 6); see the log")
        return await launch(self)

    async with run(options, tmp_path) as process:
        texts, _ = await answer(process)
    monkeypatch.setattr(Launcher, "launch", deadly)
    async with run(options, tmp_path) as process:
        assert (await answer(process))[0] == texts
    assert "saved state is left out" in caplog.text


async def test_a_process_that_dies_while_it_takes_its_state_up_is_started_without(
    options: ProcessOptions, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with run(options, tmp_path) as process:
        await answer(process)
    async with run(replace(options, program=fake_program("restored", tmp_path)), tmp_path) as process:
        assert (await answer(process))[0] == ["a", "b"]
    assert "saved state is left out" in caplog.text


async def test_a_state_that_cannot_be_written_does_not_keep_the_server_from_stopping(
    options: ProcessOptions, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with run(options, tmp_path / "state") as process:
        await answer(process)
        (tmp_path / "state").rmdir()
        (tmp_path / "state").write_text("a file in its place")
    assert "state is not saved" in caplog.text
    assert not process.ready


async def test_what_was_forgotten_is_in_no_file_and_is_read_again(options: ProcessOptions, tmp_path: Path) -> None:
    async with run(options, tmp_path) as process:
        await answer(process)
    async with run(options, tmp_path) as process:
        await answer(process)
        writing = (await process.client()).generate([*PROMPT, TextPart(" And what else?", trusted=False)], 64)
        await anext(writing)  # what is under way is forgotten, too
        await process.forget()
        async for _ in writing:
            pass
        _, end = await answer(process)
        assert end.usage.reused_tokens == 0
        await process.forget()
    assert not files(tmp_path)


async def test_forgetting_without_a_process_leaves_no_file_either(options: ProcessOptions, tmp_path: Path) -> None:
    (tmp_path / "generator-of-another-model").mkdir()
    (tmp_path / "generator-of-another-model" / "0000.prefix").write_bytes(b"prompts")
    async with run(options, tmp_path) as process:
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        await until(process, False)
        await process.forget()
        assert not files(tmp_path)
