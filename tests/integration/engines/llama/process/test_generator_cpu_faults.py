"""A generator process that does not suit its CPU: dies of a signal, or computes nonsense, while it loads."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from quizglass_server.engines.llama.native import proof
from quizglass_server.engines.llama.native.model import NativeModel
from quizglass_server.engines.llama.native.options import LoadOptions
from quizglass_server.engines.llama.process.launcher import ProcessOptions
from quizglass_server.engines.llama.process.supervisor import GeneratorProcess
from quizglass_server.errors import EngineFailed
from tests.support.engines import faulty_child
from tests.support.engines.generator_process import PATIENCE_S, kill, started, texts, until
from tests.support.engines.tiny_engine import LOG, tiny_load_options

Faulty = Callable[..., ProcessOptions]


Starts = Callable[[], list[str]]


@pytest.fixture
def starts(tmp_path: Path) -> Starts:
    """How a faulty child was started so far."""
    return lambda: (tmp_path / "starts").read_text().split()


@pytest.fixture
def faulty(options: ProcessOptions, tmp_path: Path) -> Faulty:
    """Options of a process that is faulty in a given way."""

    def made(when: str, how: str | int) -> ProcessOptions:
        kind = how if isinstance(how, str) else str(int(how))
        program = (sys.executable, faulty_child.__file__, when, kind, str(tmp_path / "starts"))
        return replace(options, program=program)

    return made


@pytest.mark.parametrize(
    ("how", "says"),
    [(signal.SIGILL, "signal 4"), (signal.SIGSEGV, "signal 11"), ("nonsense", "self-test")],
    ids=["illegal instruction", "segmentation fault", "nonsense"],
)
async def test_it_serves_without_extra_buffers_and_says_so(
    options: ProcessOptions,
    faulty: Faulty,
    starts: Starts,
    how: str | int,
    says: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with started(options) as sound:
        assert sound.notice == ""
        expected = await texts(sound)
    async with started(faulty("extra", how)) as process, asyncio.timeout(PATIENCE_S * 3):
        assert await texts(process) == expected
        assert starts() == ["extra", "plain"]
        assert says in process.notice
        assert "more slowly" in process.notice
        assert "docs/operations.md" in process.notice
        assert process.notice in caplog.text
        assert "CPU features" in caplog.text


async def test_a_restart_keeps_the_choice(faulty: Faulty, starts: Starts) -> None:
    async with started(faulty("extra", signal.SIGILL)) as process, asyncio.timeout(PATIENCE_S * 3):
        kill(process)
        await until(process, False)
        await until(process, True)
        assert starts() == ["extra", "plain", "plain"]
        assert process.notice


async def test_an_instruction_that_is_illegal_only_later_ends_the_extra_buffers_too(
    faulty: Faulty, starts: Starts
) -> None:
    async with started(faulty("never", 0)) as process, asyncio.timeout(PATIENCE_S * 3):
        kill(process)
        await until(process, False)
        await until(process, True)
        assert process.notice == ""
        kill(process, signal.SIGILL)
        await until(process, False)
        await until(process, True)
        assert starts() == ["extra", "extra", "plain"]
        assert "while it served (signal 4" in process.notice


@pytest.mark.parametrize("how", [signal.SIGILL, "nonsense"], ids=["illegal instruction", "nonsense"])
async def test_what_fails_both_ways_does_not_start_and_says_what_is_needed_to_mend_it(
    faulty: Faulty, starts: Starts, how: str | int
) -> None:
    process = GeneratorProcess(faulty("always", how))
    with pytest.raises(EngineFailed) as failed:
        await process.start()
    assert starts() == ["extra", "plain"]
    for word in (
        "self-test" if how == "nonsense" else "signal 4",
        "CPU features: ",
        "compiled by",
        "docs/operations.md",
    ):
        assert word in failed.value.message
    assert process.notice == ""


async def test_a_process_that_somebody_kills_is_no_fault_of_the_cpu(faulty: Faulty, starts: Starts) -> None:
    with pytest.raises(EngineFailed, match="signal 9"):
        await GeneratorProcess(faulty("always", signal.SIGKILL)).start()
    assert starts() == ["extra"]


@pytest.fixture(scope="module")
def loading(tmp_path_factory: pytest.TempPathFactory) -> LoadOptions:
    return tiny_load_options(tmp_path_factory.mktemp("model"))


@pytest.mark.parametrize("extra_buffers", [True, False], ids=["extra", "plain"])
def test_llama_cpp_proves_itself_with_and_without_extra_buffers(loading: LoadOptions, extra_buffers: bool) -> None:
    proof.prove(LOG, replace(loading, extra_buffers=extra_buffers))


@pytest.mark.parametrize("wrong", [np.flip, np.zeros_like, lambda row: row * np.nan], ids=["other", "none", "nan"])
def test_wrong_numbers_are_seen(
    loading: LoadOptions, monkeypatch: pytest.MonkeyPatch, wrong: Callable[[np.ndarray], np.ndarray]
) -> None:
    decoded = proof._decoded
    model = NativeModel(loading, LOG)
    proof.prove_model(model)
    monkeypatch.setattr(
        proof, "_decoded", lambda *given: wrong(decoded(*given)) if len(given[1]) == 1 else decoded(*given)
    )
    with pytest.raises(proof.Nonsense, match="self-test's answer is off"):
        proof.prove(LOG, loading)
    with pytest.raises(proof.Nonsense, match="read singly"):
        proof.prove_model(model)
    model.close()
