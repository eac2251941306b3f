"""A server of one's own ends with whoever started it."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from quizglass_client.errors import ServerUnavailable
from quizglass_client.local import LocalServer
from tests.support.processes import running

STUBBORN = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('{"event": "ready", "address": ""}', flush=True)
signal.pause()
"""


class Interrupted(LocalServer):
    """Interrupted while the server loads its models."""

    def _ready_address(self, process: "Popen[str]") -> str:
        raise KeyboardInterrupt


def test_interrupted_before_it_is_ready_it_leaves_no_process(tmp_path: Path) -> None:
    server = Interrupted(tmp_path, tmp_path)
    with pytest.raises(KeyboardInterrupt), server:
        pass
    assert server._process is not None
    assert server._process.returncode is not None


def test_interrupted_while_it_is_started_it_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Begun(subprocess.Popen[str]):
        """The signal comes when the process is there, and before anybody has it."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            signal.pthread_kill(main, signal.SIGINT)

    server, main = LocalServer(tmp_path, tmp_path), threading.main_thread().ident
    assert main is not None
    monkeypatch.setattr(subprocess, "Popen", Begun)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background may ignore it
    try:
        with pytest.raises(KeyboardInterrupt), server:
            pass
    finally:
        signal.signal(signal.SIGINT, before)
    assert server._process is not None
    assert server._process.returncode is not None
    assert running(os.getpid(), "quizglass_server") == []


def test_a_server_that_cannot_start_says_where_its_log_is(tmp_path: Path) -> None:
    log, bundle, knowledge = tmp_path / "log", tmp_path / "bundle", tmp_path / "knowledge"
    bundle.mkdir()
    with pytest.raises(ServerUnavailable, match=r"status 3.*log"), LocalServer(bundle, knowledge, log=log):
        pass
    assert "manifest.json" in log.read_text()
    with pytest.raises(ServerUnavailable, match=r"status 3.*log=FILE"), LocalServer(bundle, knowledge):
        pass


def test_interrupted_once_more_while_it_stops_the_server_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = LocalServer(tmp_path, tmp_path)
    server._command = [sys.executable, "-c", STUBBORN]
    server.__enter__()
    process, waits = server._process, iter([KeyboardInterrupt])
    assert process is not None
    wait = process.wait

    def interrupted(timeout: float | None = None) -> int:
        for problem in waits:
            raise problem
        return wait(timeout)

    monkeypatch.setattr(process, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        server.__exit__(None, None, None)
    assert process.returncode == -signal.SIGKILL
