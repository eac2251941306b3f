"""Generator processes are started among many threads, and where descriptors are few; nothing is left open."""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
import uvloop

from quizglass_server import descriptors
from quizglass_server.engines.generator.process import launcher
from quizglass_server.engines.generator.process.breaker import BreakerOptions, BreakerState
from quizglass_server.engines.generator.process.folders import new_folder
from quizglass_server.engines.generator.process.options import ProcessOptions
from quizglass_server.engines.generator.process.spawn import spawn
from quizglass_server.engines.generator.process.state import StateDirectory
from quizglass_server.engines.generator.process.supervisor import GeneratorProcess
from quizglass_server.errors import EngineFailed, EngineLost
from tests.support.engines.generator_process import fake_program, kill, started, texts, until
from tests.support.engines.starter_server import HEALTH, outcome, served, statuses
from tests.support.processes import generator_of, no_descriptors, running

SPAWNS = int(os.environ.get("QUIZGLASS_TEST_SPAWNS", "40"))
RESTARTS = int(os.environ.get("QUIZGLASS_TEST_KILLS", "4"))
"""The benchmark has 400 and 100."""
LONG_S = 300
"""A process that is restarted proves itself; several in a row take their time on a busy machine."""


def in_use() -> int:
    """Descriptors, without those that only garbage of earlier tests has open."""
    gc.collect()
    return descriptors.in_use()


@pytest.mark.parametrize("left", range(0, 11, 2))
async def test_a_start_that_fails_for_want_of_descriptors_leaves_none_open(left: int) -> None:
    await asyncio.sleep(0)
    before = in_use()
    with no_descriptors(left), suppress(OSError):
        child = await spawn([sys.executable, "-c", ""], os.environ, Path("/"))
        await child.wait()
        child.close()
        await asyncio.sleep(0)
    assert in_use() <= before


async def test_a_program_that_is_not_there_leaves_nothing_open() -> None:
    await asyncio.sleep(0)
    before = in_use()
    child = await spawn(["/does/not/exist"], os.environ, Path("/"))
    assert b"cannot execute /does/not/exist" in await child.output.read()
    await child.wait()
    assert child.returncode == 126
    child.close()
    await asyncio.sleep(0)
    assert in_use() <= before


def test_a_start_that_is_cancelled_at_any_moment_is_cancelled_and_leaves_nothing_open() -> None:
    """By the server's own event loop, which closes a descriptor that it was about to take."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(_cancelled_after(1))
        before = in_use()  # with one that the loop opens at its first pipe and keeps
        for turns in range(8):
            assert runner.run(_cancelled_after(turns))
        assert in_use() <= before


async def _cancelled_after(turns: int) -> bool:
    start = asyncio.create_task(spawn([sys.executable, "-c", "while 1: pass"], os.environ, Path("/")))
    for _ in range(turns):
        await asyncio.sleep(0)
    start.cancel()
    await asyncio.wait({start})
    if not start.cancelled():  # an error, or it was over before
        child = start.result()
        child.send(signal.SIGKILL)
        await child.wait()
        child.close()
    await asyncio.sleep(0)
    return start.cancelled() or turns > 1


def test_a_server_that_stops_while_the_generator_is_restarted_ends(
    options: ProcessOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = asyncio.Event()

    async def told(*given: Any) -> Any:
        begun.set()
        return await spawn(*given)

    async def stopped_midway() -> None:
        process = GeneratorProcess(options)
        await process.start()
        monkeypatch.setattr(launcher, "spawn", told)
        kill(process)
        await begun.wait()
        async with asyncio.timeout(LONG_S):
            await process.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(stopped_midway())


async def test_a_process_that_is_closed_while_it_starts_is_started_no_more(
    options: ProcessOptions, tmp_path: Path
) -> None:
    process = GeneratorProcess(replace(options, program=fake_program("silent", tmp_path)))
    starting = asyncio.create_task(process.start())
    async with asyncio.timeout(LONG_S):
        while not running(os.getpid(), str(tmp_path)):  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)
        await process.close()
        assert not running(os.getpid(), str(tmp_path))
        with pytest.raises(EngineLost, match="is closed"):
            await starting
        with pytest.raises(EngineLost, match="is closed"):
            await process.start()
    assert not running(os.getpid(), str(tmp_path))


async def test_a_start_in_a_folder_that_cannot_be_written_to_leaves_nothing(
    options: ProcessOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = Path.mkdir

    def full(folder: Path, *given: Any, **named: Any) -> None:
        if folder.name == "slots":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        make(folder, *given, **named)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(Path, "mkdir", full)
    process, before = GeneratorProcess(options), in_use()
    with pytest.raises(EngineFailed, match="cannot be started: No space left"):
        await process.start()
    assert os.listdir(tmp_path) == []  # noqa: PTH208
    assert in_use() <= before


def test_a_folder_for_whose_lock_no_descriptor_is_left_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with no_descriptors(), pytest.raises(OSError, match="Too many open files"):
        new_folder()
    assert not list(tmp_path.iterdir())


class Held(StateDirectory):
    """A state of the last run, which is put away only when a test lets it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, "aa")
        self.begin()
        self.commit()
        self.reached, self.let = asyncio.Event(), threading.Event()
        self._loop = asyncio.get_running_loop()

    def taken(self) -> None:
        self._loop.call_soon_threadsafe(self.reached.set)
        self.let.wait()
        super().taken()


