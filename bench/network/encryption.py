"""TLS and a token beside a server in clear: first words of the same questions, and connections a second."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from statistics import median
from time import perf_counter

import grpc

from bench.engine.figures import percentile
from bench.hostile.sections import Setup
from bench.network.serving import Access, client_of, first_words, protected, serving
from bench.results import Row
from bench.sections import Part
from quizglass.v1 import assistant_pb2, assistant_pb2_grpc
from quizglass_client.local import LocalServer

BAR_MS = 1.0
_AT_ONCE = 4


async def run(setup: Setup) -> Part:
    """Both servers are there at once and are asked in turn, each time with twins of one picture."""
    part = Part()
    access = await asyncio.to_thread(protected, setup)
    async with (
        serving(setup, "clear", ["--web-port", "0"]) as (clear, _),
        serving(setup, "tls", ["--web-port", "0"], access) as (secret, stock),
        client_of(clear) as plain,
        client_of(secret, access) as safe,
    ):
        setup.say("first words in clear and protected, in turn")
        times: dict[str, list[float]] = {"clear": [], "tls": []}
        for number in range(setup.count(250, 6)):
            question, (one, other) = stock.twins()
            ways = [("clear", plain, one), ("tls", safe, other)]
            for way, client, picture in ways if number % 2 else reversed(ways):
                times[way].append(await first_words(client, question, picture) * 1e3)
        part.rows += _first_words(times["tls"], times["clear"])
        part.data["first_words_ms"] = times
        seconds = setup.count(5, 1)
        for name, server, given in (("in clear", clear, None), ("TLS and token", secret, access)):
            setup.say(f"connections a second, {name}")
            rate = await _connections(server, given, seconds)
            part.rows.append(Row(f"connections with one call each, {name}, {_AT_ONCE} at once", rate, "a second"))
        setup.say("handshakes a second")
        for name, port in (("gRPC", secret.target), ("HTTP", secret.web)):
            rate = await _handshakes(int(port.rpartition(":")[2]), access, seconds, "h2" if name == "gRPC" else None)
            part.rows.append(Row(f"TLS handshakes, {name}, {_AT_ONCE} at once", rate, "a second"))
    return part


def _first_words(secret: list[float], clear: list[float]) -> list[Row]:
    """Medians, and the median difference of the pairs: questions differ more from each other than that."""
    dearer = median(ours - theirs for ours, theirs in zip(secret, clear, strict=True))
    within, more = dearer <= BAR_MS, f"<= +{BAR_MS:g} ms"
    return [
        Row("first words, TLS and token, p50", median(secret), "ms", "in clear", median(clear)),
        Row("the same, beyond the same question in clear, p50", dearer, "ms", bar=more, ok=within),
        Row("first words, TLS and token, p99", percentile(secret, 0.99), "ms", "in clear", percentile(clear, 0.99)),
    ]


async def _connections(server: LocalServer, access: Access | None, seconds: float) -> float:
    """Connections opened, used for one call and closed, a second."""
    metadata = (("authorization", f"Bearer {access.token}"),) if access else ()
    target = f"localhost:{server.target.rpartition(':')[2]}"
    credentials = grpc.ssl_channel_credentials(access.authority.read_bytes()) if access else None
    options = [("grpc.use_local_subchannel_pool", 1)]

    async def once() -> None:
        if credentials is None:
            channel = grpc.aio.insecure_channel(target, options=options)
        else:
            channel = grpc.aio.secure_channel(target, credentials, options=options)
        async with channel:
            stub = assistant_pb2_grpc.AssistantServiceStub(channel)  # type: ignore[no-untyped-call]
            await stub.GetCapabilities(assistant_pb2.GetCapabilitiesRequest(), metadata=metadata)

    return await _a_second(once, seconds)


async def _handshakes(port: int, access: Access, seconds: float, protocol: str | None) -> float:
    """Connections on which nothing is said but who the server is, a second. None resumes an earlier one."""
    context = ssl.create_default_context(cafile=access.authority)
    if protocol:
        context.set_alpn_protocols([protocol])

    async def once() -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="localhost")
        writer.transport.abort()

    return await _a_second(once, seconds)


async def _a_second(once: Callable[[], Awaitable[None]], seconds: float) -> float:
    began, done = perf_counter(), 0

    async def again() -> None:
        nonlocal done
        while perf_counter() < began + seconds:
            await once()
            done += 1

    await asyncio.gather(*(again() for _ in range(_AT_ONCE)))
    return done / (perf_counter() - began)
