"""A wearable's session: takes its client's messages and answers them, over a link that may break and be replaced.

Knows no gRPC. A transport hands its client's messages to `Session.receive`, and sends what the session's link gives.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from quizglass.session import (
    Ack,
    CancelAsk,
    Cause,
    ClientSaid,
    Close,
    DeviceState,
    Forget,
    Forgotten,
    FrameBegin,
    FrameDrop,
    FramePart,
    FrameState,
    FrameStatus,
    GoAway,
    Interrupted,
    Kept,
    Notice,
    Open,
    Opened,
    OutputProfile,
    Ping,
    Playback,
    Pong,
    PostureChange,
    Privacy,
    Restored,
    ServerSaid,
    SessionAsk,
    SessionLimits,
    SpeechAudio,
    SpeechEnd,
    SpeechStart,
    TurnUpdate,
)
from quizglass.values import Done
from quizglass_server.assistant.asking import Asking
from quizglass_server.assistant.look_ahead import LookAhead
from quizglass_server.domain import checks
from quizglass_server.errors import (
    InvalidInput,
    NotFound,
    NotLocal,
    Overloaded,
    QuizglassError,
    SessionUnknown,
    Stopping,
    Superseded,
    reported,
)
from quizglass_server.observe import metrics
from quizglass_server.scheduling.clients import Client
from quizglass_server.scheduling.ledger import ByteLedger
from quizglass_server.scheduling.places import Place
from quizglass_server.session.coaching.closer import CloseUpAdvisor
from quizglass_server.session.coaching.coach import CaptureCoach
from quizglass_server.session.conversation import Conversation
from quizglass_server.session.dialogue.following import Dialogue
from quizglass_server.session.dialogue.token import DialogueSealer
from quizglass_server.session.frame_preparation import FramePreparation
from quizglass_server.session.frames import FramePool, FrameShelf, HeldFrame, ShelfLimits
from quizglass_server.session.link import Encode, SessionLink
from quizglass_server.session.log import MessageLog
from quizglass_server.session.posture import DevicePosture
from quizglass_server.session.question_frames import QuestionFrames
from quizglass_server.session.turns import Turns
from quizglass_server.session.voice.aloud import Mouth
from quizglass_server.session.voice.sound import SessionSound
from quizglass_server.session.voice.speeches import Ears

logger = logging.getLogger(__name__)

MAX_PING_BYTES = 64
_REST_S = 60.0
"""A session with a link makes room for another one of its address when its client has said nothing for so long; a
client that follows the protocol pings sooner."""
_RETRY_S = 1.0


@dataclass(frozen=True, slots=True)
class Wire:
    """How a transport encodes messages and names errors."""

    encode: Encode
    status: Callable[[QuizglassError], int]
    """The google.rpc.Code of an error."""
    kind: Callable[[ClientSaid], str]
    """The protocol's name for a client's message."""


@dataclass(frozen=True, slots=True)
class SessionResources:
    """What all sessions of a server share."""

    asking: Asking
    looks: LookAhead | None
    """Looks at frames ahead; None: they wait for a question."""
    pool: FramePool
    sealer: DialogueSealer
    wire: Wire
    limits: SessionLimits
    coach: CaptureCoach | None = None
    """Judges how frames were taken; None: no coaching."""
    closer: CloseUpAdvisor | None = None
    """Says where a thumbnail shows too little; None: no sharper parts are requested."""
    ears: Ears = field(default_factory=Ears)
    """Hear spoken questions."""
    mouth: Mouth = field(default_factory=Mouth)
    """Says answers."""


class Session:
    """One wearable's session.

    Args:
        resources: what all sessions share.
        place: that it takes among them.
        holder: the client's secret.
        dialogue: of an earlier session, which goes on here.
        output: what answers should look like.
        privacy: where what it is given may go.
        on_end: told when the session has ended.
    """

    def __init__(
        self,
        resources: SessionResources,
        place: Place,
        holder: bytes,
        dialogue: Dialogue,
        output: OutputProfile,
        privacy: Privacy,
        on_end: Callable[[Session], None],
    ) -> None:
        limits = resources.limits
        self.id = uuid.uuid4().hex
        self.place = place
        self._resources = resources
        self.privacy = privacy
        self._holder = hashlib.sha256(holder).digest()
        self._secret = holder
        self._on_end = on_end
        self._log = MessageLog(limits.unacknowledged_bytes, limits.unacknowledged)
        self._link: SessionLink | None = None
        self._links = 0
        self._ended = False
        self._stopping = False
        self._changed_state = bool(dialogue)
        self._away: asyncio.TimerHandle | None = None
        self._pulse: asyncio.TimerHandle | None = None
        self._settling: asyncio.TimerHandle | None = None
        self._last_word = 0.0
        self._posture = DevicePosture(limits, resources.looks is not None)
        self._conversation = Conversation(dialogue)
        room = ShelfLimits(limits.max_frame_bytes, limits.max_frames_bytes, limits.max_frames, limits.max_pins)
        self._shelf = FrameShelf(
            room, resources.pool, self._frame_whole, self._frame_gone, lambda: self.place.client.address
        )
        self._frames = QuestionFrames(resources.asking, self._shelf, self.emit, limits.frame_wait, resources.closer)
        self._preparation = FramePreparation(
            resources.asking, self._shelf, self.emit, self._not_a_picture, resources.looks, resources.coach
        )
        queue = limits.max_queued_asks
        self._turns = Turns(resources.asking, self._frames, self._conversation, self, queue=queue, output=output)
        self._linked = asyncio.Event()
        self._sound = SessionSound(resources.ears, resources.mouth, self, self._turns, self._conversation.of, output)

    # What whoever has a link does.

    def belongs_to(self, holder: bytes) -> bool:
        """Whether a client has the secret of the one that opened it."""
        return hmac.compare_digest(self._holder, hashlib.sha256(holder).digest())

    def resumable_after(self, seq: int) -> str:
        """Why a new link cannot go on after message `seq`: a reason of the protocol; empty where it can."""
        if seq > self._log.last:
            return "SEQ_AHEAD"
        return "" if self._log.keeps_after(seq) else "SEQ_NOT_KEPT"

    @property
    def dialogue(self) -> Dialogue:
        """What was asked, and what was heard of each answer."""
        return self._conversation.dialogue

    def attach(self, after: int, restored: Restored, reason: str) -> SessionLink:
        """Make a new link, which sends all messages after number `after`; an older link ends."""
        if self._link is not None:
            self._link.end(Superseded())
        if self._away is not None:
            self._away.cancel()
        self._links += 1
        self._away = None
        self._log.acknowledge(after)
        link = self._link = SessionLink(self._links, self._log, after, self._resources.wire.encode)
        self._linked.set()
        self._sound.linked()
        opened = Opened(self.id, link.number, restored, reason, self._resources.limits, self.open_asks)
        link.tell(opened, self.state)
        self._changed_state = False
        self._mark_place()
        self._beat()
        return link

    def detach(self, link: SessionLink) -> None:
        """Note that a link is gone; the session waits for another one, unless there is one already."""
        link.finish()  # no waiter is left until it has written something
        if self._link is link and not self._ended:
            self._link = None
            self._linked.clear()
            self._mark_place()
            if self._stopping and not self.open_asks:
                self.end()
                return
            self._away = asyncio.get_running_loop().call_later(self._resources.limits.away, self.end)

    @property
    def stream(self) -> int:
        """Number of the newest link."""
        return self._links

    @property
    def link(self) -> SessionLink | None:
        """The current link; None: the client is away."""
        return self._link

    async def room(self) -> None:
        """Wait until another message of the client may be taken: it has read enough, and not sent too much sound.

        Raises:
            Overloaded: the client has no link that reads.
            SessionUnknown: the session has ended.
        """
        while not self._ended and (wait_s := self._sound.wait_s) > 0:  # noqa: ASYNC110  # time alone brings it
            await asyncio.sleep(wait_s)
        while not self._ended and self._log.full and (link := self._link) is not None and link.behind:
            await link.progressed()
            self._log.make_room(link.written)
        if self._ended:
            raise SessionUnknown
        if self._log.full and self._link is None:
            raise Overloaded("too many messages wait to be read; attach to the session first", _RETRY_S)

    def receive(self, said: ClientSaid | None, message_id: int = 0) -> None:
        """Handle a message of the client, without waiting for anything; answers go out over the link."""
        if said is None or self._ended:
            return
        try:
            self._take(said, message_id)
        except Exception as error:  # unexpected ones, too: the link goes on with the next message
            self._refuse(said, message_id, error)
        self._mark_place()

    def listens_only(self, link: SessionLink) -> None:
        """Note that the client sends nothing more over this link, which ends once no question runs."""
        link.listens_only = True
        self._leave_when_idle()

    def refuse(self, error: QuizglassError) -> None:
        """Tell the client of a message that could not be read."""
        self.emit(self._notice(error))

    def end(self) -> None:
        """End the session: questions are cancelled, frames let go, and the link ends once it has sent everything."""
        if self._ended:
            return
        self._ended = True
        self._sound.stop()
        self._turns.stop()
        self._preparation.end()
        self._shelf.clear()
        for timer in (self._away, self._pulse, self._settling):
            if timer is not None:
                timer.cancel()
        if self._link is not None:
            self._link.finish()
        self._on_end(self)

    def go_away(self, left_s: float) -> None:
        """Prepare for the server's stop: nothing new begins, and the link ends once no question runs."""
        self._stopping = True
        if self._link is not None:
            self._link.tell(GoAway(left_s, Stopping.code), self.state)
        self._leave_when_idle()

    def cut_short(self) -> None:
        """End the session as the server stops now: running questions are interrupted, and told so."""
        self._sound.cancel(Cause.STOPPING)
        self._turns.interrupt(Cause.STOPPING)
        self.end()

    @property
    def state(self) -> bytes:
        """The signed state by which the dialogue can go on in another session; empty: nothing was said."""
        return self._resources.sealer.seal_state(self._conversation.dialogue, self._secret)

    # What its turns do: see `turns.Speaker`.

    def emit(self, said: ServerSaid) -> None:
        """Send a message, under the next number."""
        if self._ended:
            return
        said = self._sound.before(said)
        if isinstance(said, Interrupted) or (isinstance(said, TurnUpdate) and isinstance(said.event, Done)):
            self._changed_state = True
        state, self._changed_state = self.state if self._changed_state else b"", False
        self._log.add(self._resources.wire.encode(said, self._log.last + 1, state))
        self._last_word = time.monotonic()
        if self._link is not None:
            self._link.wake()
            self._log.make_room(self._link.written)
        if self._log.full and self._turns.open_asks:
            # Of each question that is open; none is afterwards.
            self._turns.interrupt(Cause.UNREAD)
        self._sound.after(said)

    def failed(self, ask_id: str, message_id: int, error: Exception, message: str = "ask") -> None:
        """Tell that a question failed; what was said of its answer by then is part of the dialogue."""
        self._changed_state = True
        self.emit(self._notice(error, message_id, message, ask_id=ask_id, turn_over=True))

    def silence(self, ask_id: str) -> None:
        """Say no more of an answer, which is about to be interrupted."""
        self._sound.silence(ask_id)

    def settled(self) -> None:
        """Note that a question, or what is said of its answer, is over."""
        self._mark_place()
        self._leave_when_idle()

    # What its sound does: see `sound.SoundHost`.

    @property
    def client(self) -> Client:
        """Whose session it is."""
        return self.place.client

    @property
    def stays_here(self) -> bool:
        """Whether nothing of it may leave this machine."""
        return self.privacy is Privacy.LOCAL_ONLY

    @property
    def away(self) -> bool:
        """Whether its client has no link."""
        return self._link is None

    @property
    def open_asks(self) -> tuple[str, ...]:
        """Names of the questions that are listened to, run or wait."""
        return (*self._turns.open_asks, *self._sound.open)

    def check_asked(self) -> None:
        """Raise why no question is taken now."""
        if self._stopping:
            raise Stopping
        if self._unanswerable:
            raise NotLocal(" and ".join(self._resources.asking.answers_elsewhere))

    def ask(self, ask: SessionAsk, message_id: int, ledger: ByteLedger | None = None) -> None:
        """Ask a question, for which `check_asked` was called when it began: a spoken one is heard first."""
        try:
            self._turns.ask(ask, message_id, ledger)
        except InvalidInput as error:
            raise InvalidInput(f"ask.{error.field}", error.description) from None
        self._sound.asked(ask)
        self._begun()

    async def sound_room(self) -> None:
        """Wait until the client has all that was said, so that sound neither piles up nor delays anything else."""
        while not self._ended:
            if (link := self._link) is None:
                await self._linked.wait()
            elif link.behind:
                await link.progressed()
            else:
                return

    # How messages are taken.

    def _take(self, said: ClientSaid, message_id: int) -> None:
        match said:
            case Ping(payload=payload):
                self._pong(payload)
            case Ack(seq=seq):
                self._acknowledge(seq)
            case FrameBegin():
                self._announced(said)
            case FramePart():
                self._part(said, message_id)
            case FrameDrop(sha256=sha256):
                checks.sha256(sha256, "frame_drop.sha256")
                self._preparation.end(sha256)
                self.emit(self._shelf.drop(sha256))
                self._frames.arrived(sha256)
            case SessionAsk():
                self.check_asked()
                self.ask(said, message_id)
            case CancelAsk(ask_id=ask_id):
                self._sound.cancel(Cause.CANCEL, only=ask_id)
                self._turns.cancel(ask_id)
            case SpeechStart():
                self._sound.take(said, message_id)
                self._begun()
            case SpeechAudio() | SpeechEnd():
                self._sound.take(said, message_id)
            case Playback():
                self._played(said)
            case DeviceState():
                self._device(said)
            case Forget():
                self.emit(self._forget())
            case Close():
                self.end()
            case Open():
                raise InvalidInput("open", "the session is open; open another one over another link")

    def _pong(self, payload: bytes) -> None:
        if len(payload) > MAX_PING_BYTES:
            raise InvalidInput("ping.payload", f"{len(payload)} bytes is more than the {MAX_PING_BYTES} allowed")
        if self._link is not None:
            state, self._changed_state = self.state if self._changed_state else b"", False
            self._link.tell(Pong(payload), state)

    def _acknowledge(self, seq: int) -> None:
        if not 0 <= seq <= self._log.last:
            raise InvalidInput("ack.seq", f"{seq} is no message of this session, which has said {self._log.last}")
        self._log.acknowledge(seq)

    def _announced(self, begin: FrameBegin) -> None:
        try:
            status = self._shelf.begin(begin)
        except (InvalidInput, Overloaded) as error:
            self._shelf.refuse(begin.sha256, error)
            if isinstance(error, InvalidInput):  # a question need not wait for it; there may be room in a moment
                self._frames.arrived(begin.sha256)
            raise
        self.emit(status)
        if status.state is FrameState.HELD and begin.parent:  # it is here, and only now the sharper one of another
            self._frames.sharper_arrived(begin.parent)

    def _part(self, part: FramePart, message_id: int) -> None:
        try:
            status = self._shelf.part(part)
        except InvalidInput as error:
            self._refuse(part, message_id, error)
            status = self._shelf.status(part.sha256)
        if status is not None:
            self.emit(status)

    def _begun(self) -> None:
        """A question begins: from now on something is said every now and then."""
        self._last_word = time.monotonic()
        self._beat()

    @property
    def _unanswerable(self) -> bool:
        """Whether nothing can be answered, since what it takes is elsewhere."""
        return self.privacy is Privacy.LOCAL_ONLY and bool(self._resources.asking.answers_elsewhere)

    def _forget(self) -> Forgotten:
        """Forget what was sent and said, as far as it is the session's."""
        ended = self._sound.forget() + self._turns.forget()
        self._preparation.end()
        frames, names = self._shelf.clear()
        pictures = sum(map(self._resources.asking.pictures.forget, names))
        exchanges = self._conversation.forget()
        self._resources.asking.forget_prompts()
        self._changed_state = False
        kept = [Kept("caches")]
        if memory_s := self._resources.asking.memory_s:
            kept.append(Kept("memory", memory_s))
        if self._link is not None:
            self._log.acknowledge(self._link.written)
        if self._link is None or self._link.behind:
            kept.append(Kept("messages", self._resources.limits.unacknowledged))
        size = sum(len(frame.data) for frame in frames)
        logger.info("session forgotten", extra={"audit": True, "count": len(frames), "exchanges": exchanges})
        return Forgotten(len(frames), size, pictures, exchanges, ended, tuple(kept))

    def _device(self, state: DeviceState) -> None:
        if state.battery_percent is not None:
            checks.within(state.battery_percent, 0, 100, "device_state.battery_percent")
        self._announce(self._posture.tell(state))

    def _announce(self, change: PostureChange | None) -> None:
        """Tell of a change of posture, and look again when the next may be due."""
        if self._settling is not None:
            self._settling.cancel()
            self._settling = None
        if change is not None:
            self._turns.most_words = change.limits.answer_words
            self._sound.keep_to(change.limits.answer_rate_hz)
            self._preparation.pause(not change.limits.look_ahead)
            self.emit(change)
        if (due := self._posture.due_in) is not None:
            again = lambda: self._announce(self._posture.settle())  # noqa: E731
            self._settling = asyncio.get_running_loop().call_later(due, again)

    def _played(self, playback: Playback) -> None:
        said = self._conversation.of(playback.ask_id)
        if said is None:
            raise NotFound("playback.ask_id: there is no such question", field="playback.ask_id")
        said.played(playback.segment, playback.code_point)
        self._changed_state = True

    # What becomes of frames.

    def _frame_whole(self, frame: HeldFrame) -> None:
        frame.ahead.add("frames", len(frame.data))
        self._frames.arrived(frame.begin.sha256)
        if frame.begin.parent:
            self._frames.sharper_arrived(frame.begin.parent)
        if not self._unanswerable:
            self._preparation.begin(frame)

    def _frame_gone(self, status: FrameStatus) -> None:
        self._preparation.end(status.sha256)
        self.emit(status)

    def _not_a_picture(self, sha256: bytes, error: InvalidInput) -> None:
        told = InvalidInput("frame_begin", error.description)
        told.code = error.code
        self.emit(self._notice(told, frame=sha256))
        self.emit(self._shelf.drop(sha256))
        self._shelf.refuse(sha256, error)
        self._frames.arrived(sha256)

    # Failures and keepalives.

    def _refuse(self, said: ClientSaid, message_id: int, error: Exception) -> None:
        ask_id, over = "", False
        if isinstance(said, SessionAsk | SpeechStart | SpeechAudio | SpeechEnd):
            ask_id, over = said.id, said.id not in self.open_asks
        frame = said.sha256 if isinstance(said, FrameBegin | FramePart | FrameDrop) else b""
        kind = self._resources.wire.kind(said)
        self.emit(self._notice(error, message_id, kind, ask_id=ask_id, frame=frame, turn_over=over))

    def _notice(
        self,
        error: Exception,
        message_id: int = 0,
        message: str = "",
        *,
        ask_id: str = "",
        frame: bytes = b"",
        turn_over: bool = False,
    ) -> Notice:
        """A failure, with the reason, field and delay that a call would have ended with."""
        known = reported(error, message)
        metrics.REFUSALS.add(known.code)
        field, wait_s = known.metadata.get("field", ""), known.retry_after_s or 0.0
        what = self._resources.wire.status(known), known.code, known.message, known.metadata, field, wait_s
        return Notice(message_id, message, ask_id, frame, *what, turn_over)

    def _beat(self) -> None:
        """While a turn runs, say where it is whenever nothing else was said for a while."""
        if self._pulse is not None:
            self._pulse.cancel()
            self._pulse = None
        if self._ended or not self.open_asks or self._link is None:
            return
        every = self._resources.limits.progress * 0.75
        quiet = time.monotonic() - self._last_word
        if quiet >= every and (progress := self._turns.progress() or self._sound.progress()) is not None:
            self._link.tell(progress)
            self._last_word, quiet = time.monotonic(), 0.0
        self._pulse = asyncio.get_running_loop().call_later(every - quiet, self._beat)

    def _mark_place(self) -> None:
        """While no question is open and no answer is said, the session may make room for one of another client."""
        if self.open_asks or (self._sound.speaking and self._link is not None):
            self.place.busy()
        else:
            self.place.idle(self._make_room, _REST_S if self._link is not None else 0.0)

    def _make_room(self) -> None:
        if self._link is not None:
            self._link.end(
                Overloaded("the session was idle and made room for another client's; open it again", _RETRY_S)
            )
        self.end()

    def _leave_when_idle(self) -> None:
        if self.open_asks or self._sound.speaking:
            return
        if self._link is not None and (self._stopping or self._link.listens_only):
            self._link.finish()
        elif self._stopping:
            self.end()
