"""The operations port: how the server is, what it counted, and with which settings it runs.

It listens before there is anything to serve and until all of it is closed, so that a start and a stop can be watched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING

from prometheus_client.exposition import choose_encoder

from quizglass_server import __version__
from quizglass_server.config.load import Settings, all_fields
from quizglass_server.errors import QuizglassError
from quizglass_server.network.network import Network
from quizglass_server.observe import caches, metrics
from quizglass_server.observe.recent import RECENT
from quizglass_server.rpc.server import RpcServer, Services
from quizglass_server.web.health import health_routes
from quizglass_server.web.http.asgi import Receive, Scope, Send, header, respond, respond_json
from quizglass_server.web.http.bodies import Bodies
from quizglass_server.web.http.gate import Gate, Route
from quizglass_server.web.http.origins import Origins
from quizglass_server.web.http.server import WebServer

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

_CONNECTIONS = 32
_NOT_SERVING: Mapping[str, bool] = {"server": False}


class Operations:
    """What is shown on the port.

    Args:
        settings: in force.
        network: whose certificate is shown, and whose tokens are asked for.
    """

    def __init__(self, settings: Settings, network: Network) -> None:
        self._settings = settings
        self._network = network
        self._registry: CollectorRegistry = metrics.collect()
        self._serving: tuple[Services, RpcServer] | None = None
        metrics.DRAIN.set(0)
        for reason in _reasons(QuizglassError):  # or the first of a kind would be no increase
            metrics.REFUSALS.add(reason, by=0)
        metrics.PLACES.set(settings.max_turns)
        metrics.EXPIRY.set(network.tls.current.expires.timestamp() if network.tls else 0)

    async def open(self) -> WebServer:
        """Listen. Raises SettingsError: the address cannot be listened on."""
        options, tls = self._settings, self._network.tls
        gate = Gate(
            {
                **health_routes(self._ready),
                "/metrics": Route(self._metrics, ("GET",)),
                "/config": Route(self._config, ("GET",)),
                "/turns": Route(_turns, ("GET",)),
            },
            Origins(options.operations_host, options.web_origins),
            Bodies(options.message_bytes, options.message_s),
            self._network.logins,
            whole_server=True,
        )
        context = None if tls is None else lambda: tls.current.context
        where = options.operations_host, options.operations_port or 0, _CONNECTIONS
        port = WebServer(gate, *where, context=context, setting="operations_port")
        await port.start()
        return port

    def follow(self, services: Services, rpc: RpcServer) -> None:
        """Show what has begun to serve."""
        self._serving = services, rpc
        manifest = services.bundle.manifest
        metrics.BUILD.set(1, __version__, f"{manifest.name} {manifest.version}")

    def let_go(self) -> None:
        """Show nothing more of it: it is about to be closed."""
        self._serving = None

    def _ready(self) -> Mapping[str, bool]:
        return _NOT_SERVING if self._serving is None else self._serving[1].ready()

    def _look(self) -> None:
        """Bring the gauges up to date."""
        for part, ready in self._ready().items():
            metrics.READY.set(ready, part)
        for kind, size in caches.held().items():
            metrics.CACHE_BYTES.set(size, kind)
        if self._serving is not None:
            services, rpc = self._serving
            metrics.RUNNING.set(services.assistant.admission.running)
            metrics.WAITING.set(services.assistant.admission.waiting)
            metrics.SESSIONS.set(sum(len(each.sessions) for each in rpc.tenants.every()))
            metrics.ENTRIES.set(services.knowledge.count())
            for source in services.sources.each:
                metrics.READY.set(source.status.ready, source.step)

    async def _metrics(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._look()
        encode, content_type = choose_encoder(header(scope, b"accept") or "")
        # Writing them takes 10 ms and more, in which the event loop would serve no turn.
        written = await asyncio.to_thread(encode, self._registry)
        await respond(send, HTTPStatus.OK, written, content_type)

    async def _config(self, scope: Scope, receive: Receive, send: Send) -> None:
        await respond_json(send, HTTPStatus.OK, shown(self._settings))


async def _turns(scope: Scope, receive: Receive, send: Send) -> None:
    await respond_json(send, HTTPStatus.OK, {"turns": [asdict(turn) for turn in RECENT]})


def _reasons(kind: type[QuizglassError]) -> set[str]:
    """Codes of a class of errors and of all below it."""
    return {kind.code}.union(*map(_reasons, kind.__subclasses__()))


def shown(settings: Settings) -> dict[str, object]:
    """Settings by name, as JSON. None is a secret: keys and tokens stand in files, of which these are the paths."""
    return {name: _shown(getattr(settings, name)) for name in all_fields()}


def _shown(value: object) -> object:
    if isinstance(value, tuple):
        return [_shown(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)
