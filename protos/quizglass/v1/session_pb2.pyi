from quizglass.v1 import assistant_pb2 as _assistant_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CaptureFault(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CAPTURE_FAULT_UNSPECIFIED: _ClassVar[CaptureFault]
    CAPTURE_FAULT_BLUR: _ClassVar[CaptureFault]
    CAPTURE_FAULT_DARK: _ClassVar[CaptureFault]
    CAPTURE_FAULT_TILT: _ClassVar[CaptureFault]
    CAPTURE_FAULT_TRUNCATION: _ClassVar[CaptureFault]
    CAPTURE_FAULT_OCCLUSION: _ClassVar[CaptureFault]
    CAPTURE_FAULT_NOISE: _ClassVar[CaptureFault]
CAPTURE_FAULT_UNSPECIFIED: CaptureFault
CAPTURE_FAULT_BLUR: CaptureFault
CAPTURE_FAULT_DARK: CaptureFault
CAPTURE_FAULT_TILT: CaptureFault
CAPTURE_FAULT_TRUNCATION: CaptureFault
CAPTURE_FAULT_OCCLUSION: CaptureFault
CAPTURE_FAULT_NOISE: CaptureFault

class AttachRequest(_message.Message):
    __slots__ = ("open",)
    OPEN_FIELD_NUMBER: _ClassVar[int]
    open: Open
    def __init__(self, open: _Optional[_Union[Open, _Mapping]] = ...) -> None: ...

class SendRequest(_message.Message):
    __slots__ = ("session_id", "stream", "messages", "holder")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    stream: int
    messages: _containers.RepeatedCompositeFieldContainer[ClientMessage]
    holder: bytes
    def __init__(self, session_id: _Optional[str] = ..., stream: _Optional[int] = ..., messages: _Optional[_Iterable[_Union[ClientMessage, _Mapping]]] = ..., holder: _Optional[bytes] = ...) -> None: ...

class SendResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ClientMessage(_message.Message):
    __slots__ = ("id", "open", "frame_begin", "frame_part", "frame_drop", "ask", "cancel", "playback", "device_state", "ack", "ping", "close", "forget", "speech_start", "audio", "speech_end")
    ID_FIELD_NUMBER: _ClassVar[int]
    OPEN_FIELD_NUMBER: _ClassVar[int]
    FRAME_BEGIN_FIELD_NUMBER: _ClassVar[int]
    FRAME_PART_FIELD_NUMBER: _ClassVar[int]
    FRAME_DROP_FIELD_NUMBER: _ClassVar[int]
    ASK_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    PLAYBACK_FIELD_NUMBER: _ClassVar[int]
    DEVICE_STATE_FIELD_NUMBER: _ClassVar[int]
    ACK_FIELD_NUMBER: _ClassVar[int]
    PING_FIELD_NUMBER: _ClassVar[int]
    CLOSE_FIELD_NUMBER: _ClassVar[int]
    FORGET_FIELD_NUMBER: _ClassVar[int]
    SPEECH_START_FIELD_NUMBER: _ClassVar[int]
    AUDIO_FIELD_NUMBER: _ClassVar[int]
    SPEECH_END_FIELD_NUMBER: _ClassVar[int]
    id: int
    open: Open
    frame_begin: FrameBegin
    frame_part: FramePart
    frame_drop: FrameDrop
    ask: SessionAsk
    cancel: CancelAsk
    playback: Playback
    device_state: DeviceState
    ack: Ack
    ping: Ping
    close: Close
    forget: Forget
    speech_start: SpeechStart
    audio: SpeechAudio
    speech_end: SpeechEnd
    def __init__(self, id: _Optional[int] = ..., open: _Optional[_Union[Open, _Mapping]] = ..., frame_begin: _Optional[_Union[FrameBegin, _Mapping]] = ..., frame_part: _Optional[_Union[FramePart, _Mapping]] = ..., frame_drop: _Optional[_Union[FrameDrop, _Mapping]] = ..., ask: _Optional[_Union[SessionAsk, _Mapping]] = ..., cancel: _Optional[_Union[CancelAsk, _Mapping]] = ..., playback: _Optional[_Union[Playback, _Mapping]] = ..., device_state: _Optional[_Union[DeviceState, _Mapping]] = ..., ack: _Optional[_Union[Ack, _Mapping]] = ..., ping: _Optional[_Union[Ping, _Mapping]] = ..., close: _Optional[_Union[Close, _Mapping]] = ..., forget: _Optional[_Union[Forget, _Mapping]] = ..., speech_start: _Optional[_Union[SpeechStart, _Mapping]] = ..., audio: _Optional[_Union[SpeechAudio, _Mapping]] = ..., speech_end: _Optional[_Union[SpeechEnd, _Mapping]] = ...) -> None: ...

class ServerMessage(_message.Message):
    __slots__ = ("seq", "state", "opened", "frame_status", "need_frame", "turn", "progress", "interrupted", "notice", "go_away", "pong", "posture", "forgotten", "speech_status", "transcript", "speech", "spoken")
    SEQ_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    OPENED_FIELD_NUMBER: _ClassVar[int]
    FRAME_STATUS_FIELD_NUMBER: _ClassVar[int]
    NEED_FRAME_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    INTERRUPTED_FIELD_NUMBER: _ClassVar[int]
    NOTICE_FIELD_NUMBER: _ClassVar[int]
    GO_AWAY_FIELD_NUMBER: _ClassVar[int]
    PONG_FIELD_NUMBER: _ClassVar[int]
    POSTURE_FIELD_NUMBER: _ClassVar[int]
    FORGOTTEN_FIELD_NUMBER: _ClassVar[int]
    SPEECH_STATUS_FIELD_NUMBER: _ClassVar[int]
    TRANSCRIPT_FIELD_NUMBER: _ClassVar[int]
    SPEECH_FIELD_NUMBER: _ClassVar[int]
    SPOKEN_FIELD_NUMBER: _ClassVar[int]
    seq: int
    state: bytes
    opened: Opened
    frame_status: FrameStatus
    need_frame: NeedFrame
    turn: TurnUpdate
    progress: Progress
    interrupted: Interrupted
    notice: Notice
    go_away: GoAway
    pong: Pong
    posture: PostureChange
    forgotten: Forgotten
    speech_status: SpeechStatus
    transcript: SpeechTranscript
    speech: AnswerAudio
    spoken: AnswerSpoken
    def __init__(self, seq: _Optional[int] = ..., state: _Optional[bytes] = ..., opened: _Optional[_Union[Opened, _Mapping]] = ..., frame_status: _Optional[_Union[FrameStatus, _Mapping]] = ..., need_frame: _Optional[_Union[NeedFrame, _Mapping]] = ..., turn: _Optional[_Union[TurnUpdate, _Mapping]] = ..., progress: _Optional[_Union[Progress, _Mapping]] = ..., interrupted: _Optional[_Union[Interrupted, _Mapping]] = ..., notice: _Optional[_Union[Notice, _Mapping]] = ..., go_away: _Optional[_Union[GoAway, _Mapping]] = ..., pong: _Optional[_Union[Pong, _Mapping]] = ..., posture: _Optional[_Union[PostureChange, _Mapping]] = ..., forgotten: _Optional[_Union[Forgotten, _Mapping]] = ..., speech_status: _Optional[_Union[SpeechStatus, _Mapping]] = ..., transcript: _Optional[_Union[SpeechTranscript, _Mapping]] = ..., speech: _Optional[_Union[AnswerAudio, _Mapping]] = ..., spoken: _Optional[_Union[AnswerSpoken, _Mapping]] = ...) -> None: ...

class Open(_message.Message):
    __slots__ = ("holder", "session_id", "last_seq", "state", "output", "privacy")
    class Privacy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        PRIVACY_UNSPECIFIED: _ClassVar[Open.Privacy]
        PRIVACY_LOCAL_ONLY: _ClassVar[Open.Privacy]
    PRIVACY_UNSPECIFIED: Open.Privacy
    PRIVACY_LOCAL_ONLY: Open.Privacy
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQ_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    PRIVACY_FIELD_NUMBER: _ClassVar[int]
    holder: bytes
    session_id: str
    last_seq: int
    state: bytes
    output: OutputProfile
    privacy: Open.Privacy
    def __init__(self, holder: _Optional[bytes] = ..., session_id: _Optional[str] = ..., last_seq: _Optional[int] = ..., state: _Optional[bytes] = ..., output: _Optional[_Union[OutputProfile, _Mapping]] = ..., privacy: _Optional[_Union[Open.Privacy, str]] = ...) -> None: ...

class OutputProfile(_message.Message):
    __slots__ = ("max_segment_chars", "max_words", "max_lines", "max_columns", "markup", "speech", "lead_in_after_us", "lead_in", "aloud")
    class Markup(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        MARKUP_UNSPECIFIED: _ClassVar[OutputProfile.Markup]
        MARKUP_NONE: _ClassVar[OutputProfile.Markup]
    MARKUP_UNSPECIFIED: OutputProfile.Markup
    MARKUP_NONE: OutputProfile.Markup
    class Speech(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        SPEECH_UNSPECIFIED: _ClassVar[OutputProfile.Speech]
        SPEECH_ENGLISH: _ClassVar[OutputProfile.Speech]
    SPEECH_UNSPECIFIED: OutputProfile.Speech
    SPEECH_ENGLISH: OutputProfile.Speech
    MAX_SEGMENT_CHARS_FIELD_NUMBER: _ClassVar[int]
    MAX_WORDS_FIELD_NUMBER: _ClassVar[int]
    MAX_LINES_FIELD_NUMBER: _ClassVar[int]
    MAX_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    MARKUP_FIELD_NUMBER: _ClassVar[int]
    SPEECH_FIELD_NUMBER: _ClassVar[int]
    LEAD_IN_AFTER_US_FIELD_NUMBER: _ClassVar[int]
    LEAD_IN_FIELD_NUMBER: _ClassVar[int]
    ALOUD_FIELD_NUMBER: _ClassVar[int]
    max_segment_chars: int
    max_words: int
    max_lines: int
    max_columns: int
    markup: OutputProfile.Markup
    speech: OutputProfile.Speech
    lead_in_after_us: int
    lead_in: str
    aloud: bool
    def __init__(self, max_segment_chars: _Optional[int] = ..., max_words: _Optional[int] = ..., max_lines: _Optional[int] = ..., max_columns: _Optional[int] = ..., markup: _Optional[_Union[OutputProfile.Markup, str]] = ..., speech: _Optional[_Union[OutputProfile.Speech, str]] = ..., lead_in_after_us: _Optional[int] = ..., lead_in: _Optional[str] = ..., aloud: _Optional[bool] = ...) -> None: ...

class Opened(_message.Message):
    __slots__ = ("session_id", "stream", "restored", "restored_reason", "limits", "open_asks")
    class Restored(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        RESTORED_UNSPECIFIED: _ClassVar[Opened.Restored]
        RESTORED_ALL: _ClassVar[Opened.Restored]
        RESTORED_DIALOGUE: _ClassVar[Opened.Restored]
        RESTORED_NONE: _ClassVar[Opened.Restored]
    RESTORED_UNSPECIFIED: Opened.Restored
    RESTORED_ALL: Opened.Restored
    RESTORED_DIALOGUE: Opened.Restored
    RESTORED_NONE: Opened.Restored
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    RESTORED_FIELD_NUMBER: _ClassVar[int]
    RESTORED_REASON_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    OPEN_ASKS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    stream: int
    restored: Opened.Restored
    restored_reason: str
    limits: SessionLimits
    open_asks: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, session_id: _Optional[str] = ..., stream: _Optional[int] = ..., restored: _Optional[_Union[Opened.Restored, str]] = ..., restored_reason: _Optional[str] = ..., limits: _Optional[_Union[SessionLimits, _Mapping]] = ..., open_asks: _Optional[_Iterable[str]] = ...) -> None: ...

class SessionLimits(_message.Message):
    __slots__ = ("max_part_bytes", "max_frame_bytes", "max_frames_bytes", "max_frames", "max_pins", "max_queued_asks", "unacknowledged_bytes", "unacknowledged_us", "away_us", "ping_us", "progress_us", "frame_wait_us", "useful_picture_side", "max_speech_us", "speaks")
    MAX_PART_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_FRAME_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_FRAMES_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_FRAMES_FIELD_NUMBER: _ClassVar[int]
    MAX_PINS_FIELD_NUMBER: _ClassVar[int]
    MAX_QUEUED_ASKS_FIELD_NUMBER: _ClassVar[int]
    UNACKNOWLEDGED_BYTES_FIELD_NUMBER: _ClassVar[int]
    UNACKNOWLEDGED_US_FIELD_NUMBER: _ClassVar[int]
    AWAY_US_FIELD_NUMBER: _ClassVar[int]
    PING_US_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_US_FIELD_NUMBER: _ClassVar[int]
    FRAME_WAIT_US_FIELD_NUMBER: _ClassVar[int]
    USEFUL_PICTURE_SIDE_FIELD_NUMBER: _ClassVar[int]
    MAX_SPEECH_US_FIELD_NUMBER: _ClassVar[int]
    SPEAKS_FIELD_NUMBER: _ClassVar[int]
    max_part_bytes: int
    max_frame_bytes: int
    max_frames_bytes: int
    max_frames: int
    max_pins: int
    max_queued_asks: int
    unacknowledged_bytes: int
    unacknowledged_us: int
    away_us: int
    ping_us: int
    progress_us: int
    frame_wait_us: int
    useful_picture_side: int
    max_speech_us: int
    speaks: bool
    def __init__(self, max_part_bytes: _Optional[int] = ..., max_frame_bytes: _Optional[int] = ..., max_frames_bytes: _Optional[int] = ..., max_frames: _Optional[int] = ..., max_pins: _Optional[int] = ..., max_queued_asks: _Optional[int] = ..., unacknowledged_bytes: _Optional[int] = ..., unacknowledged_us: _Optional[int] = ..., away_us: _Optional[int] = ..., ping_us: _Optional[int] = ..., progress_us: _Optional[int] = ..., frame_wait_us: _Optional[int] = ..., useful_picture_side: _Optional[int] = ..., max_speech_us: _Optional[int] = ..., speaks: _Optional[bool] = ...) -> None: ...

class FrameBegin(_message.Message):
    __slots__ = ("sha256", "size", "mime", "age_us", "role", "parent_sha256", "region", "pinned")
    class Role(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        ROLE_UNSPECIFIED: _ClassVar[FrameBegin.Role]
        ROLE_THUMBNAIL: _ClassVar[FrameBegin.Role]
        ROLE_FULL: _ClassVar[FrameBegin.Role]
        ROLE_CROP: _ClassVar[FrameBegin.Role]
    ROLE_UNSPECIFIED: FrameBegin.Role
    ROLE_THUMBNAIL: FrameBegin.Role
    ROLE_FULL: FrameBegin.Role
    ROLE_CROP: FrameBegin.Role
    SHA256_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    MIME_FIELD_NUMBER: _ClassVar[int]
    AGE_US_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    PARENT_SHA256_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    sha256: bytes
    size: int
    mime: str
    age_us: int
    role: FrameBegin.Role
    parent_sha256: bytes
    region: _assistant_pb2.Region
    pinned: bool
    def __init__(self, sha256: _Optional[bytes] = ..., size: _Optional[int] = ..., mime: _Optional[str] = ..., age_us: _Optional[int] = ..., role: _Optional[_Union[FrameBegin.Role, str]] = ..., parent_sha256: _Optional[bytes] = ..., region: _Optional[_Union[_assistant_pb2.Region, _Mapping]] = ..., pinned: _Optional[bool] = ...) -> None: ...

class FramePart(_message.Message):
    __slots__ = ("sha256", "offset", "data", "crc32c")
    SHA256_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    CRC32C_FIELD_NUMBER: _ClassVar[int]
    sha256: bytes
    offset: int
    data: bytes
    crc32c: int
    def __init__(self, sha256: _Optional[bytes] = ..., offset: _Optional[int] = ..., data: _Optional[bytes] = ..., crc32c: _Optional[int] = ...) -> None: ...

class FrameDrop(_message.Message):
    __slots__ = ("sha256",)
    SHA256_FIELD_NUMBER: _ClassVar[int]
    sha256: bytes
    def __init__(self, sha256: _Optional[bytes] = ...) -> None: ...

class FrameStatus(_message.Message):
    __slots__ = ("sha256", "state", "offset", "pinned", "fault", "advice", "capture")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STATE_UNSPECIFIED: _ClassVar[FrameStatus.State]
        STATE_HELD: _ClassVar[FrameStatus.State]
        STATE_SEND: _ClassVar[FrameStatus.State]
        STATE_DROPPED: _ClassVar[FrameStatus.State]
    STATE_UNSPECIFIED: FrameStatus.State
    STATE_HELD: FrameStatus.State
    STATE_SEND: FrameStatus.State
    STATE_DROPPED: FrameStatus.State
    SHA256_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    FAULT_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    CAPTURE_FIELD_NUMBER: _ClassVar[int]
    sha256: bytes
    state: FrameStatus.State
    offset: int
    pinned: bool
    fault: CaptureFault
    advice: str
    capture: _containers.RepeatedCompositeFieldContainer[CaptureScore]
    def __init__(self, sha256: _Optional[bytes] = ..., state: _Optional[_Union[FrameStatus.State, str]] = ..., offset: _Optional[int] = ..., pinned: _Optional[bool] = ..., fault: _Optional[_Union[CaptureFault, str]] = ..., advice: _Optional[str] = ..., capture: _Optional[_Iterable[_Union[CaptureScore, _Mapping]]] = ...) -> None: ...

class CaptureScore(_message.Message):
    __slots__ = ("fault", "score")
    FAULT_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    fault: CaptureFault
    score: float
    def __init__(self, fault: _Optional[_Union[CaptureFault, str]] = ..., score: _Optional[float] = ...) -> None: ...

class NeedFrame(_message.Message):
    __slots__ = ("ask_id", "frames", "wait_us")
    ASK_ID_FIELD_NUMBER: _ClassVar[int]
    FRAMES_FIELD_NUMBER: _ClassVar[int]
    WAIT_US_FIELD_NUMBER: _ClassVar[int]
    ask_id: str
    frames: _containers.RepeatedCompositeFieldContainer[FrameNeed]
    wait_us: int
    def __init__(self, ask_id: _Optional[str] = ..., frames: _Optional[_Iterable[_Union[FrameNeed, _Mapping]]] = ..., wait_us: _Optional[int] = ...) -> None: ...

class FrameNeed(_message.Message):
    __slots__ = ("sha256", "offset", "region", "least_side")
    SHA256_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    REGION_FIELD_NUMBER: _ClassVar[int]
    LEAST_SIDE_FIELD_NUMBER: _ClassVar[int]
    sha256: bytes
    offset: int
    region: _assistant_pb2.Region
    least_side: int
    def __init__(self, sha256: _Optional[bytes] = ..., offset: _Optional[int] = ..., region: _Optional[_Union[_assistant_pb2.Region, _Mapping]] = ..., least_side: _Optional[int] = ...) -> None: ...

class SessionAsk(_message.Message):
    __slots__ = ("id", "overlap", "request")
    class Overlap(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        OVERLAP_UNSPECIFIED: _ClassVar[SessionAsk.Overlap]
        OVERLAP_INTERRUPT: _ClassVar[SessionAsk.Overlap]
        OVERLAP_QUEUE: _ClassVar[SessionAsk.Overlap]
        OVERLAP_REFUSE: _ClassVar[SessionAsk.Overlap]
    OVERLAP_UNSPECIFIED: SessionAsk.Overlap
    OVERLAP_INTERRUPT: SessionAsk.Overlap
    OVERLAP_QUEUE: SessionAsk.Overlap
    OVERLAP_REFUSE: SessionAsk.Overlap
    ID_FIELD_NUMBER: _ClassVar[int]
    OVERLAP_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    id: str
    overlap: SessionAsk.Overlap
    request: _assistant_pb2.AskRequest
    def __init__(self, id: _Optional[str] = ..., overlap: _Optional[_Union[SessionAsk.Overlap, str]] = ..., request: _Optional[_Union[_assistant_pb2.AskRequest, _Mapping]] = ...) -> None: ...

class CancelAsk(_message.Message):
    __slots__ = ("ask_id",)
    ASK_ID_FIELD_NUMBER: _ClassVar[int]
    ask_id: str
    def __init__(self, ask_id: _Optional[str] = ...) -> None: ...

class Playback(_message.Message):
    __slots__ = ("ask_id", "segment", "code_point")
    ASK_ID_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    CODE_POINT_FIELD_NUMBER: _ClassVar[int]
    ask_id: str
    segment: int
    code_point: int
    def __init__(self, ask_id: _Optional[str] = ..., segment: _Optional[int] = ..., code_point: _Optional[int] = ...) -> None: ...

class DeviceState(_message.Message):
    __slots__ = ("battery_percent", "charging", "heat", "link")
    class Heat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        HEAT_UNSPECIFIED: _ClassVar[DeviceState.Heat]
        HEAT_NORMAL: _ClassVar[DeviceState.Heat]
        HEAT_WARM: _ClassVar[DeviceState.Heat]
        HEAT_HOT: _ClassVar[DeviceState.Heat]
    HEAT_UNSPECIFIED: DeviceState.Heat
    HEAT_NORMAL: DeviceState.Heat
    HEAT_WARM: DeviceState.Heat
    HEAT_HOT: DeviceState.Heat
    class Link(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        LINK_UNSPECIFIED: _ClassVar[DeviceState.Link]
        LINK_GOOD: _ClassVar[DeviceState.Link]
        LINK_FAIR: _ClassVar[DeviceState.Link]
        LINK_POOR: _ClassVar[DeviceState.Link]
    LINK_UNSPECIFIED: DeviceState.Link
    LINK_GOOD: DeviceState.Link
    LINK_FAIR: DeviceState.Link
    LINK_POOR: DeviceState.Link
    BATTERY_PERCENT_FIELD_NUMBER: _ClassVar[int]
    CHARGING_FIELD_NUMBER: _ClassVar[int]
    HEAT_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    battery_percent: int
    charging: bool
    heat: DeviceState.Heat
    link: DeviceState.Link
    def __init__(self, battery_percent: _Optional[int] = ..., charging: _Optional[bool] = ..., heat: _Optional[_Union[DeviceState.Heat, str]] = ..., link: _Optional[_Union[DeviceState.Link, str]] = ...) -> None: ...

class PostureChange(_message.Message):
    __slots__ = ("posture", "reason", "limits")
    class Posture(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        POSTURE_UNSPECIFIED: _ClassVar[PostureChange.Posture]
        POSTURE_NORMAL: _ClassVar[PostureChange.Posture]
        POSTURE_CONSERVE: _ClassVar[PostureChange.Posture]
        POSTURE_RESERVE: _ClassVar[PostureChange.Posture]
    POSTURE_UNSPECIFIED: PostureChange.Posture
    POSTURE_NORMAL: PostureChange.Posture
    POSTURE_CONSERVE: PostureChange.Posture
    POSTURE_RESERVE: PostureChange.Posture
    POSTURE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    posture: PostureChange.Posture
    reason: str
    limits: PostureLimits
    def __init__(self, posture: _Optional[_Union[PostureChange.Posture, str]] = ..., reason: _Optional[str] = ..., limits: _Optional[_Union[PostureLimits, _Mapping]] = ...) -> None: ...

class PostureLimits(_message.Message):
    __slots__ = ("frame_side", "look_ahead", "ping_us", "answer_words", "answer_rate_hz", "push_to_talk")
    FRAME_SIDE_FIELD_NUMBER: _ClassVar[int]
    LOOK_AHEAD_FIELD_NUMBER: _ClassVar[int]
    PING_US_FIELD_NUMBER: _ClassVar[int]
    ANSWER_WORDS_FIELD_NUMBER: _ClassVar[int]
    ANSWER_RATE_HZ_FIELD_NUMBER: _ClassVar[int]
    PUSH_TO_TALK_FIELD_NUMBER: _ClassVar[int]
    frame_side: int
    look_ahead: bool
    ping_us: int
    answer_words: int
    answer_rate_hz: int
    push_to_talk: bool
    def __init__(self, frame_side: _Optional[int] = ..., look_ahead: _Optional[bool] = ..., ping_us: _Optional[int] = ..., answer_words: _Optional[int] = ..., answer_rate_hz: _Optional[int] = ..., push_to_talk: _Optional[bool] = ...) -> None: ...

class Ack(_message.Message):
    __slots__ = ("seq",)
    SEQ_FIELD_NUMBER: _ClassVar[int]
    seq: int
    def __init__(self, seq: _Optional[int] = ...) -> None: ...

class Ping(_message.Message):
    __slots__ = ("payload",)
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    payload: bytes
    def __init__(self, payload: _Optional[bytes] = ...) -> None: ...

class Close(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Forget(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Forgotten(_message.Message):
    __slots__ = ("frames", "frame_bytes", "pictures", "exchanges", "ended", "kept")
    FRAMES_FIELD_NUMBER: _ClassVar[int]
    FRAME_BYTES_FIELD_NUMBER: _ClassVar[int]
    PICTURES_FIELD_NUMBER: _ClassVar[int]
    EXCHANGES_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    frames: int
    frame_bytes: int
    pictures: int
    exchanges: int
    ended: int
    kept: _containers.RepeatedCompositeFieldContainer[Kept]
    def __init__(self, frames: _Optional[int] = ..., frame_bytes: _Optional[int] = ..., pictures: _Optional[int] = ..., exchanges: _Optional[int] = ..., ended: _Optional[int] = ..., kept: _Optional[_Iterable[_Union[Kept, _Mapping]]] = ...) -> None: ...

class Kept(_message.Message):
    __slots__ = ("what", "until_us")
    WHAT_FIELD_NUMBER: _ClassVar[int]
    UNTIL_US_FIELD_NUMBER: _ClassVar[int]
    what: str
    until_us: int
    def __init__(self, what: _Optional[str] = ..., until_us: _Optional[int] = ...) -> None: ...

class TurnUpdate(_message.Message):
    __slots__ = ("ask_id", "event", "segments", "fault", "advice")
    ASK_ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    FAULT_FIELD_NUMBER: _ClassVar[int]
    ADVICE_FIELD_NUMBER: _ClassVar[int]
    ask_id: str
    event: _assistant_pb2.AskResponse
    segments: _containers.RepeatedCompositeFieldContainer[Segment]
    fault: CaptureFault
    advice: str
    def __init__(self, ask_id: _Optional[str] = ..., event: _Optional[_Union[_assistant_pb2.AskResponse, _Mapping]] = ..., segments: _Optional[_Iterable[_Union[Segment, _Mapping]]] = ..., fault: _Optional[_Union[CaptureFault, str]] = ..., advice: _Optional[str] = ...) -> None: ...

class Segment(_message.Message):
    __slots__ = ("index", "state", "text", "lines", "lead_in", "doubt")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STATE_UNSPECIFIED: _ClassVar[Segment.State]
        STATE_DRAFT: _ClassVar[Segment.State]
        STATE_CONFIRMED: _ClassVar[Segment.State]
        STATE_RETRACTED: _ClassVar[Segment.State]
    STATE_UNSPECIFIED: Segment.State
    STATE_DRAFT: Segment.State
    STATE_CONFIRMED: Segment.State
    STATE_RETRACTED: Segment.State
    INDEX_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    LEAD_IN_FIELD_NUMBER: _ClassVar[int]
    DOUBT_FIELD_NUMBER: _ClassVar[int]
    index: int
    state: Segment.State
    text: str
    lines: _containers.RepeatedScalarFieldContainer[str]
    lead_in: bool
    doubt: bool
    def __init__(self, index: _Optional[int] = ..., state: _Optional[_Union[Segment.State, str]] = ..., text: _Optional[str] = ..., lines: _Optional[_Iterable[str]] = ..., lead_in: _Optional[bool] = ..., doubt: _Optional[bool] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("ask_id", "stage", "elapsed_us", "left_us")
    ASK_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    ELAPSED_US_FIELD_NUMBER: _ClassVar[int]
    LEFT_US_FIELD_NUMBER: _ClassVar[int]
    ask_id: str
    stage: str
    elapsed_us: int
    left_us: int
    def __init__(self, ask_id: _Optional[str] = ..., stage: _Optional[str] = ..., elapsed_us: _Optional[int] = ..., left_us: _Optional[int] = ...) -> None: ...

class Interrupted(_message.Message):
    __slots__ = ("ask_id", "cause", "by_ask_id", "heard", "unheard")
    class Cause(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        CAUSE_UNSPECIFIED: _ClassVar[Interrupted.Cause]
        CAUSE_ASK: _ClassVar[Interrupted.Cause]
        CAUSE_CANCEL: _ClassVar[Interrupted.Cause]
        CAUSE_UNREAD: _ClassVar[Interrupted.Cause]
        CAUSE_STOPPING: _ClassVar[Interrupted.Cause]
        CAUSE_SPEECH: _ClassVar[Interrupted.Cause]
    CAUSE_UNSPECIFIED: Interrupted.Cause
    CAUSE_ASK: Interrupted.Cause
    CAUSE_CANCEL: Interrupted.Cause
    CAUSE_UNREAD: Interrupted.Cause
    CAUSE_STOPPING: Interrupted.Cause
    CAUSE_SPEECH: Interrupted.Cause
    ASK_ID_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    BY_ASK_ID_FIELD_NUMBER: _ClassVar[int]
    HEARD_FIELD_NUMBER: _ClassVar[int]
    UNHEARD_FIELD_NUMBER: _ClassVar[int]
    ask_id: str
    cause: Interrupted.Cause
    by_ask_id: str
    heard: str
    unheard: str
    def __init__(self, ask_id: _Optional[str] = ..., cause: _Optional[_Union[Interrupted.Cause, str]] = ..., by_ask_id: _Optional[str] = ..., heard: _Optional[str] = ..., unheard: _Optional[str] = ...) -> None: ...

class Notice(_message.Message):
    __slots__ = ("message_id", "message", "ask_id", "frame_sha256", "status", "reason", "text", "field", "metadata", "retry_after_us", "turn_over")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    MESSAGE_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    ASK_ID_FIELD_NUMBER: _ClassVar[int]
    FRAME_SHA256_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_US_FIELD_NUMBER: _ClassVar[int]
    TURN_OVER_FIELD_NUMBER: _ClassVar[int]
    message_id: int
    message: str
    ask_id: str
    frame_sha256: bytes
    status: int
    reason: str
    text: str
    field: str
    metadata: _containers.ScalarMap[str, str]
    retry_after_us: int
    turn_over: bool
    def __init__(self, message_id: _Optional[int] = ..., message: _Optional[str] = ..., ask_id: _Optional[str] = ..., frame_sha256: _Optional[bytes] = ..., status: _Optional[int] = ..., reason: _Optional[str] = ..., text: _Optional[str] = ..., field: _Optional[str] = ..., metadata: _Optional[_Mapping[str, str]] = ..., retry_after_us: _Optional[int] = ..., turn_over: _Optional[bool] = ...) -> None: ...

class GoAway(_message.Message):
    __slots__ = ("left_us", "reason")
    LEFT_US_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    left_us: int
    reason: str
    def __init__(self, left_us: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class Pong(_message.Message):
    __slots__ = ("payload",)
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    payload: bytes
    def __init__(self, payload: _Optional[bytes] = ...) -> None: ...

class SpeechStart(_message.Message):
    __slots__ = ("id", "rate_hz", "channels", "codec", "ends_by_silence", "overlap", "request", "language", "pauses")
    class Codec(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        CODEC_UNSPECIFIED: _ClassVar[SpeechStart.Codec]
        CODEC_PCM16: _ClassVar[SpeechStart.Codec]
        CODEC_OPUS: _ClassVar[SpeechStart.Codec]
    CODEC_UNSPECIFIED: SpeechStart.Codec
    CODEC_PCM16: SpeechStart.Codec
    CODEC_OPUS: SpeechStart.Codec
    ID_FIELD_NUMBER: _ClassVar[int]
    RATE_HZ_FIELD_NUMBER: _ClassVar[int]
    CHANNELS_FIELD_NUMBER: _ClassVar[int]
    CODEC_FIELD_NUMBER: _ClassVar[int]
    ENDS_BY_SILENCE_FIELD_NUMBER: _ClassVar[int]
    OVERLAP_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    PAUSES_FIELD_NUMBER: _ClassVar[int]
    id: str
    rate_hz: int
    channels: int
    codec: SpeechStart.Codec
    ends_by_silence: bool
    overlap: SessionAsk.Overlap
    request: _assistant_pb2.AskRequest
    language: str
    pauses: bool
    def __init__(self, id: _Optional[str] = ..., rate_hz: _Optional[int] = ..., channels: _Optional[int] = ..., codec: _Optional[_Union[SpeechStart.Codec, str]] = ..., ends_by_silence: _Optional[bool] = ..., overlap: _Optional[_Union[SessionAsk.Overlap, str]] = ..., request: _Optional[_Union[_assistant_pb2.AskRequest, _Mapping]] = ..., language: _Optional[str] = ..., pauses: _Optional[bool] = ...) -> None: ...

class SpeechAudio(_message.Message):
    __slots__ = ("id", "seq", "data", "playing")
    ID_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    PLAYING_FIELD_NUMBER: _ClassVar[int]
    id: str
    seq: int
    data: bytes
    playing: Playing
    def __init__(self, id: _Optional[str] = ..., seq: _Optional[int] = ..., data: _Optional[bytes] = ..., playing: _Optional[_Union[Playing, _Mapping]] = ...) -> None: ...

class Playing(_message.Message):
    __slots__ = ("ask_id", "at_us", "paused")
    ASK_ID_FIELD_NUMBER: _ClassVar[int]
    AT_US_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    ask_id: str
    at_us: int
    paused: bool
    def __init__(self, ask_id: _Optional[str] = ..., at_us: _Optional[int] = ..., paused: _Optional[bool] = ...) -> None: ...

class SpeechEnd(_message.Message):
    __slots__ = ("id", "parts")
    ID_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    id: str
    parts: int
    def __init__(self, id: _Optional[str] = ..., parts: _Optional[int] = ...) -> None: ...

class SpeechStatus(_message.Message):
    __slots__ = ("id", "state", "next_seq")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STATE_UNSPECIFIED: _ClassVar[SpeechStatus.State]
        STATE_LISTENING: _ClassVar[SpeechStatus.State]
        STATE_VOICE: _ClassVar[SpeechStatus.State]
        STATE_ENDED: _ClassVar[SpeechStatus.State]
        STATE_PAUSE: _ClassVar[SpeechStatus.State]
        STATE_RESUME: _ClassVar[SpeechStatus.State]
    STATE_UNSPECIFIED: SpeechStatus.State
    STATE_LISTENING: SpeechStatus.State
    STATE_VOICE: SpeechStatus.State
    STATE_ENDED: SpeechStatus.State
    STATE_PAUSE: SpeechStatus.State
    STATE_RESUME: SpeechStatus.State
    ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    NEXT_SEQ_FIELD_NUMBER: _ClassVar[int]
    id: str
    state: SpeechStatus.State
    next_seq: int
    def __init__(self, id: _Optional[str] = ..., state: _Optional[_Union[SpeechStatus.State, str]] = ..., next_seq: _Optional[int] = ...) -> None: ...

class SpeechTranscript(_message.Message):
    __slots__ = ("ask_id", "text", "final", "language", "probability", "command")
    class Command(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        COMMAND_UNSPECIFIED: _ClassVar[SpeechTranscript.Command]
        COMMAND_STOP: _ClassVar[SpeechTranscript.Command]
        COMMAND_LOUDER: _ClassVar[SpeechTranscript.Command]
        COMMAND_QUIETER: _ClassVar[SpeechTranscript.Command]
    COMMAND_UNSPECIFIED: SpeechTranscript.Command
    COMMAND_STOP: SpeechTranscript.Command
    COMMAND_LOUDER: SpeechTranscript.Command
    COMMAND_QUIETER: SpeechTranscript.Command
    ASK_ID_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    FINAL_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    PROBABILITY_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    ask_id: str
    text: str
    final: bool
    language: str
    probability: float
    command: SpeechTranscript.Command
    def __init__(self, ask_id: _Optional[str] = ..., text: _Optional[str] = ..., final: _Optional[bool] = ..., language: _Optional[str] = ..., probability: _Optional[float] = ..., command: _Optional[_Union[SpeechTranscript.Command, str]] = ...) -> None: ...

class AnswerAudio(_message.Message):
    __slots__ = ("ask_id", "segment", "rate_hz", "channels", "data", "last")
    ASK_ID_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    RATE_HZ_FIELD_NUMBER: _ClassVar[int]
    CHANNELS_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    ask_id: str
    segment: int
    rate_hz: int
    channels: int
    data: bytes
    last: bool
    def __init__(self, ask_id: _Optional[str] = ..., segment: _Optional[int] = ..., rate_hz: _Optional[int] = ..., channels: _Optional[int] = ..., data: _Optional[bytes] = ..., last: _Optional[bool] = ...) -> None: ...

class AnswerSpoken(_message.Message):
    __slots__ = ("ask_id", "whole", "heard", "unheard", "reason")
    ASK_ID_FIELD_NUMBER: _ClassVar[int]
    WHOLE_FIELD_NUMBER: _ClassVar[int]
    HEARD_FIELD_NUMBER: _ClassVar[int]
    UNHEARD_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    ask_id: str
    whole: bool
    heard: str
    unheard: str
    reason: str
    def __init__(self, ask_id: _Optional[str] = ..., whole: _Optional[bool] = ..., heard: _Optional[str] = ..., unheard: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...
