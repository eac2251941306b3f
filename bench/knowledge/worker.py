"""A contender in a process of its own: one JSON line in, one out. Needs NumPy alone, for environments of peers.

Commands: {"do": "fill", "start": 0, "stop": 100}; {"do": "search", "ef": 64, "of": 0} for latency, and in set 0 also
recall, over a set of queries when the contender explores so far; {"do": "save"} and {"do": "load"}; {"do": "memory"}.
Others are the contender's own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Protocol, cast

from bench.knowledge.vectors import Matrix, made, nearest, recall, resident_mib, set_of, timed

ROOT = Path(__file__).resolve().parents[2]
_CLOSE_S = 120.0


class Absent(Exception):
    """A contender cannot be run; the message says why."""


class Contender(Protocol):
    """A store or an index."""

    def fill(self, start: int, stop: int) -> float:
        """Add these vectors; rows a second."""
        ...

    def explore(self, ef: int) -> None:
        """How far searches go from now on."""
        ...

    def search(self, query: Matrix) -> Sequence[int]:
        """Numbers of the nearest vectors."""
        ...


class Saved(Protocol):
    """An index that can be saved, for processes that come later."""

    def save(self) -> None:
        """Write it to its file."""
        ...

    def load(self) -> None:
        """Read it from its file."""
        ...


class Worker:
    """A contender's process, seen from the benchmark."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        """Start it. Raises Absent."""
        self.name = name
        variables = {**os.environ, "OMP_NUM_THREADS": "1", "ANONYMIZED_TELEMETRY": "False"}
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        said = self._answer()
        if "absent" in said:
            self.close()
            raise Absent(said["absent"])

    def ask(self, do: str, **details: Any) -> dict[str, Any]:
        """What it measures. Raises Absent when it has died."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **details}) + "\n")
        except BrokenPipeError as error:
            raise Absent(f"its process ended with {self._process.wait(_CLOSE_S)}") from error
        return self._answer()

    def close(self) -> None:
        """End the process, in order if it can."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):  # it was killed before it read the last command
            self._process.stdin.close()
        try:
            self._process.wait(_CLOSE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:  # libraries print as well
            if line.startswith("{"):
                said: dict[str, Any] = json.loads(line)
                return said
        raise Absent(f"its process ended with {self._process.wait(_CLOSE_S)}")


def say(**figures: Any) -> None:
    """Answer the benchmark."""
    print(json.dumps(figures), flush=True)


def serve(contender: Contender, count: int) -> None:
    """Answer commands until there are no more."""
    vectors, queries = made(count)
    right = cache(lambda: nearest(vectors, set_of(queries, 0)))
    before = resident_mib()
    say(ready=True)
    for line in sys.stdin:
        match json.loads(line):
            case {"do": "fill", "start": start, "stop": stop}:
                say(rows_s=contender.fill(start, stop))
            case {"do": "search", "ef": ef, "of": number}:
                contender.explore(ef)
                answers, took = timed(set_of(queries, number), contender.search)
                say(**took, **({} if number else {"recall": recall(answers, right())}), ef=ef)
            case {"do": "save" | "load" as which}:
                getattr(cast(Saved, contender), which)()
                say()
            case {"do": "memory"}:
                say(memory_mib=resident_mib() - before)
