"""`python -m bench.engine.server.spawning COUNT`: children of a process that serves over gRPC on uvloop.

Starts that many as the server starts its generator, one after the other, while clients in threads of the same process
call its server without pause, and prints as JSON how many did not end as they should. Started by uvloop itself, which
forks, of 400 children 242 died before they ran, and sometimes none came back at all.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import threading
from pathlib import Path

_CLIENTS = 4
_PROGRAM = "/bin/true"


def main() -> None:
    """Spawn, and print what became of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    count: int = parser.parse_args().count
    # As where something else has imported gRPC first, with its handlers for forks.
    os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "1"
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        died = runner.run(_under_load(count))
    print(json.dumps({"spawned": count, "died": died}))


async def _under_load(count: int) -> int:
    """How many children of a process that is busy serving died."""
    import grpc
    from grpc_health.v1 import health, health_pb2, health_pb2_grpc

    server = grpc.aio.server()
    health_pb2_grpc.add_HealthServicer_to_server(health.aio.HealthServicer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    over = threading.Event()

    def call() -> None:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            while not over.is_set():
                stub.Check(health_pb2.HealthCheckRequest())  # type: ignore[attr-defined]

    clients = [asyncio.create_task(asyncio.to_thread(call)) for _ in range(_CLIENTS)]
    try:
        statuses = [await _status() for _ in range(count)]
    finally:
        over.set()
        await asyncio.gather(*clients)
        await server.stop(None)
    return sum(status != 0 for status in statuses)


async def _status() -> int | None:
    """Exit status of a new child."""
    from quizglass_server.engines.generator.process.spawn import spawn

    child = await spawn([_PROGRAM], os.environ, Path("/"))
    await child.wait()
    child.close()
    return child.returncode


if __name__ == "__main__":
    main()
