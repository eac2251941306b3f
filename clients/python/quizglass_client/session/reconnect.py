"""Keeps a session linked: connects, resumes where it was when the link breaks, and gives up when that is no use."""

from __future__ import annotations

import asyncio
import random
import time
from functools import partial
from typing import Protocol

import grpc

from quizglass.convert import server_value
from quizglass.session import Close, Interrupted, Opened, Ping, ServerSaid, SessionLimits, TurnUpdate
from quizglass.v1 import session_pb2
from quizglass.values import Done
from quizglass_client.errors import ClientError, Overloaded, ServerError, ServerUnavailable, from_rpc
from quizglass_client.session.link import SessionConnection
from quizglass_client.session.liveness import LinkDead, LinkLiveness, Silence
from quizglass_client.session.outgoing import OutgoingMessages
from quizglass_client.session.position import SessionPosition
from quizglass_client.session.values import LinkLost, LinkRestored, News, SessionOptions

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0
_CLOSE_S = 2.0
_LASTING = {"INVALID_ARGUMENT", "UNIMPLEMENTED", "PERMISSION_DENIED", "UNAUTHENTICATED", "ABORTED"}
"""Statuses that another attempt does not change."""
_UNNUMBERED = {"opened", "progress", "go_away", "pong"}


class LinkUser(Protocol):
    """What a session does with its link."""

    failure: ClientError | None
    """Why there will be no link any more."""

    def opened(self, opened: Opened, *, again: bool) -> None:
        """A link begins.

        Args:
            opened: what the server says first.
            again: whether there was one before.
        """
        ...

    def take(self, said: ServerSaid) -> None:
        """The server says something."""
        ...

    def tell(self, news: News) -> None:
        """Something happened to the link."""
        ...

    def fail(self, error: ClientError) -> None:
        """The session is given up."""
        ...

    def silence(self, limits: SessionLimits) -> Silence:
        """How long the link may say nothing now."""
        ...


