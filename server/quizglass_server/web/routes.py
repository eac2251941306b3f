"""What listens for HTTP: a port, and all that answers there behind one gate."""

from __future__ import annotations

from dataclasses import replace

from quizglass.hosts import is_loopback
from quizglass_server.config.settings import WebOptions
from quizglass_server.policies import POLICIES
from quizglass_server.policies.policy import QUOTES
from quizglass_server.policies.table import FOR_APPLICATIONS
from quizglass_server.roles.speech import HEARING, VOICE
from quizglass_server.rpc.connect import connect_methods
from quizglass_server.rpc.requests.reader import as_json
from quizglass_server.rpc.server import RpcServer, Services
from quizglass_server.rpc.session import ATTACH
from quizglass_server.web.chat.api import ChatApi
from quizglass_server.web.chat.reading import ChatReader
from quizglass_server.web.health import health_routes
from quizglass_server.web.http.answers import LargeAnswers
from quizglass_server.web.http.bodies import Bodies
from quizglass_server.web.http.gate import Gate, Route
from quizglass_server.web.http.origins import Origins
from quizglass_server.web.http.server import WebServer
from quizglass_server.web.page import page_routes
from quizglass_server.web.speech.api import SpeechApi


async def open_listener(services: Services, rpc: RpcServer, options: WebOptions) -> WebServer:
    """Serve on the port of the options.

    Raises:
        SettingsError: the address cannot be bound.
    """
    settings = services.settings
    gate = Gate(
        _routes(services, rpc, options),
        Origins(options.web_host, options.web_origins),
        Bodies(settings.message_bytes, settings.message_s),
        services.network.logins,
    )
    tls = services.network.tls
    context = None if tls is None else lambda: tls.current.context
    web = WebServer(gate, options.web_host, options.web_port or 0, rpc.web_connections, rpc.proxies, context)
    await web.start()
    if (place := services.network.place) is not None:
        host = options.web_host if is_loopback(place.host) else place.host  # the page alone may be open to others
        services.network.place = replace(place, host=host, web_port=web.port)
    return web


def _routes(services: Services, rpc: RpcServer, options: WebOptions) -> dict[str, Route]:
    settings, manifest = services.settings, services.bundle.manifest
    policies = tuple(each.policy for each in services.assistant.policy_statuses if each.servable)
    chat = ChatApi(
        rpc.asking_for_caller,
        ChatReader(rpc.asking.max_history, rpc.asking.pictures),
        rpc.guard.running,
        policies,
        policies if options.all_policies else {*policies[:1], *FOR_APPLICATIONS},
        {name for name in policies if QUOTES in POLICIES[name].ending},
        f"{manifest.name} {manifest.version}",
        as_json(rpc.limits.of("Ask").most_bytes),
        services.models[HEARING],
    )
    speech = SpeechApi(services.models[HEARING], services.models[VOICE], rpc.guard.running, rpc.asking.pictures)
    large = LargeAnswers()
    methods = {
        method.path: Route(
            large.of(method.app) if method.large_answer else method.app,
            ("POST",),
            as_json(method.most_bytes),
            method.streams_requests,
            listening=method.path == ATTACH,
        )
        for method in connect_methods(rpc.served, rpc.limits, settings.message_s)
    }
    return {**page_routes(manifest.name), **health_routes(rpc.ready), **chat.routes(), **speech.routes(), **methods}
