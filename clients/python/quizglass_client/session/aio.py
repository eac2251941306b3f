"""The session for asyncio programs; `quizglass_client.session.sync` is generated from it (`make client`)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Self, Unpack

import grpc

from quizglass.session import DeviceState, Heat, LinkQuality, OutputProfile, SessionLimits
from quizglass_client.access import Access, Metadata
from quizglass_client.channel import DEFAULT_TARGET, check_target
from quizglass_client.errors import Cancelled, InvalidRequest
from quizglass_client.session.core import SessionCore
from quizglass_client.session.runner import AsyncRunner
from quizglass_client.session.turns import TurnFeed, TurnSaid
from quizglass_client.session.values import News, SessionOptions, check_output
from quizglass_client.types import Answer, AskOptions, PictureLike


class AsyncSession:
    """A wearable's session with a quizglass server, for one event loop.

    It lasts while links come and go: a broken link is made anew and goes on where it was, in the middle of an answer or
    of a picture. What could not be saved is told by `news`, and fails the questions that it concerns.

    Args:
        target: "host:port", "[host]:port" or "unix:path".
        connect_timeout: seconds in which the server has to answer, at each attempt.
        patience: seconds without a link after which the session is given up; None: never.
        keepalive: seconds of silence after which gRPC asks whether the connection is alive; None: the session's own
            pings do. Servers end connections that ask more often than they permit.
        max_segment_chars: longest piece of an answer in which it can be said; 0: as `output` says.
        output: what those pieces should look like: how many words, how wide a display, how numbers are said, and
            whether something is said while the answer is not there yet.
        local_only: whether what the session is given stays on the server's machine; questions fail with NOT_LOCAL where
            they cannot be answered so.
        state: that of an earlier session, whose dialogue goes on here; `news` says whether it could (`LinkRestored`).
        credentials: of TLS, for a proxy before the server that ends it; None: the link is not encrypted.
        metadata: goes with every link, such as `[("authorization", "Bearer …")]` for a proxy that checks who calls.

    Raises:
        InvalidRequest: `target`, `output`, `state` or `metadata` cannot be.
    """

    def __init__(
        self,
        target: str = DEFAULT_TARGET,
        *,
        connect_timeout: float = 5.0,
        patience: float | None = 120.0,
        keepalive: float | None = None,
        max_segment_chars: int = 0,
        output: OutputProfile | None = None,
        local_only: bool = False,
        state: bytes = b"",
        credentials: grpc.ChannelCredentials | None = None,
        metadata: Metadata = (),
    ) -> None:
        self.target = target
        check_target(target)
        output = output or OutputProfile()
        if max_segment_chars:
            output = replace(output, max_segment_chars=max_segment_chars)
        check_output(output)
        access = Access(credentials, metadata)
        options = SessionOptions(connect_timeout, patience, keepalive, output, local_only, state, access)
        self._core = SessionCore(target, options)
        self._runner = AsyncRunner()

    async def __aenter__(self) -> Self:
        """Open it.

        Raises:
            ClientError: it cannot be opened.
        """
        try:
            await self._runner.run(self._core.start())
        except BaseException:
            await self._runner.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End it; what runs is cancelled, and the server lets its pictures go. One that has ended stays so."""
        try:
            with suppress(Cancelled):
                await self._runner.run(self._core.close())
        finally:
            await self._runner.close()

    async def show(self, picture: PictureLike, *, pinned: bool = False, thumbnail: int = 0) -> bytes:
        """Send a picture before there is a question about it; its name for `ask`.

        It arrives while the program goes on, between other messages, and is looked at by the server meanwhile.

        Args:
            picture: resized to what the server can use.
            pinned: whether the server is to keep it until it is dropped or shown again without this.
            thumbnail: send it no larger than this, in pixels a side, and keep it in full: the parts that the server
                wants to see sharper are sent when it asks for them. 0: send it as large as the server can use.
        """
        return await self._runner.run(self._core.show(picture, pinned, thumbnail))

    async def device(
        self, battery: int | None = None, *, charging: bool | None = None, heat: str = "", link: str = ""
    ) -> None:
        """Tell how the device is; what is left out is as it was. What the session makes of it comes by `news`.

        Args:
            battery: its charge in percent.
            charging: whether it is being charged.
            heat: normal, warm or hot.
            link: good, fair or poor.

        Raises:
            InvalidRequest: one of these cannot be.
        """
        if battery is not None and not 0 <= battery <= 100:
            raise InvalidRequest.of("battery", f"{battery} is not between 0 and 100")
        for name, word, kind in (("heat", heat, Heat), ("link", link, LinkQuality)):
            if word not in set(map(str, kind)):
                raise InvalidRequest.of(name, f"{word!r} is none of {', '.join(filter(None, map(str, kind)))}")
        state = DeviceState(battery, charging, Heat(heat), LinkQuality(link))
        self._runner.call(partial(self._core.device, state))

    async def forget(self) -> None:
        """Have the session forget pictures and dialogue. `news` has the receipt, a `quizglass.session.Forgotten`."""
        self._runner.call(self._core.forget)

    async def drop(self, frame: bytes) -> None:
        """Have a picture of that name let go."""
        self._runner.call(partial(self._core.drop, frame))

    async def ask(
        self,
        question: str,
        picture: PictureLike | None = None,
        *,
        frame: bytes = b"",
        overlap: str = "interrupt",
        **options: Unpack[AskOptions],
    ) -> AsyncTurn:
        """Ask a question; what is told of it comes by the turn.

        Args:
            question: what to answer. What was said and heard in the session is known.
            picture: what it is about.
            frame: name of a picture shown before, in place of `picture`.
            overlap: what becomes of it while another question runs: that one ends (interrupt), it waits (queue), or it
                fails (refuse).
            options: history, policy, budget and more; `AskOptions` says what they are.

        Raises:
            ClientError: the session was given up or is not open, or the question cannot be sent.
        """
        feed = await self._runner.run(self._core.ask(question, picture, frame, overlap, **options))
        return AsyncTurn(feed, self._core, self._runner)

    async def answer(
        self,
        question: str,
        picture: PictureLike | None = None,
        *,
        frame: bytes = b"",
        overlap: str = "interrupt",
        **options: Unpack[AskOptions],
    ) -> Answer:
        """Ask a question and wait for the whole answer; arguments and errors as those of `ask` and the turn's."""
        turn = await self.ask(question, picture, frame=frame, overlap=overlap, **options)
        return await turn.answer()

    async def news(self) -> AsyncIterator[News]:
        """What is told of the session and not of one of its turns: links lost and restored, pictures, failures."""
        while (news := await self._runner.run(self._core.next_news())) is not None:
            yield news

    def hint_reconnect(self) -> None:
        """The network may have changed: see at once whether the link is alive, and do not wait to make a new one."""
        self._runner.call(self._core.hint_reconnect)

    @property
    def state(self) -> bytes:
        """What a later session can take the dialogue from (`state`), here or in another program; empty as long as there
        is none. Whoever has it can go on with the dialogue: keep it as a secret."""
        return self._core.state

    @property
    def limits(self) -> SessionLimits | None:
        """What the server has told of its limits; None before the session is open."""
        return self._core.limits

    @property
    def links(self) -> int:
        """How many links there were so far."""
        return self._core.links


class AsyncTurn:
    """One question of a session. Iterated, it yields what is told of it as that comes, until the turn is over."""

    def __init__(self, feed: TurnFeed, core: SessionCore, runner: AsyncRunner) -> None:
        """For the session only."""
        self._feed = feed
        self._core = core
        self._runner = runner

    @property
    def id(self) -> str:
        """Its name in the session."""
        return self._feed.ask_id

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TurnSaid:
        """What is told next.

        Raises:
            ClientError: the turn, or the session, has failed.
        """
        said = await self._runner.run(self._feed.next())
        if said is None:
            raise StopAsyncIteration
        return said

    async def answer(self) -> Answer:
        """The whole turn, when it is over.

        Raises:
            Cancelled: it was interrupted.
            SessionLost: the session could not be resumed while it was half told.
            ClientError: it has failed.
        """
        return await self._runner.run(self._feed.answer())

    async def cancel(self) -> None:
        """End it; one that is over is left as it is."""
        self._runner.call(partial(self._core.cancel, self._feed))

    async def played(self, segment: int, code_point: int) -> None:
        """So much of its answer was said: all before that segment, and so many code points of it.

        A session that is over is not told any more.
        """
        self._runner.call(partial(self._core.played, self._feed, segment, code_point))
