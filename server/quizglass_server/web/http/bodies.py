"""Receives the bodies of requests: each within a size and a time, all of them together within a memory."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from math import ceil

from quizglass_server.errors import QuotaExceeded
from quizglass_server.scheduling.allowances import count_upload
from quizglass_server.scheduling.clients import current_client
from quizglass_server.scheduling.memory import trim_soon
from quizglass_server.web.http.asgi import Headers, Message, Receive, Scope, body_of, header

_TRIM_BYTES, _TRIM_AFTER_S = 64 * 1024 * 1024, 5.0
_PIECES = 4
"""Pieces of bodies that are received in one iteration of the event loop, beside the first pieces. A piece takes about a
millisecond, and a call of another client takes several iterations: 64 uploads at once would cost it a second."""


class TurnedAway(Exception):
    """A body is not received any further."""

    def __init__(self, status: int, message: str, headers: Headers = (), reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers
        self.reason = reason
        """Code of the error that it stands for, if it stands for one."""


class _Pace:
    """Lets so many pieces be received in each iteration of the event loop. uvicorn does not read from a connection
    while a piece of it waits."""

    def __init__(self, pieces: int) -> None:
        self._pieces = self._left = pieces
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def turn(self) -> None:
        """Wait for an iteration that has room for one more piece."""
        loop = asyncio.get_running_loop()
        if self._left == self._pieces:
            loop.call_soon(self._next_iteration)
        if self._left:
            self._left -= 1
            return
        waiter = loop.create_future()
        self._waiting.append(waiter)
        await waiter

    def _next_iteration(self) -> None:
        self._left = self._pieces
        while self._left and self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                self._left -= 1
        if self._left < self._pieces:
            asyncio.get_running_loop().call_soon(self._next_iteration)


class Bodies:
    """What is coming in, over all connections.

    Args:
        most_bytes: of bodies that are not whole yet, or whole and not read yet. Beyond, of the address that has most,
            the largest that is not whole is given up.
        limit_s: seconds in which a body has to be whole, or the next piece of one that is a stream of messages.
    """

    def __init__(self, most_bytes: int, limit_s: float) -> None:
        self._most_bytes = most_bytes
        self.limit_s = limit_s
        self._bodies: set[Body] = set()
        self._passed = 0
        self._trimming: asyncio.TimerHandle | None = None
        self._pace = _Pace(_PIECES)

    @contextmanager
    def receiving(self, receive: Receive, most_bytes: int, *, stream: bool) -> Iterator[Body]:
        """Receive one body.

        Args:
            receive: gives its pieces.
            most_bytes: that it may have. Whoever parses a stream of messages looks after the size of those.
            stream: whether it is a stream of messages, which takes as long as its client likes.
        """
        body = Body(self, receive, most_bytes, stream)
        self._bodies.add(body)
        try:
            yield body
        finally:
            self._bodies.discard(body)
            self._let_go(body.received)

    def _let_go(self, size: int) -> None:
        """Have free memory given back to the system a moment after much of it was: the pieces of bodies are small, and
        the allocator keeps those."""
        self._passed += size
        if self._passed >= _TRIM_BYTES and self._trimming is None:
            self._trimming = asyncio.get_running_loop().call_later(_TRIM_AFTER_S, self._trim)

    def _trim(self) -> None:
        """Python counts a body that only garbage refers to as few objects, and would leave it for long."""
        self._passed, self._trimming = 0, None
        gc.collect()
        trim_soon()

    async def next_piece(self, receive: Receive) -> Message:
        """What `receive` gives, beside a few pieces of others: for all pieces of a body but its first."""
        await self._pace.turn()
        return await receive()

    def came(self) -> None:
        """Give up the largest bodies while all together are too much, also those whose clients send nothing more."""
        held = {body for body in self._bodies if body.held and not body.too_much}
        while sum(body.held for body in held) > self._most_bytes:
            of_address: Counter[str] = Counter()
            for body in held:
                of_address[body.address] += body.held
            coming = (body for body in held if not body.whole)
            largest = max(coming, key=lambda body: (of_address[body.address], body.held), default=None)
            if largest is None:
                return
            held.remove(largest)
            largest.give_up()


class Body:
    """One body; calling it is ASGI's `receive`."""

    def __init__(self, bodies: Bodies, receive: Receive, most_bytes: int, stream: bool) -> None:
        self.address = current_client().address
        """Of the client that sends it."""
        self._bodies = bodies
        self._receive = receive
        self._most_bytes = most_bytes
        self._stream = stream
        self._due: float | None = None
        self._waiting: asyncio.Timeout | None = None
        self.received = 0
        """Bytes that came."""
        self._taken = False
        self.whole = False
        self.too_much = False
        """Whether it was the largest when all together were too much."""

    @property
    def held(self) -> int:
        """Bytes that wait for the rest, or to be read; those of a stream are dealt with as they come."""
        return 0 if self._taken or self._stream else self.received

    def taken(self) -> None:
        """Say that it was read: the application asks for what follows it, or answers."""
        self._taken = self._taken or self.whole

    def give_up(self) -> None:
        """Receive no more of it, be it that its next piece is waited for."""
        self.too_much = True
        if self._waiting is not None and not self._waiting.expired():
            self._waiting.reschedule(asyncio.get_running_loop().time())

    async def __call__(self) -> Message:
        """The next piece of the body; once that is whole, that the client is gone.

        Raises:
            TurnedAway: it is too large or too slow, or was given up.
        """
        if self.whole:
            self.taken()
            return await self._receive()
        message = await self._in_time()
        self.whole = message["type"] != "http.request" or not message.get("more_body", False)
        begun = self.received > 0 and not self._stream
        self.received += len(message.get("body", b""))
        self._count(len(message.get("body", b"")), begun=begun)
        if not self._stream and self.received > self._most_bytes:
            raise TurnedAway(413, f"the body is more than the {self._most_bytes} bytes that are taken here")
        self._bodies.came()
        if self.too_much and not self.whole:
            raise _too_much()
        return message

    def _count(self, size: int, *, begun: bool) -> None:
        """Charge the caller. Raises TurnedAway: its quota was used up before the body began."""
        try:
            count_upload(size, begun=begun)
        except QuotaExceeded as refusal:
            retry = (b"retry-after", str(ceil(refusal.retry_after_s or 1)).encode())
            raise TurnedAway(HTTPStatus.TOO_MANY_REQUESTS, refusal.message, (retry,), refusal.code) from None

    async def _in_time(self) -> Message:
        limit_s = self._bodies.limit_s
        now = asyncio.get_running_loop().time()
        if self._due is None or self._stream:
            self._due = now + limit_s
        try:
            async with asyncio.timeout_at(self._due) as self._waiting:
                if not self.received:
                    return await self._receive()
                return await self._bodies.next_piece(self._receive)
        except TimeoutError:
            late = TurnedAway(408, f"no whole body came within {limit_s:g} s")
            raise _too_much() if self.too_much else late from None
        finally:
            self._waiting = None


def _too_much() -> TurnedAway:
    return TurnedAway(503, "too much is coming in at once; try again later")


async def uncompressed(scope: Scope, receive: Receive) -> bytes:
    """The whole body of a request.

    Raises:
        TurnedAway: it is compressed, so that its size does not bound its contents.
        Gone: it will never be whole.
    """
    if (encoding := header(scope, b"content-encoding")) not in (None, "identity"):
        told = f"a body with the content encoding {encoding[:40]!r} is not taken; send it as it is"
        raise TurnedAway(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, told, ((b"accept-encoding", b"identity"),))
    return await body_of(receive)
