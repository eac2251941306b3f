"""What crosses the wire in a wearable's session, as plain values; classes are named as their messages in session.proto.

`quizglass.values` has what questions and turns are made of, `quizglass.speech` what carries sound. Durations are
seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from quizglass.speech import AnswerAudio as AnswerAudio
from quizglass.speech import AnswerSpoken as AnswerSpoken
from quizglass.speech import Codec as Codec
from quizglass.speech import Command as Command
from quizglass.speech import Playing as Playing
from quizglass.speech import SpeechAudio as SpeechAudio
from quizglass.speech import SpeechEnd as SpeechEnd
from quizglass.speech import SpeechState as SpeechState
from quizglass.speech import SpeechStatus as SpeechStatus
from quizglass.speech import SpeechTranscript as SpeechTranscript
from quizglass.values import Exchange, MemoryUse, Region, TurnEvent


class Role(StrEnum):
    """What a frame is in its scene."""

    UNKNOWN = ""
    """As FULL."""
    THUMBNAIL = "thumbnail"
    FULL = "full"
    CROP = "crop"


class FrameState(StrEnum):
    """What a session has of a frame."""

    UNKNOWN = ""
    HELD = "held"
    SEND = "send"
    DROPPED = "dropped"


class CaptureFault(StrEnum):
    """What is wrong with a frame as it was taken."""

    NONE = ""
    BLUR = "blur"
    DARK = "dark"
    TILT = "tilt"
    TRUNCATION = "truncation"
    OCCLUSION = "occlusion"
    NOISE = "noise"


class Overlap(StrEnum):
    """What becomes of a question that is asked while another one runs."""

    UNKNOWN = ""
    """As INTERRUPT."""
    INTERRUPT = "interrupt"
    QUEUE = "queue"
    REFUSE = "refuse"


class Heat(StrEnum):
    """How warm a device is."""

    UNKNOWN = ""
    NORMAL = "normal"
    WARM = "warm"
    HOT = "hot"


class LinkQuality(StrEnum):
    """How good a device's link is."""

    UNKNOWN = ""
    GOOD = "good"
    FAIR = "fair"
    POOR = "poor"


class Posture(StrEnum):
    """How much a session asks of its device."""

    UNKNOWN = ""
    NORMAL = "normal"
    CONSERVE = "conserve"
    RESERVE = "reserve"


class Privacy(StrEnum):
    """Where what a session is given may go."""

    ANYWHERE = ""
    """Wherever the server was set up to send it."""
    LOCAL_ONLY = "local_only"


class Restored(StrEnum):
    """How much of an earlier session is there."""

    NEW = ""
    """Nothing was to be restored."""
    ALL = "all"
    DIALOGUE = "dialogue"
    NONE = "none"


class SegmentState(StrEnum):
    """Whether a piece of an answer can be relied on."""

    UNKNOWN = ""
    DRAFT = "draft"
    CONFIRMED = "confirmed"
    RETRACTED = "retracted"


class Markup(StrEnum):
    """Whether marks are left in segments."""

    AS_WRITTEN = ""
    NONE = "none"


class Speech(StrEnum):
    """How segments put what is hard to say."""

    AS_WRITTEN = ""
    ENGLISH = "english"


class Cause(StrEnum):
    """Who ended a turn before it was over."""

    UNKNOWN = ""
    ASK = "ask"
    CANCEL = "cancel"
    UNREAD = "unread"
    STOPPING = "stopping"
    SPEECH = "speech"


@dataclass(frozen=True, slots=True)
class OutputProfile:
    """What answers should look like."""

    max_segment_chars: int = 0
    """0: the server's default."""
    max_words: int = 0
    """Of a whole answer; 0: any number."""
    max_lines: int = 0
    """Of a segment; 0: any number."""
    max_columns: int = 0
    """0: there is no display."""
    markup: Markup = Markup.AS_WRITTEN
    speech: Speech = Speech.AS_WRITTEN
    lead_in_after: float = 0.0
    """Seconds without a word of the answer before `lead_in` is said; 0: never."""
    lead_in: str = ""
    """Empty: the server's own words."""
    aloud: bool = False
    """Whether segments come as sound, too."""


@dataclass(frozen=True, slots=True)
class Open:
    """Begins a session, or goes on with one."""

    holder: bytes
    """Secret of the client: 16 to 64 bytes."""
    session_id: str = ""
    last_seq: int = 0
    state: bytes = b""
    output: OutputProfile = OutputProfile()
    privacy: Privacy = Privacy.ANYWHERE


