"""What every request passes first: who may ask, what there is, how large and how many requests may be.

Then the application of its path answers it. A refusal is a JSON object {"error": {"message": ...}}, as OpenAI's clients
read it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from math import ceil

from quizglass_server.config.logs import set_peer
from quizglass_server.errors import NotPermitted, Overloaded, Unauthenticated, reported
from quizglass_server.network.login import Login, Logins, logged_in
from quizglass_server.network.permissions import needs
from quizglass_server.observe import metrics, tracing
from quizglass_server.rpc.transport.proxies import FORWARDED
from quizglass_server.rpc.transport.status import http_status
from quizglass_server.scheduling.allowances import allowed, count_upload
from quizglass_server.scheduling.clients import Client, asked_by
from quizglass_server.web.http.absent import nothing_at
from quizglass_server.web.http.asgi import App, Gone, Message, Receive, Scope, Send, header, respond_json
from quizglass_server.web.http.bodies import Bodies, Body, TurnedAway
from quizglass_server.web.http.connection import Connection
from quizglass_server.web.http.origins import Origins
from quizglass_server.web.http.problems import kind_of

_RETRY_AFTER = (b"retry-after", b"1")
_TRACEPARENT = tracing.TRACEPARENT.encode()
_CLOSE = (b"connection", b"close")
_CODES = {401: {"code": "unauthenticated"}, 403: {"code": "permission_denied"}}
"""What Connect's clients read, and OpenAI's within the error."""
_CHALLENGE = (b"www-authenticate", b"Bearer")
# To a client that is still sending, a response would be lost with the connection: so much of a refused body is read.
_DISCARDED_BYTES, _DISCARDED_S = 16 * 1024 * 1024, 2.0
# A connection that is sending a body, or is sent something now and then, makes room for one of another address,
# and after so long for one of its own.
_SENDING_REST_S, _LISTENING_REST_S = 10.0, 60.0
_SECURITY = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; "
        b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(self), microphone=(self), geolocation=()"),
)


@dataclass(frozen=True, slots=True)
class Route:
    """What answers requests for a path."""

    app: App
    methods: tuple[str, ...] = ("POST",)
    """HEAD is answered where GET is."""
    most_bytes: int = 0
    """Most bytes of a request's body."""
    stream: bool = False
    """Whether the body is a stream of messages, each of which may have so many bytes."""
    public: bool = False
    """Whether anyone may ask, whatever they call the server and however much it has to do."""
    listening: bool = False
    """Whether the response says something now and then for as long as the client likes."""

    @property
    def allowed(self) -> str:
        """The methods, as the header `Allow` has them."""
        return ", ".join((*self.methods, *(("HEAD",) if "GET" in self.methods else ())))


