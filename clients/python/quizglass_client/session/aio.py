"""The session for asyncio programs; `quizglass_client.session.sync` is generated from it (`make client`)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Self, Unpack

import grpc

from quizglass.session import DeviceState, Heat, LinkQuality, OutputProfile, SessionLimits, SpeechTranscript
from quizglass_client.access import FileName, Metadata, access_to
from quizglass_client.channel import DEFAULT_TARGET, check_target
from quizglass_client.errors import Cancelled, InvalidRequest
from quizglass_client.session.core import SessionCore
from quizglass_client.session.runner import AsyncRunner
from quizglass_client.session.turns import TurnFeed, TurnSaid
from quizglass_client.session.values import News, SessionOptions, check_output
from quizglass_client.session.voice.audio import AudioLike, Spoken
from quizglass_client.types import Answer, AskOptions, PictureLike


class AsyncSession:
    """A wearable's session with a quizglass server, for one event loop.

    It outlasts its links: when one breaks, another is made and goes on where that was, in the middle of an answer or of
    a picture. What could not be saved is reported by `news`, and the questions that it concerns fail.

    Args:
        target: "host:port", "[host]:port" or "unix:path".
        connect_timeout: seconds in which the server has to answer, at each attempt.
        patience: seconds without a link after which the session is given up; None: never.
        keepalive: seconds of silence after which gRPC asks whether the connection is alive; None: the session's own
            pings do. Servers end connections that ask more often than they permit.
        max_segment_chars: longest segment of an answer, which comes in pieces that can be said or shown; 0: as `output`
            says.
        output: what segments should look like: how many words, how wide a display, how numbers are said, and whether
            something is said while the answer is not there yet.
        local_only: whether what the session is given stays on the server's machine; questions fail with NOT_LOCAL where
            they cannot be answered so.
        state: `state` of an earlier session, whose dialogue goes on; `news` says whether it could (`LinkRestored`).
        credentials: TLS credentials, where `ca` is not enough; None, and no `ca`: the link is not encrypted.
        metadata: goes with every link, for a proxy that asks for more than a token.
        token: goes with every link as `authorization: Bearer …`; over TLS only, unless the server is on this machine.
        token_file: file that has the token, read again when it changes; None, and no `token`: the one that
            QUIZGLASS_TOKEN_FILE names.
        ca: file of the certificates that are trusted, PEM; the connection is then encrypted.

    Raises:
        InvalidRequest: an argument cannot be; it is named.
        OSError: a file that is named cannot be read.
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
        token: str | None = None,
        token_file: FileName | None = None,
        ca: FileName | None = None,
    ) -> None:
        self.target = target
        check_target(target)
        output = output or OutputProfile()
        if max_segment_chars:
            output = replace(output, max_segment_chars=max_segment_chars)
        check_output(output)
        access = access_to(
            target, credentials=credentials, metadata=metadata, token=token, token_file=token_file, ca=ca
        )
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
        """End the session: its questions are cancelled, and the server lets go of its pictures. Twice does no harm."""
        try:
            with suppress(Cancelled):
                await self._runner.run(self._core.close())
        finally:
            await self._runner.close()

    async def show(self, picture: PictureLike, *, pinned: bool = False, thumbnail: int = 0) -> bytes:
        """Send a picture before there is a question about it.

        It is sent in the background, between other messages, and the server looks at it meanwhile.

        Args:
            picture: resized to what the server can use.
            pinned: whether the server is to keep it until it is dropped or shown again without this.
            thumbnail: send it no larger than this, in pixels a side, and keep it in full: the parts that the server
                wants to see sharper are sent when it asks for them. 0: send it as large as the server can use.

        Returns:
            The picture's name, for `ask` and `drop`.

        Raises:
            ClientError: the session was given up or is not open, or `thumbnail` cannot be.
            Cancelled: `forget` was called while the picture was made ready, which is not sent; reason FORGOTTEN.
        """
        return await self._runner.run(self._core.show(picture, pinned, thumbnail))

    async def device(
        self, battery: int | None = None, *, charging: bool | None = None, heat: str = "", link: str = ""
    ) -> None:
        """Tell how the device is; what is left out stays as it was. `news` has what the server makes of it.

        Args:
            battery: its charge in percent.
            charging: whether it is being charged.
            heat: normal, warm or hot.
            link: good, fair or poor.

        Raises:
            InvalidRequest: a value is out of range or unknown.
        """
        if battery is not None and not (isinstance(battery, int) and 0 <= battery <= 100):
            raise InvalidRequest.of("battery", f"{battery} is not between 0 and 100, in whole percent")
        for name, word, kind in (("heat", heat, Heat), ("link", link, LinkQuality)):
            if word not in set(map(str, kind)):
                raise InvalidRequest.of(name, f"{word!r} is none of {', '.join(filter(None, map(str, kind)))}")
        state = DeviceState(battery, charging, Heat(heat), LinkQuality(link))
        self._runner.call(partial(self._core.device, state))

    async def forget(self) -> None:
        """Have the server forget the pictures and the dialogue of the session.

        `news` has the receipt, a `quizglass.session.Forgotten`.
        """
        self._runner.call(self._core.forget)

    async def drop(self, frame: bytes) -> None:
        """Have the server let go of the picture of that name."""
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
        """Ask a question; the turn that is returned gives its events and its answer.

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
        """Ask a question and wait for the whole answer; arguments and errors as those of `ask` and the turn's.

        The turn is cancelled when its waiter leaves.
        """
        turn = await self.ask(question, picture, frame=frame, overlap=overlap, **options)
        try:
            return await turn.answer()
        finally:
            await turn.cancel()

    async def say(
        self,
        audio: AudioLike,
        picture: PictureLike | None = None,
        *,
        frame: bytes = b"",
        overlap: str = "interrupt",
        rate_hz: int = 16_000,
        channels: int = 1,
        ends_by_silence: bool = False,
        language: str = "",
        codec: str = "pcm16",
        **options: Unpack[AskOptions],
    ) -> AsyncTurn:
        """Ask a question that is spoken; the turn that is returned gives its transcript, its events and its answer.

        It returns at once: the sound is sent as it is recorded, and the server listens meanwhile. With
        `OutputProfile(aloud=True)` the answer comes as sound, too.

        Args:
            audio: a WAV file (its name or its bytes), or pieces of 16-bit PCM as they are recorded, such as those of
                `Microphone`. Their end is the end of the question.
            picture: what it is about.
            frame: name of a picture shown before, in place of `picture`.
            overlap: what becomes of it while another question runs or is said, as for `ask`; with interrupt, that one
                ends with the first word.
            rate_hz: samples a second in each channel of the pieces; a WAV file says it itself.
            channels: of the pieces.
            ends_by_silence: whether the server ends the question, when something was said and there is silence: for a
                microphone that stays open.
            language: tag of the spoken language, such as "en"; empty: the server finds out.
            codec: of the pieces: pcm16, or opus where each is one packet, whose rate and channels are its own.
            options: as for `ask`.

        Raises:
            InvalidRequest: the server hears nothing, or an argument cannot be.
            OSError: the file cannot be read.
            ClientError: the session was given up or is not open.
        """
        spoken = Spoken(audio, frame, overlap, rate_hz, channels, ends_by_silence, language, codec)
        feed = await self._runner.run(self._core.say(spoken, picture, **options))
        return AsyncTurn(feed, self._core, self._runner)

    async def listen(
        self,
        audio: AudioLike,
        picture: PictureLike | None = None,
        *,
        frame: bytes = b"",
        overlap: str = "interrupt",
        rate_hz: int = 16_000,
        channels: int = 1,
        language: str = "",
        codec: str = "pcm16",
        pauses: bool = False,
        **options: Unpack[AskOptions],
    ) -> AsyncIterator[AsyncTurn]:
        """Ask whatever is spoken into a microphone that stays open, question after question, until its pieces end or
        the iteration is left.

        Each turn comes when its question is listened for, before its first word, and the next one when that was spoken.
        What was heard is the turn's `transcript`, which is empty where that was nothing. Arguments and errors are those
        of `say`. With `pauses`, the turn that is listened for has a `SpeechStatus` PAUSE as soon as the wearer may have
        begun to speak over an answer: pause it, and tell by `playing`. VOICE follows, or RESUME: play on.
        """
        spoken = Spoken(audio, frame, overlap, rate_hz, channels, True, language, codec, pauses)
        listening = await self._runner.run(self._core.listen(spoken, picture, **options))
        try:
            while (feed := await self._runner.run(listening.feeds.get())) is not None:
                yield AsyncTurn(feed, self._core, self._runner)
        finally:
            self._runner.soon(partial(self._core.stop_listening, listening))

    async def news(self) -> AsyncIterator[News]:
        """What happens in the session outside of its turns: links lost and restored, pictures, failures."""
        while (news := await self._runner.run(self._core.next_news())) is not None:
            yield news

    def hint_reconnect(self) -> None:
        """Say that the network may have changed: the link is checked at once, and a new one is made without waiting."""
        self._runner.call(self._core.hint_reconnect)

    @property
    def state(self) -> bytes:
        """What a later session is given as `state` to go on with the dialogue, here or in another program.

        Empty as long as there is no dialogue. Whoever has it can go on with the dialogue: keep it secret.
        """
        return self._core.state

    @property
    def limits(self) -> SessionLimits | None:
        """The limits of the session, as the server told them; None before it is open."""
        return self._core.limits

    @property
    def links(self) -> int:
        """How many links the session has had so far."""
        return self._core.links


class AsyncTurn:
    """One question of a session; iterate over it for its events as they arrive, until the turn is over."""

    def __init__(self, feed: TurnFeed, core: SessionCore, runner: AsyncRunner) -> None:
        """Called by `ask` of the session only."""
        self._feed = feed
        self._core = core
        self._runner = runner

    @property
    def id(self) -> str:
        """The question's name in the session."""
        return self._feed.ask_id

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TurnSaid:
        """The next event.

        Raises:
            ClientError: the turn, or the session, has failed.
        """
        said = await self._runner.run(self._feed.next())
        if said is None:
            raise StopAsyncIteration
        return said

    async def transcript(self) -> SpeechTranscript:
        """Wait until a spoken question is over, and return what was heard; empty: nothing was, and no answer comes.

        Raises:
            Cancelled: it was interrupted before.
            ClientError: it cannot be understood.
        """
        return await self._runner.run(self._feed.transcript())

    async def answer(self) -> Answer:
        """Wait until the turn is over, and return the whole answer.

        Raises:
            Cancelled: the turn was interrupted, or what was spoken is no question (NOTHING_HEARD, COMMAND).
            SessionLost: the session could not be resumed, and part of the turn is lost.
            ClientError: the turn has failed.
        """
        return await self._runner.run(self._feed.answer())

    async def cancel(self) -> None:
        """End the turn; nothing happens if it is over."""
        self._runner.call(partial(self._core.cancel, self._feed))

    async def played(self, segment: int, code_point: int) -> None:
        """Tell the server how much of the answer was said aloud, so that the dialogue goes on from what was heard.

        Nothing is sent when the session is over.

        Args:
            segment: number of the segment that is being said; all before it were said.
            code_point: how many code points of that segment were said.
        """
        self._runner.call(partial(self._core.played, self._feed, segment, code_point))

    async def playing(self, seconds: float | None, *, paused: bool = False) -> None:
        """Tell the server how much of the answer's sound was played, while it is being played.

        From then on the microphone's sound is sent with that, so that the answer is not taken for the wearer; and the
        dialogue goes on from what was heard.

        Args:
            seconds: of the answer's sound, from its beginning; None: it is played no more.
            paused: whether it is paused there.
        """
        self._runner.call(partial(self._core.playing, self._feed, seconds, paused))