@dataclass(frozen=True, slots=True)
class FrameBegin:
    """Announces a frame."""

    sha256: bytes
    size: int
    mime: str = ""
    age: float = 0.0
    """Seconds since it was taken."""
    role: Role = Role.UNKNOWN
    parent: bytes = b""
    """SHA-256 of the frame that it is a part of, or a sharper one of."""
    region: Region | None = None
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class FramePart:
    """A piece of an announced frame."""

    sha256: bytes
    offset: int
    data: bytes
    crc32c: int


@dataclass(frozen=True, slots=True)
class FrameDrop:
    """Gives up a frame."""

    sha256: bytes


@dataclass(frozen=True, slots=True)
class FrameName:
    """A frame that a question is about."""

    sha256: bytes | None = None
    encoded: bytes | None = None
    """Not in a session, whose frames are sent before."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, named as the fields of `AskRequest`; 0 and empty stand for the server's defaults."""

    question: str
    frames: tuple[FrameName, ...] = ()
    history: tuple[Exchange, ...] = ()
    policy: str = ""
    budget: float = 0.0
    session_id: str = ""
    max_answer_tokens: int = 0
    session: bytes = b""
    explain: bool = False
    memory: MemoryUse = field(default_factory=MemoryUse)


@dataclass(frozen=True, slots=True)
class SessionAsk:
    """A question under a name of the client's choice."""

    id: str
    request: Question
    overlap: Overlap = Overlap.UNKNOWN


@dataclass(frozen=True, slots=True)
class CancelAsk:
    """Ends a question; an empty name ends all."""

    ask_id: str = ""


@dataclass(frozen=True, slots=True)
class Playback:
    """How much of an answer has been said."""

    ask_id: str
    segment: int
    code_point: int


@dataclass(frozen=True, slots=True)
class DeviceState:
    """How the device is; a field that is None or UNKNOWN is as it was said before."""

    battery_percent: int | None = None
    charging: bool | None = None
    heat: Heat = Heat.UNKNOWN
    link: LinkQuality = LinkQuality.UNKNOWN


@dataclass(frozen=True, slots=True)
class Ack:
    """All messages up to this one have arrived."""

    seq: int


@dataclass(frozen=True, slots=True)
class Ping:
    """Asks whether the server still hears the client; answered by `Pong`."""

    payload: bytes = b""


@dataclass(frozen=True, slots=True)
class Close:
    """Ends the session."""


@dataclass(frozen=True, slots=True)
class Forget:
    """Forgets what was sent and said."""


@dataclass(frozen=True, slots=True)
class SpeechStart:
    """Begins a question that is spoken."""

    id: str
    rate_hz: int = 0
    """0: 16,000."""
    channels: int = 0
    """0: 1."""
    codec: Codec = Codec.UNKNOWN
    ends_by_silence: bool = False
    overlap: Overlap = Overlap.UNKNOWN
    request: Question | None = None
    """What goes with the question, whose words are heard."""
    language: str = ""
    pauses: bool = False
    """Whether the client pauses an answer at PAUSE, and plays on at RESUME."""


ClientSaid = (
    Open
    | FrameBegin
    | FramePart
    | FrameDrop
    | SessionAsk
    | CancelAsk
    | Playback
    | DeviceState
    | Ack
    | Ping
    | Close
    | Forget
    | SpeechStart
    | SpeechAudio
    | SpeechEnd
)


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """What a session may hold, and for how long; durations are seconds."""

    max_part_bytes: int
    """Most bytes of one `FramePart`."""
    max_frame_bytes: int
    """Of one frame."""
    max_frames_bytes: int
    """Of all frames together."""
    max_frames: int
    max_pins: int
    max_queued_asks: int
    unacknowledged_bytes: int
    """Of messages that are kept until the client acknowledges them."""
    unacknowledged: float
    """How long these are kept."""
    away: float
    """How long the session waits for a new link before it ends."""
    ping: float
    """After how long a silence a client pings, and then takes the link for dead."""
    progress: float
    """How often, at least, something is sent while a turn runs."""
    frame_wait: float
    """How long a question waits for frames that are missing."""
    useful_picture_side: int = 0
    """Pixels beyond which a larger side of a picture brings nothing; 0: not said."""
    max_speech: float = 0.0
    """Of one spoken question; 0: the server hears nothing."""
    speaks: bool = False
    """Whether the server has a voice."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The session is open."""

    session_id: str
    stream: int
    restored: Restored
    restored_reason: str
    limits: SessionLimits
    open_asks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CaptureScore:
    """How much a frame looks as if it had a fault."""

    fault: CaptureFault
    score: float
    """0 to 1."""


