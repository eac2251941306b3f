"""`python -m bench.hostile.neighbour TARGET`: ask a server for its health over and over, until its input ends.

The event loop that answers it is the one that serves everybody, so its longest wait is what everybody waits. It is a
process of its own: what the attack takes of the benchmark's process is not counted.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from time import perf_counter, sleep
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from bench.engine.figures import percentile

_PAUSE_S = 0.002
_PATIENCE_S = 60.0
_WARM = 20
"""First calls, which open the connection and are not counted."""


@dataclass
class Waits:
    """What a neighbour waited, in seconds."""

    longest: float = float("nan")
    p99: float = float("nan")
    calls: int = 0


@asynccontextmanager
async def neighbour(target: str) -> AsyncIterator[Waits]:
    """A neighbour for as long as the block takes; what it waited is known afterwards."""
    command = (sys.executable, "-m", "bench.hostile.neighbour", target)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    waits = Waits()
    try:
        await process.stdout.readline()  # it is connected
        yield waits
    finally:
        said, _ = await process.communicate(b"")
    if process.returncode:
        raise RuntimeError(f"the neighbour ended with status {process.returncode}")
    took = json.loads(said)
    waits.longest, waits.p99, waits.calls = max(took), percentile(took, 0.99), len(took)


def main(target: str) -> None:
    """Ask until the input ends, then print the seconds of every call."""
    ended = threading.Event()
    took: list[float] = []
    with grpc.insecure_channel(target) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for _ in range(_WARM):
            _seconds(stub)
        print("connected", flush=True)
        threading.Thread(target=_wait_for_end, args=(ended,), daemon=True).start()
        while not ended.is_set():
            took.append(_seconds(stub))
            sleep(_PAUSE_S)
    print(json.dumps([round(each, 5) for each in took]))


def _wait_for_end(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


def _seconds(stub: Any) -> float:
    """How long one call takes; one that fails has waited, too."""
    began = perf_counter()
    with suppress(grpc.RpcError):
        stub.Check(health_pb2.HealthCheckRequest(), timeout=_PATIENCE_S)
    return perf_counter() - began


if __name__ == "__main__":
    main(sys.argv[1])
