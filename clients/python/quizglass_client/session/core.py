"""Keeps a session going: connects, resumes where it was when the link breaks, and says why when it cannot."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections import OrderedDict, deque
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Self, Unpack

import grpc

from quizglass.convert import server_value, to_value
from quizglass.session import (
    Ack,
    CancelAsk,
    Close,
    DeviceState,
    Forget,
    Forgotten,
    FrameNeed,
    FrameStatus,
    GoAway,
    Interrupted,
    NeedFrame,
    Notice,
    Open,
    Opened,
    Overlap,
    Ping,
    Playback,
    Pong,
    PostureChange,
    PostureLimits,
    Privacy,
    Progress,
    Question,
    Restored,
    Role,
    ServerSaid,
    SessionAsk,
    SessionLimits,
    TurnUpdate,
)
from quizglass.v1 import session_pb2
from quizglass.values import Done, Region
from quizglass_client import requests
from quizglass_client.errors import (
    Cancelled,
    ClientError,
    InvalidRequest,
    ServerUnavailable,
    SessionLost,
    from_rpc,
)
from quizglass_client.pictures import cut_out, encode_on_thread
from quizglass_client.session.link import SessionConnection
from quizglass_client.session.outgoing import OutgoingMessages
from quizglass_client.session.turns import TurnFeed, TurnSaid
from quizglass_client.session.values import LinkLost, LinkRestored, News, SessionOptions
from quizglass_client.types import AskOptions, PictureLike

HOLDER_BYTES = 32
_ACK_EVERY = 16
_ACK_BYTES = 16 * 1024
_MOST_NEWS = 1024
_MOST_ASK_BYTES = 250 * 1024
"""Of a question: what a server takes as one message, less what goes around it."""
_MOST_FULL = 4
"""Pictures that are kept in full behind the thumbnails that were sent of them."""
_SILENT_PROGRESS = 2.5
"""Times of `SessionLimits.progress` without a word, during a turn, after which a link is dead."""
_PROBE_S = 1.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0
_CLOSE_S = 2.0
_LASTING = {"INVALID_ARGUMENT", "UNIMPLEMENTED", "PERMISSION_DENIED", "UNAUTHENTICATED", "ABORTED"}
"""Statuses that another attempt does not change."""


class _Dead(Exception):
    """The link says nothing any more, or something has got lost on it."""


@dataclass(slots=True)
class _Place:
    """Where the client is in its session."""

    holder: bytes = field(default_factory=lambda: secrets.token_bytes(HOLDER_BYTES))
    session_id: str = ""
    seq: int = 0
    state: bytes = b""
    unacknowledged: int = 0
    unacknowledged_bytes: int = 0

    @classmethod
    def after(cls, state: bytes) -> Self:
        """The beginning of a session that takes over the dialogue of an earlier one, if there is a state of that.

        Raises:
            InvalidRequest: no session has such a state.
        """
        if not state:
            return cls()
        if len(state) <= HOLDER_BYTES:
            raise InvalidRequest.of("state", f"{len(state)} bytes are no state of a session")
        return cls(holder=state[:HOLDER_BYTES], state=state[HOLDER_BYTES:])


class SessionCore:
    """One session with a server, for the event loop that runs.

    Args:
        target: "host:port".
        options: how it is kept.
    """

    def __init__(self, target: str, options: SessionOptions) -> None:
        self._target = target
        self._options = options
        self._place = _Place.after(options.state)
        self._outgoing = OutgoingMessages()
        self._turns: dict[str, TurnFeed] = {}
        self._full: OrderedDict[bytes, bytes] = OrderedDict()
        self._cutting: set[asyncio.Task[None]] = set()
        self._news: deque[News] = deque(maxlen=_MOST_NEWS)
        self._news_came = asyncio.Event()
        self._connection: SessionConnection | None = None
        self._limits: SessionLimits | None = None
        self._device = DeviceState()
        self._posture: PostureLimits | None = None
        self._opened = asyncio.Event()
        self._stirred = asyncio.Event()
        self._stirred_at = 0.0
        self._hinted = False
        self._heard = 0.0
        self._lost_at: float | None = None
        self._closing = False
        self._failure: ClientError | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._count = 0
        self.links = 0
        """Links that there were so far."""

    async def start(self) -> None:
        """Open the session.

        Raises:
            ClientError: it cannot be opened.
        """
        self._lost_at = time.monotonic()
        self._keeper = asyncio.create_task(self._keep(), name="keep a session")
        opened = asyncio.create_task(self._opened.wait())
        try:
            await asyncio.wait({self._keeper, opened}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._keeper.cancel()
            raise
        finally:
            opened.cancel()
        if self._failure is not None:
            raise self._failure

    async def close(self) -> None:
        """End the session; the server lets its frames go."""
        self._closing = True
        if self._keeper is not None and not self._keeper.done():
            if self._connection is not None:
                self._outgoing.say(Close())
                await asyncio.wait({self._keeper}, timeout=_CLOSE_S)
            self._keeper.cancel()
            await asyncio.wait({self._keeper})
        self._fail(Cancelled("the session was closed", reason="CLOSED"))

    @property
    def limits(self) -> SessionLimits | None:
        """What the server has told of its limits."""
        return self._limits

    @property
    def state(self) -> bytes:
        """What the session's dialogue can be continued with elsewhere: its secret, and what the server has signed for
        that; empty as long as nothing was said."""
        return self._place.holder + self._place.state if self._place.state else b""

    async def show(self, picture: PictureLike, pinned: bool, thumbnail: int = 0) -> bytes:
        """Send a picture ahead of any question; its name. It arrives while the program goes on."""
        self._check()
        if thumbnail < 0:
            raise InvalidRequest.of("thumbnail", f"{thumbnail} is no number of pixels; give 0 for the usual size")
        side = self._limits.useful_picture_side if self._limits is not None else 0
        if self._posture is not None:
            side = self._posture.frame_side or side
        if not thumbnail:
            return self._outgoing.show(await encode_on_thread(picture, side), pinned=pinned)
        full = await encode_on_thread(picture, 0)
        small = await encode_on_thread(full, thumbnail)
        if small == full:
            return self._outgoing.show(full, pinned=pinned)
        name = self._outgoing.show(small, pinned=pinned, role=Role.THUMBNAIL)
        self._full[name] = full
        while len(self._full) > _MOST_FULL:
            self._full.popitem(last=False)
        return name

    async def _show_part(self, full: bytes, need: FrameNeed, region: Region) -> None:
        """Send the part of a picture that the server wants to see sharper, no sharper; the whole where that is less."""
        part = await asyncio.to_thread(cut_out, full, region, need.least_side)
        if len(part) < len(full):
            self._outgoing.show(part, role=Role.CROP, parent=need.sha256, region=region)
        else:
            self._outgoing.show(full, role=Role.FULL, parent=need.sha256)

    def drop(self, name: bytes) -> None:
        """Have a picture forgotten."""
        self._check()
        self._full.pop(name, None)
        self._outgoing.drop(name)

    async def ask(
        self,
        question: str,
        picture: PictureLike | None,
        frame: bytes,
        overlap: str,
        **options: Unpack[AskOptions],
    ) -> TurnFeed:
        """Ask a question; what is told of it comes by the feed."""
        self._check()
        request = requests.ask(question, None, **options)
        if overlap not in {str(each) for each in Overlap}:
            raise InvalidRequest.of("overlap", f"{overlap!r} is not interrupt, queue or refuse")
        if frame and picture is not None:
            raise InvalidRequest.of("frame", "a question is about a picture or about a frame; give one of them")
        if (size := request.ByteSize()) > _MOST_ASK_BYTES:
            raise InvalidRequest.of("question", f"with its history it has {size} bytes, more than {_MOST_ASK_BYTES}")
        name = frame or (b"" if picture is None else await self.show(picture, False))
        self._check()  # it may have ended meanwhile
        if name:
            request.frames.add(sha256=name)
        value = to_value(request, Question)
        self._count += 1
        feed = TurnFeed(f"{self._count}-{secrets.token_hex(4)}")
        self._turns[feed.ask_id] = feed
        self._outgoing.say(SessionAsk(feed.ask_id, value, Overlap(overlap)))
        self._stirred_at = time.monotonic()  # from now on, silence is not what is expected
        self._stirred.set()
        return feed

    def cancel(self, feed: TurnFeed) -> None:
        """End a question."""
        if not feed.over:
            self._check()
            self._outgoing.say(CancelAsk(feed.ask_id))

    def device(self, state: DeviceState) -> None:
        """How the device is."""
        self._check()
        self._device = replace(
            self._device,
            **{each.name: said for each in fields(state) if (said := getattr(state, each.name)) not in (None, "")},
        )
        self._outgoing.say(self._device)

    def forget(self) -> None:
        """Have the session forget what it was sent and said."""
        self._check()
        self._full.clear()
        self._outgoing.say(Forget())

    def played(self, feed: TurnFeed, segment: int, code_point: int) -> None:
        """So much of an answer was said aloud."""
        self._check()
        self._outgoing.say(Playback(feed.ask_id, segment, code_point))

    async def next_news(self) -> News | None:
        """What is told of the session next; None when it is closed."""
        while not self._news:
            if self._failure is not None:
                return None
            self._check()
            self._news_came.clear()
            await self._news_came.wait()
        return self._news.popleft()

    def hint_reconnect(self) -> None:
        """The network may have changed: see at once whether the link is alive, and do not wait to make a new one."""
        self._hinted = True
        self._stirred.set()

    # How the link is kept.

    def _ends(self) -> bool:
        return self._closing or self._failure is not None

    async def _keep(self) -> None:
        try:
            await self._keep_linked()
        except Exception as error:  # nobody is to wait for a session that is not kept any more
            self._fail(ClientError(f"the session failed: {error!r}", reason="UNEXPECTED"))
            raise

    async def _keep_linked(self) -> None:
        pause = 0.0
        while not self._ends():
            links = self.links
            try:
                await self._linked()
                reason = "the server ended it"
            except grpc.RpcError as error:
                reason = self._judge(from_rpc(error))
            except ClientError as error:
                reason = self._judge(error)
            except _Dead as error:
                reason = str(error)
            if self._ends():
                return
            if self.links > links:
                self._lost_at, pause = time.monotonic(), 0.0
                self._tell(LinkLost(reason))
            await self._pause(pause, reason)
            pause = min(max(2 * pause, _FIRST_PAUSE_S), _LONGEST_PAUSE_S)

    async def _linked(self) -> None:
        """One link, from connecting to its end."""
        connection = SessionConnection(self._target, self._options.keepalive)
        tasks: set[asyncio.Task[None]] = set()
        try:
            await connection.open(self._open(), self._options.connect_timeout)
            try:
                async with asyncio.timeout(self._options.connect_timeout):
                    first = await connection.read()
            except TimeoutError:
                raise _Dead("the server does not open the session") from None
            if first is None or first.WhichOneof("message") != "opened":
                raise _Dead("the server does not open the session")
            self._take_opened(first, connection)
            tasks = {
                asyncio.create_task(work) for work in (self._write(connection), self._read(connection), self._watch())
            }
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

    def _open(self) -> Open:
        place = self._place
        privacy = Privacy.LOCAL_ONLY if self._options.local_only else Privacy.ANYWHERE
        last_seq = place.seq if place.session_id else 0
        return Open(place.holder, place.session_id, last_seq, place.state, self._options.output, privacy)

    def _take_opened(self, message: session_pb2.ServerMessage, connection: SessionConnection) -> None:
        opened = server_value(message)
        if not isinstance(opened, Opened):
            raise _Dead("the server does not open the session")
        resumed, again = opened.restored is Restored.ALL, bool(self._place.session_id)
        restores = again or bool(self._place.state)
        if not resumed:
            self._place.seq, self._posture = 0, None
            if again:
                self._lose(opened.restored_reason)
        self._place.session_id, self._limits = opened.session_id, opened.limits
        self._place.state = message.state or self._place.state
        self._place.unacknowledged = self._place.unacknowledged_bytes = 0
        self._outgoing.again(resumed=resumed)
        self.links += 1
        self._heard = time.monotonic()
        self._connection = connection
        self._hinted = False  # a link that has just answered need not be doubted
        if restores:
            self._tell(LinkRestored(opened.restored, opened.restored_reason, self._heard - (self._lost_at or 0.0)))
        self._lost_at = None
        self._opened.set()

    def _lose(self, reason: str) -> None:
        """Questions that were half answered cannot be taken up again in a new session."""
        for feed in list(self._turns.values()):
            if feed.begun and not feed.over:
                self._over(feed.ask_id)
                feed.fail(SessionLost(f"the session could not be resumed: {reason}; ask again", reason=reason))

    async def _write(self, connection: SessionConnection) -> None:
        while True:
            said = await self._outgoing.next()
            await connection.write(said)
            if isinstance(said, Close):
                await asyncio.Event().wait()  # the server ends the link

    async def _read(self, connection: SessionConnection) -> None:
        while (message := await connection.read()) is not None:
            self._heard = time.monotonic()
            self._place.state = message.state or self._place.state
            said = server_value(message)
            if message.WhichOneof("message") in ("opened", "progress", "go_away", "pong"):
                if message.seq != self._place.seq:
                    raise _Dead("messages have got lost")
            elif message.seq <= self._place.seq:
                continue
            elif message.seq > self._place.seq + 1:
                raise _Dead("messages have got lost")
            else:
                self._place.seq = message.seq
                self._acknowledge(said, message.ByteSize())
            if said is not None:
                self._take(said)

    def _acknowledge(self, said: ServerSaid | None, size: int) -> None:
        place = self._place
        place.unacknowledged += 1
        place.unacknowledged_bytes += size
        ends = isinstance(said, Interrupted) or (isinstance(said, TurnUpdate) and isinstance(said.event, Done))
        if ends or place.unacknowledged >= _ACK_EVERY or place.unacknowledged_bytes >= _ACK_BYTES:
            place.unacknowledged = place.unacknowledged_bytes = 0
            self._outgoing.say(Ack(place.seq))

    def _take(self, said: ServerSaid) -> None:
        match said:
            case Pong(payload=payload):
                self._outgoing.pong(payload)
            case FrameStatus():
                self._outgoing.status(said)
                self._tell(said)
            case NeedFrame(frames=frames):
                for need in frames:
                    self._outgoing.need(need)
                    if need.region is not None and (full := self._full.get(need.sha256)) is not None:
                        task = asyncio.create_task(self._show_part(full, need, need.region))
                        self._cutting.add(task)
                        task.add_done_callback(self._cutting.discard)
                self._feed(said.ask_id, said)
            case TurnUpdate() | Interrupted() | Progress():
                self._feed(said.ask_id, said)
            case Notice():
                self._notice(said)
            case PostureChange(limits=limits):
                self._posture = limits
                self._tell(said)
            case Forgotten():
                self._place.state = b""
                self._outgoing.forgotten()
                self._tell(said)
            case GoAway():
                self._tell(said)

    def _notice(self, notice: Notice) -> None:
        feed = self._turns.get(notice.ask_id)
        if feed is not None and notice.turn_over and notice.reason == "STOPPING" and not feed.begun:
            return  # nothing was done: it is asked again over the next link
        if feed is not None:
            feed.take(notice)
            if feed.over:
                self._over(feed.ask_id)
        self._tell(notice)

    def _feed(self, ask_id: str, said: TurnSaid) -> None:
        if (feed := self._turns.get(ask_id)) is not None:
            feed.take(said)
            if feed.over:
                self._over(ask_id)

    def _over(self, ask_id: str) -> None:
        self._turns.pop(ask_id, None)
        self._outgoing.over(ask_id)

    async def _watch(self) -> None:
        """Ask a silent link whether it is alive; end one that does not answer.

        Silence alone proves nothing: the program itself may have stood still, with all that came waiting to be read.
        """
        limits = self._limits
        if limits is None:
            return
        asked = 0.0
        while True:
            ping = limits.ping if self._posture is None else self._posture.ping
            silence = _SILENT_PROGRESS * limits.progress if self._turns else 2 * ping
            probe_after = min(ping, silence / 2)
            now, before = time.monotonic(), max(self._heard, self._stirred_at)
            if asked <= before and now - before >= probe_after:
                self._outgoing.say(Ping())
                asked = now
            due = asked + silence - probe_after if asked > before else before + probe_after
            if now >= due:
                raise _Dead("the link is silent")
            await self._wait(due - now)
            if self._hinted:
                await self._probe()

    async def _probe(self) -> None:
        """The network may have changed: a link that does not answer at once is dead."""
        self._hinted, before = False, self._heard
        self._outgoing.say(Ping())
        await asyncio.sleep(_PROBE_S)
        if self._heard == before:
            raise _Dead("the link does not answer since the network may have changed")

    async def _wait(self, within: float) -> None:
        """Wait so long, or until something changes what is waited for; a hint that came before is not waited behind."""
        if self._hinted:
            return
        self._stirred.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, within)):
                await self._stirred.wait()

    async def _pause(self, pause: float, reason: str) -> None:
        """Before the next attempt, unless the session is given up."""
        patience, lost = self._options.patience, self._lost_at
        if patience is not None and lost is not None and time.monotonic() - lost + pause > patience:
            self._fail(ServerUnavailable(f"no link for {patience:g} s: {reason}", status="UNAVAILABLE"))
        elif pause:
            await self._wait(pause * random.uniform(0.5, 1.0))  # many clients lose the same server
            self._hinted = False

    def _judge(self, error: ClientError) -> str:
        """Why a link ended; a session that cannot be had is given up."""
        if error.status in _LASTING or (self._limits is None and error.reason != "STOPPING"):
            self._fail(error)
        return error.message

    def _fail(self, error: ClientError) -> None:
        if self._failure is None:
            self._failure = error
            for feed in list(self._turns.values()):
                feed.fail(error)
            self._turns.clear()
            self._news_came.set()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._keeper is None:
            advice = "the session is not open; enter it, `with Session(…) as session:` or `async with AsyncSession(…)`"
            raise ClientError(advice, reason="NOT_OPEN")

    def _tell(self, news: News) -> None:
        self._news.append(news)
        self._news_came.set()