class Gate:
    """The application of the port.

    Args:
        routes: by path, or by the beginning of paths with a star behind it.
        origins: which pages may ask.
        bodies: what is coming in.
        logins: says who may ask for what.
        whole_server: whether what is shown is of all tenants.

    Raises:
        LookupError: a path has no line in the table of permissions.
    """

    def __init__(
        self,
        routes: Mapping[str, Route],
        origins: Origins,
        bodies: Bodies,
        logins: Logins,
        *,
        whole_server: bool = False,
    ) -> None:
        self._routes = routes
        self._needs = {path: needs(path) for path in routes}
        self._beginnings = tuple(path[:-1] for path in routes if path.endswith("*"))
        self._logins = logins
        self._whole_server = whole_server
        self._origins = origins
        self._bodies = bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        reply = _Reply(send, self._shared(scope), has_body=_has_body(scope))
        connection = Connection.of(scope)
        client = connection.client_for(_forwarded(scope))
        try:
            route = self._route(scope)
            if route is None or not route.public:
                _admit(connection, client)
            if route is None:
                await self._preflight(scope, reply)
                return
            receiving = self._bodies.receiving(receive, route.most_bytes, stream=route.stream)
            with asked_by(client):
                reply.login = login = self._login(scope)
                set_peer(*connection.named(client), login.name, login.tenant)
                with logged_in(login), tracing.carried(header(scope, _TRACEPARENT)), receiving as body:
                    body.whole = reply.whole
                    reply.body = body
                    await self._answer(route, scope, _Held(connection, route, body, reply))
        except TurnedAway as refusal:
            metrics.REFUSALS.add(refusal.reason or f"HTTP_{refusal.status:d}")
            await self._refuse(refusal, scope, receive, reply)
        except Gone:
            pass  # the client is gone
        except Exception as error:
            known = reported(error, scope["path"])
            metrics.REFUSALS.add(known.code)
            await self._refuse(TurnedAway(http_status(known), known.message), scope, receive, reply)

    def _login(self, scope: Scope) -> Login:
        """Who asks.

        Raises:
            TurnedAway: no valid token came, or it does not allow this.
        """
        try:
            sent, needed = header(scope, b"authorization"), self._needs[self._key(scope)]
            return self._logins.enter(sent, needed, whole_server=self._whole_server)
        except (Unauthenticated, NotPermitted, Overloaded) as refusal:
            headers = [_CHALLENGE] if isinstance(refusal, Unauthenticated) else []
            if refusal.retry_after_s is not None:
                headers.append((b"retry-after", str(ceil(refusal.retry_after_s)).encode()))
            raise TurnedAway(http_status(refusal), refusal.message, headers, refusal.code) from None

    async def _answer(self, route: Route, scope: Scope, held: _Held) -> None:
        """Let the application answer; one that a refused body cuts off has nothing more to say."""
        try:
            await route.app(scope, held.receive, held.send)
        except Exception:
            if held.refusal is None:
                raise
        if held.refusal is not None:
            held.reply.muted = False
            raise held.refusal

    def _key(self, scope: Scope) -> str:
        """Under which of the routes a path is; the path itself where there is none."""
        path: str = scope["path"]
        if path in self._routes:
            return path
        return next((f"{each}*" for each in self._beginnings if path.startswith(each)), path)

    def _route(self, scope: Scope) -> Route | None:
        """What answers a request; None stands for the question of a browser whether it may ask.

        Raises:
            TurnedAway: nothing does.
        """
        host, origin = header(scope, b"host"), header(scope, b"origin")
        route = self._routes.get(self._key(scope))
        if route is not None and route.public:
            _check_method(scope, route)
            return route
        if not self._origins.takes_host(host, scope["scheme"]):
            told = f"this server is not called {(host or '')[:80]!r}; name that in --web-origins if it should be"
            raise TurnedAway(403, told)
        if not self._origins.takes_origin(origin, host, scope["scheme"]):
            told = f"pages from {(origin or '')[:80]!r} may not ask this server; name that in --web-origins if they may"
            raise TurnedAway(403, told)
        if route is None:
            raise TurnedAway(404, nothing_at(scope["path"], self._routes))
        if scope["method"] == "OPTIONS":
            return None
        _check_method(scope, route)
        length = header(scope, b"content-length")
        if length is not None and not route.stream and int(length) > route.most_bytes:
            raise TurnedAway(413, f"{length} bytes is more than the {route.most_bytes} that are taken here")
        return route

    def _shared(self, scope: Scope) -> Iterable[tuple[bytes, bytes]]:
        """Headers of every response."""
        origin = header(scope, b"origin")
        host = header(scope, b"host")
        if origin is None or not self._origins.takes_origin(origin, host, scope["scheme"]):
            return _SECURITY
        if self._origins.is_own(origin, host, scope["scheme"]):
            return _SECURITY
        shared = (
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-expose-headers", b"*"),
            (b"vary", b"origin"),
        )
        return (*(each for each in _SECURITY if each[0] != b"cross-origin-resource-policy"), *shared)

    async def _preflight(self, scope: Scope, reply: Send) -> None:
        methods = self._routes[self._key(scope)].allowed
        asked = header(scope, b"access-control-request-headers") or ""
        allowed = ((b"access-control-allow-methods", methods), (b"access-control-allow-headers", asked))
        headers = [(name, value.encode("latin-1")) for name, value in allowed]
        await reply({"type": "http.response.start", "status": 204, "headers": headers})
        await reply({"type": "http.response.body", "body": b""})

    async def _refuse(self, refusal: TurnedAway, scope: Scope, receive: Receive, reply: _Reply) -> None:
        """Tell a client that its request is not answered, having read a little of the rest of its body."""
        if reply.started:
            return
        if header(scope, b"expect") is None and not reply.whole:
            await self._discard(receive, reply.login)
        headers = [*refusal.headers, *([_RETRY_AFTER] if refusal.status == HTTPStatus.SERVICE_UNAVAILABLE else [])]
        code = _CODES.get(refusal.status, {})
        known = {"type": kind_of(refusal.status), "param": None, "code": refusal.reason.lower() or None}
        told = {"error": {"message": refusal.message, **known, **code}, "message": refusal.message, **code}
        await respond_json(reply, refusal.status, told, headers)

    async def _discard(self, receive: Receive, login: Login) -> None:
        """Read on for a moment, at the expense of the caller's quota."""
        read = 0
        with suppress(TimeoutError), allowed(login.allowances):
            async with asyncio.timeout(_DISCARDED_S):
                while read < _DISCARDED_BYTES:
                    message = await self._bodies.next_piece(receive)
                    read += (size := len(message.get("body", b"")))
                    count_upload(size, begun=True)
                    if not message.get("more_body", False):
                        return


