"""Signals to a server process: while it is being imported, and while it serves."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import grpc
import pytest

from quizglass.session import FrameBegin, FrameStatus, GoAway, TurnUpdate
from quizglass_client import Client
from quizglass_client.local import LocalServer
from quizglass_server.errors import Stopping
from tests.support.bundles.tiny_bundle import write_bundle
from tests.support.engines.generator_process import PATIENCE_S, fake_program
from tests.support.processes import children, generator_of, holds_open
from tests.support.rpc_fakes import png
from tests.support.sessions.session_links import opened, parts, question

IMPORTING = """
import sys

class Pause:
    def find_spec(self, name, path=None, target=None):
        if name == "pydantic":
            print("importing", flush=True)
            sys.stdin.read()

sys.meta_path.insert(0, Pause())
from quizglass_server.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_while_it_is_imported_ends_it_with_130_and_no_word(number: signal.Signals) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", IMPORTING], stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"importing\n"
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_a_signal_while_a_bundle_is_hashed_does_not_wait_for_that(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "bundle")
    manifest = json.loads((bundle / "manifest.json").read_text())
    endless = bundle / "endless.bin"
    endless.touch()
    os.truncate(endless, 1 << 40)
    manifest["files"] = {endless.name: {"sha256": "0" * 64, "bytes": 1 << 40}, **manifest["files"]}
    (bundle / "manifest.json").write_text(json.dumps(manifest))
    command = [sys.executable, "-m", "quizglass_server", "--bundle", bundle, "--knowledge", tmp_path / "k"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        try:
            while not holds_open(process.pid, endless):
                assert process.poll() is None
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 130
        finally:
            process.kill()


def test_a_signal_while_models_load_ends_it_and_leaves_no_child(tmp_path: Path) -> None:
    """The generator never comes to answer, so that it is being waited for."""
    bundle, log = write_bundle(tmp_path / "bundle"), tmp_path / "server.log"
    where = ["--bundle", str(bundle), "--knowledge", str(tmp_path / "k"), "--port", "0", "--log-format", "json"]
    llama = ["--llama-server", *fake_program("silent", tmp_path).command]
    command = [sys.executable, "-m", "quizglass_server", *where, *llama]
    with log.open("w") as errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as process:
        try:
            while (generator := generator_of(process.pid)) is None:
                assert process.poll() is None
            begun = {generator, *children(process.pid)}
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 130
            assert process.stdout is not None
            assert process.stdout.read() == b"", "it was never ready"
        finally:
            process.kill()
    assert not begun & {int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()}
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line for line in lines if line["level"] == "error" or "exception" in line] == []


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LocalServer]:
    with LocalServer(write_bundle(tmp_path / "bundle"), tmp_path / "knowledge", log=tmp_path / "server.log") as running:
        yield running


def test_signals_that_mean_nothing_to_it_do_not_end_it_and_others_let_it_drain(
    server: LocalServer, tmp_path: Path
) -> None:
    with Client(server.target, timeout=60) as client:
        meaningless = [signal.SIGHUP, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGVTALRM, signal.SIGPROF]
        for number in (*meaningless, signal.SIGIO, signal.SIGRTMIN, signal.SIGRTMAX):
            os.kill(server.pid, number)
        assert client.answer("What is this?", policy="none").text
        os.kill(server.pid, signal.SIGXCPU)
        assert server._process is not None
        assert server._process.wait(PATIENCE_S) == 0
    log = (tmp_path / "server.log").read_text()
    assert "stopping: no new turns" in log


async def test_sessions_end_in_order_in_the_middle_of_an_answer_and_of_an_upload(server: LocalServer) -> None:
    picture, generator = png(300, 300), generator_of(server.pid)
    assert generator is not None
    async with opened(server.target) as (asking, _), opened(server.target) as (uploading, _):
        begin = parts(picture, 100)[0]
        await uploading.say(FrameBegin(begin.sha256, len(picture)), begin)
        await uploading.until(FrameStatus)
        os.kill(generator, signal.SIGSTOP)  # or it might be done before
        await asking.say(question("a", "What is this?", policy="none"))
        await asking.until(TurnUpdate)
        os.kill(server.pid, signal.SIGTERM)
        for each in (asking, uploading):
            assert (await each.until(GoAway)).reason == Stopping.code
        assert await uploading.ended() is grpc.StatusCode.OK
        os.kill(generator, signal.SIGCONT)
        assert (await asking.done("a")).answer
        assert asking.state
        assert await asking.ended() is grpc.StatusCode.OK
    assert server._process is not None
    assert await asyncio.to_thread(server._process.wait, PATIENCE_S) == 0


def test_a_server_that_withdraws_is_not_ready_and_answers_until_a_second_signal(tmp_path: Path) -> None:
    flags = ["--withdraw-s", "3600", "--web-port", "0"]
    with LocalServer(write_bundle(tmp_path / "bundle"), tmp_path / "knowledge", flags=flags) as running:
        with Client(running.target, timeout=60) as client:
            assert client.healthy()
            assert _ready(running.web) == 200
            os.kill(running.pid, signal.SIGTERM)
            _wait_until_not_ready(client)
            assert _ready(running.web) == 503
            assert client.answer("What is this?", policy="none").text
        os.kill(running.pid, signal.SIGTERM)
        assert running._process is not None
        assert running._process.wait(PATIENCE_S) == 130


def _ready(web: str) -> int:
    try:
        with urlopen(f"{web}/ready") as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


def _wait_until_not_ready(client: Client) -> None:
    while client.healthy():
        pass
