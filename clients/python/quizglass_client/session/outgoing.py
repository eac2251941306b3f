"""What a session has to say over its link: messages first, and between them pieces of frames.

Knows what has to be said again over a new link. Knows no gRPC.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import time
from collections import OrderedDict, deque
from dataclasses import dataclass

from google_crc32c import value as crc32c

from quizglass.session import (
    CancelAsk,
    ClientSaid,
    DeviceState,
    Forget,
    FrameBegin,
    FrameDrop,
    FrameNeed,
    FramePart,
    FrameState,
    FrameStatus,
    Ping,
    Playback,
    Role,
    SessionAsk,
    SpeechAudio,
    SpeechEnd,
    SpeechStart,
    SpeechStatus,
)
from quizglass.values import Region
from quizglass_client.session.pacing import Window
from quizglass_client.session.voice.upload import SpeechUpload

_MOST_BYTES = 64 * 1024 * 1024
"""Most bytes of frames that are kept to be sent again; the oldest go first."""
_FORGET = ""
"""Stands for `Forget` where a question's name would stand."""


@dataclass(slots=True)
class Upload:
    """A frame that is sent, or can be sent again."""

    begin: FrameBegin
    data: bytes
    offset: int | None = None
    """First byte to be sent; None: the server has not said, or has it."""
    held: bool = False
    announced: bool = True
    """Whether the server of now has been told of it, and has not let it go."""


