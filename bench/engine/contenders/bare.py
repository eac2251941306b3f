"""llama.cpp alone, in a process of its own and with the Python that is asked to run it.

`python bare.py MODEL CONTEXT MOST THREADS` answers each line of JSON on standard input, a list of prompts and how many
tokens to write to each, with one of seconds. Needs llama-cpp-python, numpy and this project's sources, not its
dependencies.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import quizglass_server
from bench.engine.contenders.floor import Bare, Floor
from bench.engine.contenders.peers import PeerMissing
from bench.engine.contenders.shapes import Shape

_START_S, _RUN_S = 120.0, 240.0
_SOURCES = (Path(__file__).parents[3], Path(quizglass_server.__file__).parents[1])


class BareProcess:
    """One such process."""

    def __init__(self, process: asyncio.subprocess.Process, variant: str) -> None:
        self.variant = variant
        """Which compiled variant computes; native where there is but one."""
        self._process = process

    @classmethod
    async def start(cls, python: Path, shape: Shape, threads: int, context: int, most: int, log: Path) -> BareProcess:
        """Load a model for at most `most` prompts of `context` tokens.

        Raises:
            PeerMissing: it does not run with this Python.
        """
        arguments = [str(shape.model.resolve()), *map(str, (context, most, threads))]
        with log.open("wb") as out:
            process = await asyncio.create_subprocess_exec(
                *(str(python), "-m", "bench.engine.contenders.bare", *arguments),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=out,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, _SOURCES))},
            )
        try:
            variant = await _line(process, _START_S)
        except (ConnectionError, TimeoutError):
            await _end(process)
            raise PeerMissing(f"llama.cpp alone did not start with {python}; its log is {log}") from None
        return cls(process, str(variant))

    async def measure(self, prompts: Sequence[str], tokens: int) -> Floor:
        """As `Bare.measure`.

        Raises:
            ConnectionError: the process ended.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([list(prompts), tokens]).encode() + b"\n")
        found = await _line(self._process, _RUN_S)
        return Floor(tuple(found["reading"]), found["writing"])

    async def close(self) -> None:
        """End it."""
        await _end(self._process)


async def _line(process: asyncio.subprocess.Process, seconds: float) -> Any:
    assert process.stdout is not None
    async with asyncio.timeout(seconds):
        line = await process.stdout.readline()
    if not line:
        raise ConnectionError("llama.cpp alone ended")
    return json.loads(line)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()


def _main() -> None:
    from quizglass_server.engines.llama.native.backends import variant_in_use

    model, *numbers = sys.argv[1:]
    context, most, threads = map(int, numbers)
    bare = Bare(Shape("", Path(model), Path(), 0), threads, context, most)
    print(json.dumps(variant_in_use()), flush=True)
    for line in sys.stdin:
        prompts, tokens = json.loads(line)
        print(json.dumps(asdict(bare.measure(prompts, tokens))), flush=True)


if __name__ == "__main__":
    _main()
