"""Starts a server of one's own on loopback: for demos, notebooks, tests and benchmarks.

The server runs as a child process and is stopped by its own process id. It is a package of its own, which the extras
`cpu` and `gpu` bring.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from quizglass_client.errors import ServerUnavailable

_STOP_S = 30.0


class LocalServer:
    """A server process, serving from entering the context to leaving it.

    Args:
        bundle: the bundle's directory.
        knowledge: the knowledge directory, made when it does not exist; or the address of a Milvus.
        flags: more flags of `quizglass-server`.
        log: file for the server's structured log, appended to; None throws it away.
    """

    def __init__(
        self, bundle: Path, knowledge: Path | str, *, flags: Sequence[str] = (), log: Path | None = None
    ) -> None:
        self._command = [
            *(sys.executable, "-m", "quizglass_server", "--log-format", "json", "--port", "0"),
            *("--bundle", str(bundle), "--knowledge", str(knowledge), *flags),
        ]
        self._log = log
        self._process: subprocess.Popen[str] | None = None
        self.target = ""
        """Address to give to a client."""
        self.web = ""
        """Address to open in a browser, if `flags` have a --web-port."""
        self.operations = ""
        """Address of the metrics, if `flags` have an --operations-port."""

    @property
    def pid(self) -> int:
        """Process id of the server."""
        if self._process is None:
            raise ServerUnavailable("the server is not running; use it as a context manager")
        return self._process.pid

    def __enter__(self) -> Self:
        """Start, and wait until the server says that it serves.

        Raises:
            ServerUnavailable: the server ended instead; the message has its exit status and where its log is. Or no
                server is installed here.
        """
        if find_spec("quizglass_server") is None:
            raise ServerUnavailable("no server is installed here; in the clone: pip install '.[cpu]' (or '.[gpu]')")
        errors: IO[str] | int = self._log.open("a") if self._log else subprocess.DEVNULL
        try:
            # An interrupt is raised in the main thread, where one that came in the middle of this would lose a server
            # that has begun already.
            with ThreadPoolExecutor(1) as starter:
                process = starter.submit(self._start, errors).result()
            self.target = self._ready_address(process)
        except BaseException:
            if self._process is not None:
                self._stop(self._process)  # not entered, so no one else will
            raise
        finally:
            if not isinstance(errors, int):
                errors.close()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop gracefully; kill what does not stop."""
        if self._process is not None:
            self._stop(self._process)
            self._process = None

    def _start(self, errors: IO[str] | int) -> subprocess.Popen[str]:
        self._process = subprocess.Popen(  # noqa: S603  # our own module, no shell
            self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        return self._process

    def _stop(self, process: subprocess.Popen[str]) -> None:
        process.terminate()
        try:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_S)
        finally:  # whoever is interrupted once more while it stops leaves no server behind
            if process.poll() is None:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()

    def _ready_address(self, process: subprocess.Popen[str]) -> str:
        if process.stdout is None:
            raise ServerUnavailable("the server's output is not connected")
        for line in process.stdout:
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if isinstance(said, dict) and said.get("event") == "ready":
                self.web = str(said.get("web", ""))
                self.operations = str(said.get("operations", ""))
                return str(said["address"])
        status = process.wait()
        where = f"its log is {self._log}" if self._log else "give it a log=FILE to see why"
        raise ServerUnavailable(f"the server ended with status {status} before it was ready; {where}")
