"""How soon a full server refuses, with four times as many clients as it has places and queue for."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from bench.engine.figures import percentile
from bench.hostile.sections import Setup
from bench.network.serving import serving
from bench.results import Row
from bench.sections import Part
from quizglass.v1 import assistant_pb2, assistant_pb2_grpc, types_pb2

BAR_MS = 10.0
_TURNS, _QUEUE = 4, 4
_TIMES = 4
_REST_S = 0.05
"""A client that was refused comes again after so long: the bar is about refusals, not about a flood of them."""


async def run(setup: Setup) -> Part:
    """Refusals, and beside them the health check, which waits for nothing but the server's event loop."""
    flags = ["--max-turns", str(_TURNS), "--queue", str(_QUEUE)]
    refused: list[float] = []
    answered: list[float] = []
    floor: list[float] = []
    async with serving(setup, "full", flags) as (server, stock), grpc.aio.insecure_channel(server.target) as channel:
        setup.say("four times as many clients as there is room for")
        await stock.ahead(setup.count(256, 16))
        until = perf_counter() + setup.count(20, 3)
        asker = assistant_pb2_grpc.AssistantServiceStub(channel)  # type: ignore[no-untyped-call]
        health: Any = health_pb2_grpc.HealthStub(channel)

        async def client() -> None:
            while perf_counter() < until:
                question, frame = next(stock)
                request = assistant_pb2.AskRequest(question=question.text, frames=[types_pb2.Frame(encoded=frame)])
                began = perf_counter()
                try:
                    async for _ in asker.Ask(request):
                        pass
                    answered.append((perf_counter() - began) * 1e3)
                except grpc.aio.AioRpcError as error:
                    if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
                        raise
                    refused.append((perf_counter() - began) * 1e3)
                    await asyncio.sleep(_REST_S)

        async def pulse() -> None:
            while perf_counter() < until:
                began = perf_counter()
                await health.Check(health_pb2.HealthCheckRequest())
                floor.append((perf_counter() - began) * 1e3)
                await asyncio.sleep(_REST_S)

        await asyncio.gather(pulse(), *(client() for _ in range(_TIMES * (_TURNS + _QUEUE))))
    p99, least = percentile(refused, 0.99), percentile(floor, 0.99)
    bar = f"<= {BAR_MS:g} ms, or the floor"
    rows = [
        Row(f"refusal at {_TIMES}x load, p50", percentile(refused, 0.5), "ms", "health check", percentile(floor, 0.5)),
        Row(f"refusal at {_TIMES}x load, p99", p99, "ms", "health check", least, None, bar, p99 <= max(BAR_MS, least)),
        Row("refused beside answered", len(refused), "requests", "answered", len(answered)),
    ]
    return Part(rows, {"refused_ms": refused, "answered_ms": answered, "health_ms": floor})