class ReconnectingLink:
    """The link of one session: one connection after the other, for the event loop that runs.

    Args:
        target: "host:port".
        options: how it is kept.
        position: where the session is.
        outgoing: what is to be sent.
        user: whose link it is.
    """

    def __init__(
        self,
        target: str,
        options: SessionOptions,
        position: SessionPosition,
        outgoing: OutgoingMessages,
        user: LinkUser,
    ) -> None:
        self._target = target
        self._options = options
        self._position = position
        self._outgoing = outgoing
        self._user = user
        self._connection: SessionConnection | None = None
        self._opened = asyncio.Event()
        self._lost_at: float | None = None
        self._opened_at = 0.0
        self._told_s = 0.0
        """How long the server that refused the last attempt asks to be left alone."""
        self._brought = False
        """Whether the link has brought anything of the session, and not of itself alone."""
        self._closing = False
        self._task: asyncio.Task[None] | None = None
        self.liveness = LinkLiveness()
        self.limits: SessionLimits | None = None
        """What the server has told of its limits."""
        self.links = 0
        """Links that there were so far."""

    @property
    def started(self) -> bool:
        """Whether `start` was called."""
        return self._task is not None

    @property
    def linked(self) -> bool:
        """Whether there is a link now."""
        return self._connection is not None

    async def start(self) -> None:
        """Connect; returns with the first link, or when there will be none."""
        self._lost_at = time.monotonic()
        self._task = asyncio.create_task(self._keep(), name="keep a session")
        opened = asyncio.create_task(self._opened.wait())
        try:
            await asyncio.wait({self._task, opened}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._task.cancel()
            raise
        finally:
            opened.cancel()

    async def close(self) -> None:
        """End the link, and make no other one."""
        self._closing = True
        if self._task is not None and not self._task.done():
            if self.linked:
                self._outgoing.say(Close())
                await asyncio.wait({self._task}, timeout=_CLOSE_S)
            self._task.cancel()
            await asyncio.wait({self._task})

    def _ends(self) -> bool:
        return self._closing or self._user.failure is not None

    async def _keep(self) -> None:
        try:
            await self._keep_linked()
        except Exception as error:  # no one is to wait for a session that is not kept any more
            self._user.fail(ServerError(f"the session failed: {error!r}", status="UNKNOWN", reason="UNEXPECTED"))
            raise

    async def _keep_linked(self) -> None:
        pause = 0.0
        while not self._ends():
            links, self._told_s = self.links, 0.0
            try:
                await self._linked()
                reason = "the server ended it"
            except grpc.RpcError as error:
                reason = self._judge(from_rpc(error))
            except ClientError as error:
                reason = self._judge(error)
            except LinkDead as error:
                reason = str(error)
            if self._ends():
                return
            if self.links > links:
                self._lost_at = time.monotonic()
                if self._brought or self._lost_at - self._opened_at > _LONGEST_PAUSE_S:
                    pause = 0.0  # else the next one may be of as little use
                self._user.tell(LinkLost(reason))
            await self._pause(pause, reason)
            pause = min(max(2 * pause, _FIRST_PAUSE_S), _LONGEST_PAUSE_S)

    async def _linked(self) -> None:
        """One link, from connecting to its end."""
        connection = SessionConnection(self._target, self._options.keepalive, self._options.access)
        tasks: set[asyncio.Task[None]] = set()
        try:
            limits = self._take_opened(await self.liveness.hurried(self._attempt(connection)), connection)
            watch = self.liveness.watch(partial(self._user.silence, limits), partial(self._outgoing.say, Ping()))
            tasks = {asyncio.create_task(work) for work in (self._write(connection), self._read(connection), watch)}
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            self._connection = None
            for task in tasks:
                task.cancel()
            await connection.close()
            if tasks:
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _attempt(self, connection: SessionConnection) -> session_pb2.ServerMessage | None:
        """Connect; gives the first that the server says."""
        within = self._options.connect_timeout
        try:
            async with asyncio.timeout(within):
                await connection.open(self._position.open(self._options))
                return await connection.read()
        except TimeoutError:
            told = f"{self._target} does not answer within {within:g} s"
            raise ServerUnavailable(told, status="UNAVAILABLE") from None

    def _take_opened(self, message: session_pb2.ServerMessage | None, connection: SessionConnection) -> SessionLimits:
        opened = None if message is None else server_value(message)
        if message is None or not isinstance(opened, Opened):
            raise LinkDead("the server does not open the session")
        again = self._position.begun
        restores = again or bool(self._position.state)
        self._position.opened(opened)
        self._position.signed(message.state)
        self._user.opened(opened, again=again)
        self.limits = opened.limits
        self.links += 1
        self.liveness.heard()
        self._opened_at, self._brought = self.liveness.heard_at, False
        self.liveness.hinted = False  # a link that has just answered need not be doubted
        self._connection = connection
        if restores:
            without = self.liveness.heard_at - (self._lost_at or 0.0)
            self._user.tell(LinkRestored(opened.restored, opened.restored_reason, without))
        self._lost_at = None
        self._opened.set()
        return opened.limits

    async def _write(self, connection: SessionConnection) -> None:
        while True:
            said = await self._outgoing.next()
            await connection.write(said)
            if isinstance(said, Close):
                await asyncio.Event().wait()  # the server ends the link

    async def _read(self, connection: SessionConnection) -> None:
        position = self._position
        while (message := await connection.read()) is not None:
            self.liveness.heard()
            position.signed(message.state)
            said = server_value(message)
            if message.WhichOneof("message") in _UNNUMBERED:
                position.check(message.seq)
            elif position.has(message.seq):
                continue
            else:
                self._brought = True
                if (ack := position.advance(message.seq, message.ByteSize(), ends=_ends_turn(said))) is not None:
                    self._outgoing.say(ack)
            if said is not None:
                self._user.take(said)

    async def _pause(self, pause: float, reason: str) -> None:
        """Before the next attempt, unless the session is given up."""
        patience, lost, told = self._options.patience, self._lost_at, self._told_s
        if patience is not None and lost is not None and time.monotonic() - lost + max(pause, told) > patience:
            self._user.fail(ServerUnavailable(f"no link for {patience:g} s: {reason}", status="UNAVAILABLE"))
        elif pause or told:
            share = random.uniform(0.5, 1.0)  # many clients lose the same server, and get the same hint
            await self.liveness.wait(max(pause * share, told * (0.5 + share)))
            self.liveness.hinted = False

    def _judge(self, error: ClientError) -> str:
        """Why a link ended; a session that cannot be had is given up."""
        if error.status in _LASTING or (self.limits is None and error.reason != "STOPPING"):
            self._user.fail(error)
        if isinstance(error, ServerUnavailable | Overloaded):
            self._told_s = error.retry_after or 0.0
        return error.message


def _ends_turn(said: ServerSaid | None) -> bool:
    return isinstance(said, Interrupted) or (isinstance(said, TurnUpdate) and isinstance(said.event, Done))