class OutgoingMessages:
    """What is to be sent, in order."""

    def __init__(self) -> None:
        self._waiting: deque[ClientSaid] = deque()
        self._uploads: OrderedDict[bytes, Upload] = OrderedDict()
        # In the order in which they were said: what is asked before something is forgotten goes with it.
        self._asks: OrderedDict[str, SessionAsk | Forget] = OrderedDict()
        self._speeches: OrderedDict[str, SpeechUpload] = OrderedDict()
        self._cancelled: dict[str, CancelAsk] = {}
        self._dropped: dict[bytes, FrameDrop] = {}
        self._played: Playback | None = None
        self._device: DeviceState | None = None
        self._window = Window()
        self._changed = asyncio.Event()

    def say(self, said: ClientSaid) -> None:
        """Send a message, and again over a new link until it is acknowledged."""
        match said:
            case SessionAsk(id=name):
                self._asks[name] = said
            case CancelAsk(ask_id=name):
                self._cancelled[name] = said
            case FrameDrop(sha256=frame):
                self._dropped[frame] = said
            case Playback():
                self._played = said
            case DeviceState():
                self._device = said
            case Forget():
                self._uploads.clear()
                self._played = None
                self.forgotten()
                self._asks[_FORGET] = said
                for speech in self._speeches.values():
                    speech.forget()
        self._waiting.append(said)
        self._changed.set()

    def show(
        self,
        data: bytes,
        *,
        pinned: bool = False,
        role: Role = Role.UNKNOWN,
        parent: bytes = b"",
        region: Region | None = None,
    ) -> bytes:
        """Send a frame, unless it was sent before; its SHA-256."""
        name = hashlib.sha256(data).digest()
        self._dropped.pop(name, None)
        upload = self._uploads.get(name)
        begin = FrameBegin(name, len(data), role=role, parent=parent, region=region, pinned=pinned)
        if upload is None:
            upload = self._uploads[name] = Upload(begin, data)
            self._forget_oldest()
        elif upload.announced and upload.begin == begin:
            return name
        upload.begin, upload.announced = begin, True
        self.say(begin)
        return name

    def drop(self, name: bytes) -> None:
        """Give a frame up, also one that would not be sent again: the server may have it."""
        self._uploads.pop(name, None)
        self.say(FrameDrop(name))

    def speak(self, start: SpeechStart) -> SpeechUpload:
        """Begin a spoken question."""
        first = not any(each.repeating for each in self._speeches.values())
        upload = self._speeches[start.id] = SpeechUpload(start, announced=first)
        if first:
            self.say(start)
        self._changed.set()
        return upload

    def spoken(self, status: SpeechStatus) -> bool:
        """What the server has of a spoken question; returns whether it was not known from an earlier session."""
        upload = self._speeches.get(status.id)
        self._changed.set()
        return upload is None or upload.status(status)

    @property
    def lost_speeches(self) -> list[str]:
        """Names of spoken questions whose sound is needed and not kept any more."""
        return [name for name, upload in self._speeches.items() if upload.lost]

    def give_up(self, name: str) -> None:
        """Send no more of a spoken question; while a session waits for the rest of it, it takes no other one."""
        upload = self._speeches.get(name)
        self.over(name)
        if upload is not None and upload.announced:
            self.say(CancelAsk(name))

    def wake(self) -> None:
        """More of a spoken question was recorded."""
        self._changed.set()

    def status(self, status: FrameStatus) -> None:
        """What the server has of a frame."""
        if status.state is FrameState.DROPPED:
            self._dropped.pop(status.sha256, None)
        if (upload := self._uploads.get(status.sha256)) is not None:
            upload.held = status.state is FrameState.HELD
            upload.announced = status.state is not FrameState.DROPPED
            upload.offset = status.offset if status.state is FrameState.SEND else None
            self._changed.set()

    def need(self, need: FrameNeed) -> None:
        """A question waits for a frame, and no longer where there is none to be sent."""
        upload = self._uploads.get(need.sha256)
        if upload is None and need.region is None:
            self.drop(need.sha256)
        elif upload is not None and need.region is None and upload.offset is None:
            upload.held, upload.announced = False, True
            self.say(upload.begin)

    def over(self, name: str) -> None:
        """Nothing more comes of a question."""
        self._asks.pop(name, None)
        if (upload := self._speeches.pop(name, None)) is not None:
            upload.finished.set()
        self._cancelled.pop(name, None)

    def forgotten(self) -> None:
        """The server has forgotten."""
        self._asks.pop(_FORGET, None)

    def again(self, *, resumed: bool, longest_s: float = math.inf) -> None:
        """There is a new link: what may not have arrived over the old one is said again.

        Args:
            resumed: whether the session is the same. Of another one, frames come when they are needed.
            longest_s: seconds of a spoken question that it takes.
        """
        self._window = Window()
        asks = list(self._asks.values())
        requests = [ask.request for ask in asks if isinstance(ask, SessionAsk)]
        requests += [speech.start.request for speech in self._speeches.values() if speech.start.request is not None]
        wanted = {frame.sha256 for request in requests for frame in request.frames}
        begins = []
        for name, upload in self._uploads.items():
            upload.offset = None
            if not resumed:
                upload.held = False
            upload.announced = (upload.announced if resumed else upload.begin.pinned) or name in wanted
            if not upload.held and upload.announced:
                begins.append(upload.begin)
        if not resumed:
            self._dropped.clear()
            self._played = None  # of a question that this session does not know
        known = {*self._asks, *self._speeches}
        given_up = {name: said for name, said in self._cancelled.items() if name not in known}
        if not resumed:  # this session does not know them
            self._cancelled = {name: said for name, said in self._cancelled.items() if name in known}
            given_up.clear()
        # A later question is understood after what was heard, so that is said first.
        before: list[ClientSaid] = [said for said in (self._device, self._played) if said is not None]
        for speech in self._speeches.values():
            speech.again(resumed=resumed, longest_s=longest_s)
        # Another session takes one speech after the other, so that they are announced as they are sent.
        starts = [
            each.start for each in self._speeches.values() if each.announced and (each.repeating or not each.over)
        ]
        cancels = [said for name, said in self._cancelled.items() if name in known]
        before += given_up.values()  # a session listens to one speech at a time
        self._waiting = deque([*begins, *before, *asks, *starts, *cancels, *self._dropped.values()])
        self._changed.set()

    def pong(self, payload: bytes) -> None:
        """The link has carried all that was sent before this ping."""
        self._window.answered(payload, time.monotonic())
        self._changed.set()

    async def next(self) -> ClientSaid:
        """The next message to be sent, when there is one."""
        while True:
            if self._waiting:
                return self._waiting.popleft()
            if (part := self._sound() or self._part()) is not None:
                return part
            self._changed.clear()
            await self._changed.wait()

    def _sound(self) -> SpeechStart | SpeechAudio | SpeechEnd | None:
        """The next piece of speech, before any of a frame: the wearer waits for its end."""
        for name, upload in self._speeches.items():
            if not upload.announced:
                upload.announced = True
                if (cancel := self._cancelled.get(name)) is not None:
                    self._waiting.append(cancel)  # the session did not know it when that was said
                return upload.start
            if (said := upload.next()) is not None:
                return said
            if upload.repeating:
                return None  # a session listens to one at a time
        return None

    def _part(self) -> FramePart | None:
        """The next piece of the frame that was shown last and is not whole, if the link has room for it."""
        window = self._window
        for upload in reversed(self._uploads.values()):
            if upload.offset is None or upload.offset >= len(upload.data):
                continue
            size = min(window.piece, len(upload.data) - upload.offset)
            if window.room < size:
                return None
            data = upload.data[upload.offset : upload.offset + size]
            part = FramePart(upload.begin.sha256, upload.offset, data, crc32c(data))
            upload.offset += size
            self._waiting.append(Ping(window.sent(size, time.monotonic())))
            return part
        return None

    def _forget_oldest(self) -> None:
        while sum(len(upload.data) for upload in self._uploads.values()) > _MOST_BYTES and len(self._uploads) > 1:
            self._uploads.popitem(last=False)
