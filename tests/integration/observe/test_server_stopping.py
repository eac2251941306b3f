"""A server process on its way out: each step can be watched, and what is under way ends in order."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc

from quizglass.v1 import knowledge_pb2, knowledge_pb2_grpc
from quizglass_client import AsyncClient, Client, ClientError, Done
from quizglass_client.local import LocalServer
from tests.support.bundles.tiny_bundle import write_bundle
from tests.support.engines.generator_process import PATIENCE_S
from tests.support.processes import children, generator_of

pytest.importorskip("prometheus_client", reason="the extra web is not installed")
SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
A_COMMIT = 128
"""Entries after which an import commits."""


@contextmanager
def served(folder: Path, *flags: str) -> Iterator[LocalServer]:
    """A server with an operations port, and its log in `folder`."""
    bundle = folder / "bundle"
    if not bundle.exists():
        write_bundle(bundle)
    given = ["--operations-port", "0", *flags]
    with LocalServer(bundle, folder / "knowledge", flags=given, log=folder / "server.log") as running:
        yield running


def status(url: str) -> int:
    try:
        with urlopen(url) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


def metric(server: LocalServer, name: str) -> float:
    """The value of a metric without labels."""
    with urlopen(f"{server.operations}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))


def wait_for_step(server: LocalServer, step: int) -> None:
    while metric(server, "quizglass_drain_step") != step:
        pass


def ended(server: LocalServer) -> int:
    assert server._process is not None
    return server._process.wait(PATIENCE_S)


def steps(folder: Path) -> list[str]:
    told = [json.loads(line)["message"] for line in (folder / "server.log").read_text().splitlines()]
    return [message for message in told if message.startswith("stop")]


def health(server: LocalServer, name: str) -> int:
    with grpc.insecure_channel(server.target) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        return int(stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=60).status)


def test_one_that_withdraws_says_so_everywhere_lives_and_answers(tmp_path: Path) -> None:
    with served(tmp_path, "--withdraw-s", "3600") as running:
        names = ["", "quizglass.ready", "quizglass.v1.AssistantService", "quizglass.generator"]
        assert {health(running, name) for name in (*names, "quizglass.live")} == {SERVING}
        assert (status(f"{running.operations}/livez"), status(f"{running.operations}/readyz")) == (200, 200)
        os.kill(running.pid, signal.SIGTERM)
        wait_for_step(running, 1)
        while health(running, "quizglass.generator") == SERVING:
            pass
        assert {health(running, name) for name in names} == {NOT_SERVING}
        assert health(running, "quizglass.live") == SERVING
        assert (status(f"{running.operations}/livez"), status(f"{running.operations}/readyz")) == (200, 503)
        with Client(running.target, timeout=60) as client:
            assert client.answer("What is this?", policy="none").text
        os.kill(running.pid, signal.SIGTERM)
        assert ended(running) == 130


async def test_a_turn_that_runs_is_finished_while_others_are_refused_and_each_step_is_told_once(tmp_path: Path) -> None:
    with served(tmp_path, "--grace-s", "3600") as running:
        generator = generator_of(running.pid)
        assert generator is not None
        os.kill(generator, signal.SIGSTOP)  # or the turn might be done before
        async with AsyncClient(running.target, timeout=PATIENCE_S) as client:
            events = client.ask("What is this?", policy="none")
            await anext(events)
            os.kill(running.pid, signal.SIGTERM)
            await asyncio.to_thread(wait_for_step, running, 2)
            with pytest.raises(ClientError):
                await client.answer("What is that?", policy="none")
            assert status(f"{running.operations}/livez") == 200
            os.kill(generator, signal.SIGCONT)
            done = [event async for event in events][-1].payload
            assert isinstance(done, Done)
            assert done.answer
        assert await asyncio.to_thread(ended, running) == 0
    assert steps(tmp_path) == [
        "stopping: not ready any more, calls are still taken",
        "stopping: no new turns, running ones may finish",
        "stopping: stores are written and closed",
        "stopping: engines end",
        "stopped",
    ]


async def test_a_second_signal_while_it_withdraws_does_not_wait_for_a_turn_that_runs(tmp_path: Path) -> None:
    with served(tmp_path, "--withdraw-s", "3600", "--grace-s", "3600") as running:
        every, generator = map(str, children(running.pid)), generator_of(running.pid)
        assert generator is not None
        os.kill(generator, signal.SIGSTOP)
        async with AsyncClient(running.target, timeout=PATIENCE_S) as client:
            events = client.ask("What is this?", policy="none")
            await anext(events)
            os.kill(running.pid, signal.SIGTERM)
            await asyncio.to_thread(wait_for_step, running, 1)
            os.kill(running.pid, signal.SIGTERM)
            with pytest.raises(ClientError):
                async for _ in events:
                    pass
        assert await asyncio.to_thread(ended, running) == 130
    assert steps(tmp_path)[-1] == "stopping: engines end"
    assert not set(every) & set(await asyncio.to_thread(os.listdir, "/proc"))


async def importing(channel: grpc.aio.Channel) -> Any:
    """An import of which the first entries are committed."""
    stub = knowledge_pb2_grpc.KnowledgeServiceStub(channel)  # type: ignore[no-untyped-call]
    call = stub.AddEntries()
    await write(call, range(A_COMMIT))
    while True:
        with suppress(grpc.aio.AioRpcError):  # it is not there yet
            await stub.GetEntry(knowledge_pb2.GetEntryRequest(id="entry-0"))
            return call


def reason(error: grpc.aio.AioRpcError) -> tuple[str, dict[str, str]]:
    """The reason that a call ended with, and what belongs to it."""
    packed = dict(error.trailing_metadata())["grpc-status-details-bin"]
    info = error_details_pb2.ErrorInfo()
    status_pb2.Status.FromString(packed).details[0].Unpack(info)
    return info.reason, dict(info.metadata)


async def write(call: Any, numbers: range) -> None:
    for number in numbers:
        entry = knowledge_pb2.Entry(id=f"entry-{number}", title=f"Thing {number}", text="It is blue.")
        await call.write(knowledge_pb2.AddEntriesRequest(entry=entry))


async def test_an_import_that_runs_is_taken_to_its_end(tmp_path: Path) -> None:
    with served(tmp_path, "--grace-s", "3600") as running:
        async with grpc.aio.insecure_channel(running.target) as channel:
            call = await importing(channel)
            os.kill(running.pid, signal.SIGTERM)
            await asyncio.to_thread(wait_for_step, running, 2)
            await write(call, range(A_COMMIT, A_COMMIT + 10))
            await call.done_writing()
            assert (await call).added == A_COMMIT + 10
        assert await asyncio.to_thread(ended, running) == 0


async def test_an_import_that_goes_on_for_too_long_is_cut_off_and_what_was_committed_is_kept(tmp_path: Path) -> None:
    with served(tmp_path, "--grace-s", "0.1") as running:
        async with grpc.aio.insecure_channel(running.target) as channel:
            call = await importing(channel)
            os.kill(running.pid, signal.SIGTERM)
            with pytest.raises(grpc.aio.AioRpcError) as ending:
                await call
            assert ending.value.code() is grpc.StatusCode.UNAVAILABLE
            assert reason(ending.value) == ("STOPPING", {"added": str(A_COMMIT)})
        assert await asyncio.to_thread(ended, running) == 0
    with served(tmp_path) as again, Client(again.target, timeout=60) as client:
        assert client.capabilities().entries == A_COMMIT


async def test_an_upload_that_never_ends_does_not_keep_it(tmp_path: Path) -> None:
    with served(tmp_path, "--grace-s", "0.1", "--web-port", "0") as running:
        host, port = running.web.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: {host}:{port}\r\ncontent-length: 100000\r\n\r\n"
        writer.write(head.encode() + b"x" * 50_000)
        await writer.drain()
        os.kill(running.pid, signal.SIGTERM)
        async with asyncio.timeout(PATIENCE_S):
            await reader.read()
        writer.close()
        assert await asyncio.to_thread(ended, running) == 0


def test_a_hangup_has_the_log_level_read_again_and_names_what_waits_for_a_restart(tmp_path: Path) -> None:
    config, log = tmp_path / "server.toml", tmp_path / "server.log"

    def lines() -> list[str]:
        return [json.loads(line)["message"] for line in log.read_text().splitlines()]

    def hang_up(pid: int, said: str) -> None:
        before = lines().count(said)
        os.kill(pid, signal.SIGHUP)
        while lines().count(said) == before:
            pass

    config.write_text('log_level = "info"\n')
    with served(tmp_path, "--config", str(config)) as running, Client(running.target, timeout=60) as client:
        config.write_text('log_level = "warning"\nmax_turns = 3\n')
        hang_up(running.pid, "settings that have changed wait for a restart")
        client.answer("What is this?", policy="none")
        config.write_text('log_levle = "info"\n')
        hang_up(running.pid, "the settings stay as they were")
        assert "turn finished" not in lines()
        config.write_text('log_level = "info"\n')
        hang_up(running.pid, "log level in force")
        client.answer("What is this?", policy="none")
        while "turn finished" not in lines():
            pass