async def test_a_start_that_is_cancelled_when_it_serves_leaves_none(options: ProcessOptions, tmp_path: Path) -> None:
    """While the state of the last run, which it has taken, is put away."""
    own = replace(options, program=fake_program("sound", tmp_path))
    state = Held(tmp_path / "state")
    process = GeneratorProcess(own, state)
    starting = asyncio.create_task(process.start())
    async with asyncio.timeout(LONG_S):
        await state.reached.wait()
        starting.cancel()
        state.let.set()
        with pytest.raises(asyncio.CancelledError):
            await starting
    assert not running(os.getpid(), str(tmp_path))


async def test_the_generator_is_restarted_from_the_reserve_when_no_descriptor_is_left(options: ProcessOptions) -> None:
    async with started(options) as process, asyncio.timeout(LONG_S):
        expected, pid = await texts(process), process.pid
        with no_descriptors():
            kill(process)
            await until(process, False)
            await until(process, True)
            assert process.pid != pid
        assert await texts(process) == expected


async def test_without_any_descriptor_it_comes_back_once_there_are_some_and_that_counts_as_no_death(
    options: ProcessOptions, caplog: pytest.LogCaptureFixture
) -> None:
    often = BreakerOptions(deaths=2, first_delay_s=0.01, longest_delay_s=0.01)
    async with started(options, breaker=often) as process, asyncio.timeout(LONG_S):
        expected, before = await texts(process), in_use()
        process._launcher._reserve._count = 0
        process._launcher._reserve.empty()
        with no_descriptors():
            # What the process held is free when it is dead: another process takes it.
            with greedy(process):
                kill(process)
                while caplog.text.count("cannot be started") < 5:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            assert process.breaker is BreakerState.CLOSED
        await until(process, True)
        assert await texts(process) == expected
        assert in_use() <= before


@contextmanager
def greedy(process: GeneratorProcess) -> Iterator[None]:
    """Takes every descriptor that becomes free before a process is started."""
    launch, taken = process._launcher.launch, list[int]()

    async def launch_without(*given: object, **named: object) -> object:
        with suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        return await launch(*given, **named)  # type: ignore[arg-type]

    process._launcher.launch = launch_without  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        process._launcher.launch = launch  # type: ignore[method-assign]
        for each in taken:
            os.close(each)


async def test_deaths_leave_no_descriptor_open(options: ProcessOptions) -> None:
    often = BreakerOptions(deaths=1000, longest_delay_s=0.01)
    async with started(options, breaker=often) as process, asyncio.timeout(LONG_S):
        await texts(process)
        before = in_use()
        for _ in range(3):
            kill(process)
            await until(process, False)
            await until(process, True)
        await texts(process)
        assert in_use() <= before


async def test_children_of_a_process_that_serves_over_grpc_on_uvloop_all_live() -> None:
    """Measured before: 242 of 400 died, started by uvloop."""
    command = [sys.executable, "-m", "bench.engine.server.spawning", str(SPAWNS)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    assert json.loads(out) == {"spawned": SPAWNS, "died": 0}


async def test_a_generator_killed_under_load_is_back_at_the_first_attempt(starter_bundle: Path, tmp_path: Path) -> None:
    flags = ("--generator-crashes", "100000")
    async with (
        served(starter_bundle, tmp_path, *flags) as (server, client),
        grpc.aio.insecure_channel(server.target) as channel,
        asyncio.timeout(LONG_S),
    ):
        expected = await outcome(client)
        over = asyncio.Event()

        async def turns() -> None:
            while not over.is_set():
                assert await outcome(client) in (expected, "UNAVAILABLE ENGINE_LOST")

        load = [asyncio.create_task(turns()) for _ in range(4)]
        generator = statuses(channel, "quizglass.generator")
        assert await anext(generator) == HEALTH.SERVING
        for _ in range(RESTARTS):
            victim = generator_of(server.pid)
            assert victim is not None
            os.kill(victim, signal.SIGKILL)
            assert await anext(generator) == HEALTH.NOT_SERVING
            assert await anext(generator) == HEALTH.SERVING
        over.set()
        await asyncio.gather(*load)
        assert await outcome(client) == expected
    log = (tmp_path / "server.log").read_text()
    assert log.count("; restarting it") == RESTARTS
    assert "cannot be started" not in log
    assert "cannot be restarted" not in log
