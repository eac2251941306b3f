"""A process that hangs, and one that is busy or was stopped for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path

from quizglass_server.engines.generator.process.log import LogTail, exit_words
from quizglass_server.engines.generator.process.options import ProcessOptions
from quizglass_server.engines.generator.process.prebuilt import ALONE, WITH_VALUE
from quizglass_server.engines.generator.process.watch import COMPUTING, Signs, WatchOptions, hang
from quizglass_server.errors import EngineLost

QUICK = WatchOptions(interval_s=0.001, silent_s=0.01)


async def told(signs: Iterator[Signs], answers: Iterator[bool], checks: list[int]) -> str:
    async def alive() -> None:
        checks.append(1)
        if not next(answers):
            raise EngineLost("it does not answer")

    async with asyncio.timeout(60):
        return await hang(alive, lambda: next(signs), QUICK)


async def test_one_that_does_not_answer_hangs() -> None:
    checks: list[int] = []
    assert "no answer" in await told(repeat(Signs(0, 0.0, 0.0)), chain([True] * 3, repeat(False)), checks)
    assert len(checks) > 5


async def test_one_that_sends_nothing_of_its_requests_and_does_not_compute_hangs() -> None:
    checks: list[int] = []
    assert "nothing of its 2 requests" in await told(repeat(Signs(2, 1.0, 7.0)), repeat(True), checks)
    assert 9 <= len(checks) <= 12


async def test_one_that_computes_is_given_more_time_and_one_that_sends_or_idles_all_of_it() -> None:
    computing = (Signs(1, 1.0, float(at)) for at in range(10_000))
    checks: list[int] = []
    await told(computing, repeat(True), checks)
    assert len(checks) >= COMPUTING * 10
    sending = (Signs(1, float(at), 1.0) for at in range(500))
    idle = repeat(Signs(0, 1.0, 1.0), 500)
    checks.clear()
    await told(chain(sending, idle, repeat(Signs(1, 2.0, 1.0))), repeat(True), checks)
    assert len(checks) > 1000


async def test_one_that_owes_an_answer_may_be_silent_for_as_long_as_the_request_allows() -> None:
    checks: list[int] = []
    await told(repeat(Signs(1, 1.0, 1.0, patience_s=0.05)), repeat(True), checks)
    assert 49 <= len(checks) <= 52
    checks.clear()
    await told(repeat(Signs(1, 1.0, 1.0, patience_s=0.05)), repeat(False), checks)
    assert 24 <= len(checks) <= 27  # a check that is missed takes twice as long
    checks.clear()
    await told(repeat(Signs(0, 1.0, 1.0, patience_s=0.05)), repeat(False), checks)
    assert len(checks) <= 7


def read(*lines: str) -> LogTail:
    log = LogTail()

    async def fed() -> None:
        reader = asyncio.StreamReader()
        reader.feed_data("".join(f"{line}\n" for line in lines).encode())
        reader.feed_eof()
        await log.read(reader)

    asyncio.run(fed())
    return log


def test_a_log_gives_the_reason_of_a_failure_the_flag_that_is_unknown_and_the_device() -> None:
    log = read(
        "0.00.01 I srv: loading",
        "0.00.02 E llama_model_load: error loading model: unknown model architecture: 'new'",
        "0.00.03 E srv: exiting due to model loading error",
    )
    assert log.reason() == "llama_model_load: error loading model: unknown model architecture: 'new'"
    assert read("0.01 I all is well").reason() == ""
    assert read("error: invalid argument: --new").unknown_flag == "--new"
    assert read("0.01 I load_tensors: offloaded 25/25 layers to GPU").on_gpu
    assert not read("0.01 I load_tensors: offloaded 0/25 layers to GPU").on_gpu
    assert read("a" * 100_000, "0.01 E it failed").reason().endswith("failed"), "a line without end is passed over"


def test_an_exit_is_said_in_words() -> None:
    assert [exit_words(status) for status in (None, 0, 1, -9)] == [
        *("exit status None", "exit status 0", "exit status 1", "signal 9: Killed"),
    ]


def test_the_prebuilt_server_knows_every_flag_that_one_is_started_with(tmp_path: Path) -> None:
    options = ProcessOptions(tmp_path / "m", tmp_path / "p", 512)
    for repack in (True, False):
        given = iter(options.flags(tmp_path, "x.sock", 1, threads=3, repack=repack))
        for flag in given:
            assert flag in ALONE or flag in WITH_VALUE
            if flag in WITH_VALUE:
                assert not next(given).startswith("--")