class _Held:
    """A request's connection while it is received and answered: whether it may make room for another one."""

    def __init__(self, connection: Connection, route: Route, body: Body, reply: _Reply) -> None:
        self._connection = connection
        self._route = route
        self._body = body
        self.reply = reply
        self.refusal: TurnedAway | None = None
        """Why its body is not received any further."""
        if not body.whole:
            self._sending()

    def _sending(self) -> None:
        self._connection.idle(self._body.give_up, _SENDING_REST_S)

    async def receive(self) -> Message:
        """ASGI's `receive`."""
        try:
            message = await self._body()
        except TurnedAway as refusal:
            self.refusal = self.refusal or refusal
            self.reply.muted = True
            return {"type": "http.disconnect"}
        if self._body.whole:
            self._connection.busy()
        elif self._route.stream:
            self._sending()
        return message

    async def send(self, message: Message) -> None:
        """ASGI's `send`."""
        self._body.taken()
        await self.reply(message)
        if self._route.listening and message.get("more_body", True):
            self._connection.idle(rest_s=_LISTENING_REST_S)


class _Reply:
    """ASGI's `send`, with what every response has."""

    def __init__(self, send: Send, headers: Iterable[tuple[bytes, bytes]], *, has_body: bool) -> None:
        self._send = send
        self._headers = headers
        self._has_body = has_body
        self.body: Body | None = None
        self.login = Login()
        """Who asks, once that is known."""
        self.muted = False
        """Whether what is said is not sent."""
        self.started = False

    @property
    def whole(self) -> bool:
        """Whether the request was received to its end."""
        return not self._has_body or (self.body is not None and self.body.whole)

    async def __call__(self, message: Message) -> None:
        if self.muted:
            return
        if message["type"] == "http.response.start":
            self.started = True
            # What is left of a body would be taken for the next request, or be read for nothing.
            closing = () if self.whole else (_CLOSE,)
            message = {**message, "headers": [*message["headers"], *self._headers, *closing]}
        await self._send(message)


def _check_method(scope: Scope, route: Route) -> None:
    """Raises TurnedAway: the route does not take the request's method."""
    if scope["method"] not in route.allowed.split(", "):
        headers = ((b"allow", route.allowed.encode()),)
        raise TurnedAway(405, f"{scope['path']} takes {route.allowed}", headers)


def _admit(connection: Connection, client: Client) -> None:
    try:
        connection.admit(client)
    except Overloaded as refusal:
        raise TurnedAway(HTTPStatus.SERVICE_UNAVAILABLE, refusal.message) from None


def _forwarded(scope: Scope) -> tuple[str, ...]:
    name = FORWARDED.encode()
    return tuple(value.decode("latin-1") for key, value in scope["headers"] if key == name)


def _has_body(scope: Scope) -> bool:
    return header(scope, b"content-length") not in (None, "0") or header(scope, b"transfer-encoding") is not None
