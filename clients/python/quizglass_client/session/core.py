"""One session: its questions and pictures go out, and what the server says comes to the question that it is about.

Knows no gRPC: `reconnect` keeps the link.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Coroutine
from dataclasses import fields, replace
from typing import Any, Unpack

from quizglass.convert import to_value
from quizglass.session import (
    AnswerAudio,
    AnswerSpoken,
    CancelAsk,
    DeviceState,
    Forget,
    Forgotten,
    FrameStatus,
    GoAway,
    Interrupted,
    NeedFrame,
    Notice,
    Opened,
    Overlap,
    Playback,
    Playing,
    Pong,
    PostureChange,
    PostureLimits,
    Progress,
    Question,
    Restored,
    ServerSaid,
    SessionAsk,
    SessionLimits,
    SpeechStart,
    SpeechStatus,
    SpeechTranscript,
    TurnUpdate,
)
from quizglass_client import requests
from quizglass_client.errors import ClientError, InvalidRequest, SessionLost, closed
from quizglass_client.session.frames import ShownFrames
from quizglass_client.session.liveness import Silence
from quizglass_client.session.outgoing import OutgoingMessages
from quizglass_client.session.position import SessionPosition
from quizglass_client.session.reconnect import ReconnectingLink
from quizglass_client.session.turns import TurnFeed, TurnSaid
from quizglass_client.session.values import Listening, News, SessionOptions, check_played, check_said
from quizglass_client.session.voice.audio import Recording, Spoken, recording
from quizglass_client.session.voice.upload import SpeechUpload
from quizglass_client.types import AskOptions, PictureLike

_MOST_NEWS = 1024
_PAUSE_S = 1.0
"""Before listening again, where that failed."""
_SOUND_LOST = "the sound of this question was lost with the link, and is not kept any more; say it again"
_MOST_ASK_BYTES = 250 * 1024
"""Most bytes of a question: what a server takes as one message, less what goes around it."""


class SessionCore:
    """One session with a server, for the event loop that runs.

    Args:
        target: "host:port".
        options: how it is kept.
    """

    def __init__(self, target: str, options: SessionOptions) -> None:
        self._position = SessionPosition(options.state)
        self._outgoing = OutgoingMessages()
        self._link = ReconnectingLink(target, options, self._position, self._outgoing, self)
        self._frames = ShownFrames(self._outgoing)
        self._turns: dict[str, TurnFeed] = {}
        self._news: deque[News] = deque(maxlen=_MOST_NEWS)
        self._news_came = asyncio.Event()
        self._device = DeviceState()
        self._posture: PostureLimits | None = None
        self._count = 0
        self._wants_sound = options.output.aloud
        self._recording: set[asyncio.Task[None]] = set()
        self._playing: Playing | None = None
        self.failure: ClientError | None = None
        """Why it is over."""

    async def start(self) -> None:
        """Open the session.

        Raises:
            ClientError: it cannot be opened.
        """
        try:
            await self._link.start()
        except BaseException:
            self._close()
            raise
        if self.failure is not None:
            raise self.failure

    async def close(self) -> None:
        """End the session; the server lets its frames go."""
        try:
            await self._link.close()
        finally:
            self._close()

    def _close(self) -> None:
        self.fail(closed("session"))

    @property
    def limits(self) -> SessionLimits | None:
        """What the server has told of its limits."""
        return self._link.limits

    @property
    def state(self) -> bytes:
        """What the session's dialogue can be continued with elsewhere: its secret, and what the server has signed for
        that; empty as long as nothing was said."""
        return self._position.state

    @property
    def links(self) -> int:
        """Links that there were so far."""
        return self._link.links

    async def show(self, picture: PictureLike, pinned: bool, thumbnail: int = 0) -> bytes:
        """Send a picture ahead of any question; its name. It arrives while the program goes on."""
        self._check()
        side = self.limits.useful_picture_side if self.limits is not None else 0
        if self._posture is not None:
            side = self._posture.frame_side or side
        return await self._frames.show(picture, pinned=pinned, thumbnail=thumbnail, side=side)

    def drop(self, name: bytes) -> None:
        """Have a picture forgotten."""
        self._check()
        self._frames.drop(requests.picture_name(name))

    async def ask(
        self,
        question: str,
        picture: PictureLike | None,
        frame: bytes,
        overlap: str,
        **options: Unpack[AskOptions],
    ) -> TurnFeed:
        """Ask a question; its events come by the feed."""
        self._check()
        value = await self._request(question, picture, frame, overlap, **options)
        feed = self._new_feed(self._new_id())
        self._outgoing.say(SessionAsk(feed.ask_id, value, Overlap(overlap)))
        self._link.liveness.expect()
        return feed

    async def _request(
        self,
        question: str,
        picture: PictureLike | None,
        frame: bytes,
        overlap: str,
        **options: Unpack[AskOptions],
    ) -> Question:
        """What is asked, once its picture can be named."""
        request = requests.ask(question, None, **options)
        if overlap not in {str(each) for each in Overlap}:
            raise InvalidRequest.of("overlap", f"{overlap!r} is not interrupt, queue or refuse")
        if frame:
            requests.picture_name(frame)
            if picture is not None:
                raise InvalidRequest.of("frame", "a question is about a picture or about a frame; give one of them")
        if (size := request.ByteSize()) > _MOST_ASK_BYTES:
            raise InvalidRequest.of("question", f"with its history it has {size} bytes, more than {_MOST_ASK_BYTES}")
        name = frame or (b"" if picture is None else await self.show(picture, False))
        self._check()  # it may have ended meanwhile
        if name:
            request.frames.add(sha256=name)
        return to_value(request, Question)

    def _new_id(self) -> str:
        self._count += 1
        return f"{self._count}-{secrets.token_hex(4)}"

    def _new_feed(self, ask_id: str) -> TurnFeed:
        feed = TurnFeed(ask_id, aloud=self._hears_answers)
        self._turns[feed.ask_id] = feed
        return feed

    @property
    def _hears_answers(self) -> bool:
        return self._wants_sound and self.limits is not None and self.limits.speaks

    async def say(self, spoken: Spoken, picture: PictureLike | None, **options: Unpack[AskOptions]) -> TurnFeed:
        """Ask a spoken question, whose sound may still be recorded; its events come by the feed."""
        source = await self._source(spoken)
        request = await self._request("", picture, spoken.frame, spoken.overlap, **options)
        feed, upload = self._begin(spoken, source, request)

        async def record() -> None:
            try:
                await self._record(source, upload, feed)
            finally:
                await source.let_go()

        self._in_background(record())
        return feed

    async def listen(self, spoken: Spoken, picture: PictureLike | None, **options: Unpack[AskOptions]) -> Listening:
        """Ask whatever is spoken, question after question."""
        source = await self._source(spoken)
        request = await self._request("", picture, spoken.frame, spoken.overlap, **options)
        feeds: asyncio.Queue[TurnFeed | None] = asyncio.Queue()

        async def record() -> None:
            try:
                while (source.back or not source.ended) and self.failure is None:
                    feed, upload = self._begin(spoken, source, request)
                    feeds.put_nowait(feed)
                    try:
                        await self._record(source, upload, feed)
                    finally:
                        self._recorded(upload)
                    await upload.finished.wait()
                    source.back.extend(upload.left)
                    if feed.failed:
                        await asyncio.sleep(_PAUSE_S)
            finally:
                feeds.put_nowait(None)
                await source.let_go()

        return Listening(feeds, self._in_background(record()))

    def stop_listening(self, listening: Listening) -> None:
        """Read no more of a microphone that stays open. A question that is being spoken ends there; one that no caller
        has been given is cancelled."""
        listening.recording.cancel()
        while not listening.feeds.empty():
            feed = listening.feeds.get_nowait()
            if feed is not None and self.failure is None:
                self.cancel(feed)

    async def _source(self, spoken: Spoken) -> Recording:
        self._check()
        if self.limits is not None and not self.limits.max_speech:
            told = "the server hears nothing; ask in text, or have it started with a recogniser (docs/voice.md)"
            raise InvalidRequest.of("audio", told)
        requests.sendable(spoken.language, "language")
        return await asyncio.to_thread(recording, spoken.audio, spoken.rate_hz, spoken.channels, spoken.codec)

    def _begin(self, spoken: Spoken, source: Recording, request: Question) -> tuple[TurnFeed, SpeechUpload]:
        start = SpeechStart(
            self._new_id(),
            source.rate_hz,
            source.channels,
            source.codec,
            ends_by_silence=spoken.ends_by_silence,
            overlap=Overlap(spoken.overlap),
            request=request,
            language=spoken.language,
            pauses=spoken.pauses,
        )
        feed = self._new_feed(start.id)
        upload = self._outgoing.speak(start)
        self._link.liveness.expect()
        return feed, upload

    async def _record(self, source: Recording, upload: SpeechUpload, feed: TurnFeed) -> None:
        """Send what is recorded, until it ends, or the server has heard enough."""
        try:
            while not upload.over and (piece := await source.next()) is not None:
                upload.add(piece, self._playing)
                self._lose_speeches()
                self._outgoing.wake()
        except Exception as error:
            if upload.over:
                return  # it was heard; the next question gets the error
            source.ended = True
            self._outgoing.say(CancelAsk(feed.ask_id))
            if not isinstance(error, ClientError):
                error = ClientError(f"the sound cannot be read: {error}", reason="AUDIO")
            feed.fail(error)
            self._over(feed.ask_id)
            return
        self._recorded(upload)

    def _recorded(self, upload: SpeechUpload) -> None:
        """Nothing more of a question is recorded."""
        upload.complete()
        self._outgoing.wake()

    def _in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name="record")
        self._recording.add(task)
        task.add_done_callback(self._recording.discard)
        return task

    def playing(self, feed: TurnFeed, seconds: float | None, paused: bool) -> None:
        """So much of an answer's sound was played, and it goes on unless it is paused; None: it does not."""
        if seconds is not None:
            check_played("seconds", seconds)
        self._playing = None if seconds is None else Playing(feed.ask_id, seconds, paused)
        if seconds is not None and (at := feed.sound.at(seconds)) is not None:
            self.played(feed, *at)

    def cancel(self, feed: TurnFeed) -> None:
        """End a question."""
        if not feed.over:
            self._check()
            self._outgoing.say(CancelAsk(feed.ask_id))

    def device(self, state: DeviceState) -> None:
        """How the device is."""
        self._check()
        told = {each.name: said for each in fields(state) if (said := getattr(state, each.name)) not in (None, "")}
        changed = replace(self._device, **told)
        check_said(changed, "device")
        self._device = changed
        self._outgoing.say(changed)

    def forget(self) -> None:
        """Have the session forget what it was sent and said."""
        self._check()
        self._frames.forget()
        self._outgoing.say(Forget())

    def played(self, feed: TurnFeed, segment: int, code_point: int) -> None:
        """So much of an answer was said aloud; after the session's end it has no effect."""
        check_played("segment", segment)
        check_played("code_point", code_point)
        if self.failure is None:
            self._outgoing.say(Playback(feed.ask_id, segment, code_point))

    async def next_news(self) -> News | None:
        """The next event of the session; None when it is closed."""
        while not self._news:
            if self.failure is not None:
                return None
            self._check()
            self._news_came.clear()
            await self._news_came.wait()
        return self._news.popleft()

    def hint_reconnect(self) -> None:
        """The network may have changed: see at once whether the link is alive, and do not wait to make a new one."""
        self._link.liveness.hint()

    # What the link brings.

    def opened(self, opened: Opened, *, again: bool) -> None:
        """A link begins: what may not have arrived over the one before is said again.

        Args:
            opened: what the server says first.
            again: whether there was one before.
        """
        resumed = opened.restored is Restored.ALL
        if not resumed:
            self._posture = None
            if again:
                self._lose(opened.restored_reason)
            for feed in self._turns.values():
                feed.aloud = self._wants_sound and opened.limits.speaks
        self._outgoing.again(resumed=resumed, longest_s=opened.limits.max_speech)
        self._lose_speeches()

    def silence(self, limits: SessionLimits) -> Silence:
        """How long the link may say nothing now."""
        return Silence.within(limits, self._posture, turns=any(not feed.answered for feed in self._turns.values()))

    def _lose(self, reason: str) -> None:
        """Questions that were half answered cannot be taken up again in a new session."""
        for feed in list(self._turns.values()):
            if feed.answered:
                feed.stop_waiting_for_sound()
                self._over(feed.ask_id)
            elif feed.begun:
                self._over(feed.ask_id)
                told = f"the session could not be resumed: {reason}; ask again"
                feed.fail(SessionLost(told, status="UNAVAILABLE", reason=reason))

    def _lose_speeches(self) -> None:
        """Spoken questions whose sound is needed again and not kept cannot be asked."""
        for name in self._outgoing.lost_speeches:
            if (feed := self._turns.pop(name, None)) is not None:
                feed.fail(SessionLost(_SOUND_LOST, status="UNAVAILABLE", reason="SOUND_LOST"))
            self._outgoing.give_up(name)

    def take(self, said: ServerSaid) -> None:
        """The server says something."""
        match said:
            case Pong(payload=payload):
                self._outgoing.pong(payload)
            case FrameStatus():
                self._outgoing.status(said)
                self.tell(said)
            case NeedFrame(frames=frames):
                for need in frames:
                    self._frames.need(need)
                self._feed(said.ask_id, said)
            case SpeechStatus():
                if self._outgoing.spoken(said):
                    self._feed(said.id, said)
                self._lose_speeches()
            case TurnUpdate() | Interrupted() | Progress() | SpeechTranscript() | AnswerAudio() | AnswerSpoken():
                self._feed(said.ask_id, said)
            case Notice():
                self._notice(said)
            case PostureChange(limits=limits):
                self._posture = limits
                self.tell(said)
            case Forgotten():
                self._position.forget()
                self._outgoing.forgotten()
                self.tell(said)
            case GoAway():
                self.tell(said)

    def _notice(self, notice: Notice) -> None:
        feed = self._turns.get(notice.ask_id)
        if feed is not None and notice.turn_over and notice.reason == "STOPPING" and not feed.begun:
            return  # nothing was done: it is asked again over the next link
        if feed is not None:
            feed.take(notice)
            if feed.over:
                self._over(feed.ask_id)
        self.tell(notice)

    def _feed(self, ask_id: str, said: TurnSaid) -> None:
        if (feed := self._turns.get(ask_id)) is not None:
            feed.take(said)
            if feed.over:
                self._over(ask_id)
            elif feed.answered or (isinstance(said, SpeechTranscript) and said.final):
                self._outgoing.over(ask_id)
        elif isinstance(said, Interrupted):
            self._outgoing.over(ask_id)  # it was given up

    def _over(self, ask_id: str) -> None:
        self._turns.pop(ask_id, None)
        self._outgoing.over(ask_id)

    def fail(self, error: ClientError) -> None:
        """The session is over, and so are its questions."""
        if self.failure is None:
            self.failure = error
            for feed in list(self._turns.values()):
                feed.fail(error)
            self._turns.clear()
            for task in self._recording:
                task.cancel()
            self._frames.close()
            self._news_came.set()

    def _check(self) -> None:
        if self.failure is not None:
            raise self.failure
        if not self._link.started:
            advice = "the session is not open; enter it, `with Session(…) as session:` or `async with AsyncSession(…)`"
            raise ClientError(advice, reason="NOT_OPEN")

    def tell(self, news: News) -> None:
        """Something happened that is not of one of its turns."""
        self._news.append(news)
        self._news_came.set()