@dataclass(frozen=True, slots=True)
class FrameStatus:
    """What the session has of a frame."""

    sha256: bytes
    state: FrameState
    offset: int = 0
    pinned: bool = False
    fault: CaptureFault = CaptureFault.NONE
    """The worst one, where there is any."""
    advice: str = ""
    """What to do about it."""
    capture: tuple[CaptureScore, ...] = ()
    """Of every fault, where there is one."""


@dataclass(frozen=True, slots=True)
class FrameNeed:
    """One frame, or part of one, that is needed."""

    sha256: bytes
    offset: int = 0
    region: Region | None = None
    least_side: int = 0
    """Pixels that the longer side of that part should have; more bring nothing. 0: as sharp as there is."""


@dataclass(frozen=True, slots=True)
class NeedFrame:
    """A question waits for frames."""

    ask_id: str
    frames: tuple[FrameNeed, ...]
    wait: float


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of an answer that can be said or shown."""

    index: int
    state: SegmentState
    text: str = ""
    lines: tuple[str, ...] = ()
    """The text as a display shows it, where there is one."""
    lead_in: bool = False
    """Whether it is no part of the answer, but said before there is one."""
    doubt: bool = False
    """Whether it is no part of the answer, but says after it that it is doubtful."""

    @property
    def answers(self) -> bool:
        """Whether it is a part of the answer."""
        return not (self.lead_in or self.doubt)


@dataclass(frozen=True, slots=True)
class TurnUpdate:
    """Something happened in a turn."""

    ask_id: str
    turn_id: str
    seq: int
    """Number of the event in its turn."""
    elapsed: float
    event: TurnEvent | None
    """None: a lead-in comes alone, or one that only later versions know."""
    segments: tuple[Segment, ...] = ()
    fault: CaptureFault = CaptureFault.NONE
    """With a `done` that abstains: what is wrong with the frame that it is about."""
    advice: str = ""
    """What to do about it."""


@dataclass(frozen=True, slots=True)
class Progress:
    """A turn is being worked on."""

    ask_id: str
    stage: str
    elapsed: float
    left: float = 0.0
    """0: it is not known."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A turn was ended before it was over."""

    ask_id: str
    cause: Cause
    by_ask_id: str = ""
    heard: str = ""
    unheard: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """A message has failed; the session goes on."""

    message_id: int = 0
    message: str = ""
    """Its kind."""
    ask_id: str = ""
    frame: bytes = b""
    """SHA-256."""
    status: int = 0
    """As google.rpc.Code."""
    reason: str = ""
    text: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    field: str = ""
    retry_after: float = 0.0
    turn_over: bool = False


@dataclass(frozen=True, slots=True)
class GoAway:
    """The server is about to end the link."""

    left: float
    reason: str


@dataclass(frozen=True, slots=True)
class Pong:
    """The answer to a `Ping`, with its payload."""

    payload: bytes = b""


@dataclass(frozen=True, slots=True)
class PostureLimits:
    """What a posture asks for."""

    frame_side: int
    """Pixels."""
    look_ahead: bool
    ping: float
    answer_words: int = 0
    """0: any number."""
    answer_rate_hz: int = 0
    """Most samples a second of answers' sound; 0: any number."""
    push_to_talk: bool = False
    """Whether the client should not keep its microphone open."""


@dataclass(frozen=True, slots=True)
class PostureChange:
    """How much the session asks of the device has changed."""

    posture: Posture
    reason: str
    """One line, for people."""
    limits: PostureLimits


@dataclass(frozen=True, slots=True)
class Kept:
    """Something that is kept."""

    what: str
    until: float = 0.0
    """Seconds, at most; 0: until there is no more room for it."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was forgotten, and what was not."""

    frames: int
    frame_bytes: int
    pictures: int
    exchanges: int
    ended: int
    kept: tuple[Kept, ...] = ()


ServerSaid = (
    Opened
    | FrameStatus
    | NeedFrame
    | TurnUpdate
    | Progress
    | Interrupted
    | Notice
    | GoAway
    | Pong
    | PostureChange
    | Forgotten
    | SpeechStatus
    | SpeechTranscript
    | AnswerAudio
    | AnswerSpoken
)
