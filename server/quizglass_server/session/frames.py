"""Frames of a session: announced, received in pieces, checked, held for questions, and let go.

A frame is named by the SHA-256 of its bytes, within its session: what another session holds cannot be named.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from google_crc32c import value as crc32c

from quizglass.session import (
    CaptureFault,
    CaptureScore,
    FrameBegin,
    FrameNeed,
    FramePart,
    FrameState,
    FrameStatus,
    Role,
)
from quizglass_server.domain import checks
from quizglass_server.errors import InvalidInput, InvalidPicture, NotFound, Overloaded, QuizglassError
from quizglass_server.scheduling.ledger import ByteLedger
from quizglass_server.scheduling.places import may_take

MAX_PART_BYTES = 64 * 1024
_RETRY_S = 1.0
_MOST_GONE = 4096
"""Most frames that are gone and whose pictures `forget` can still remove."""
_MOST_REFUSED = 64
"""Most refused frames whose reason is kept for a question about them."""
_MIMES = ("", "image/jpeg", "image/png", "image/webp")


@dataclass(eq=False, slots=True)
class HeldFrame:
    """A frame, whole or not yet."""

    begin: FrameBegin
    data: bytes | bytearray = field(default_factory=bytearray)
    """The bytes so far."""
    whole: bool = False
    pinned: bool = False
    fault: CaptureFault = CaptureFault.NONE
    """What is wrong with it as it was taken, once the coach has judged it."""
    advice: str = ""
    capture: tuple[CaptureScore, ...] = ()
    """Scores of all faults, where there is one."""
    ahead: ByteLedger = field(default_factory=ByteLedger)
    """Bytes handed over for it outside of turns, for the ledger of the first question about it."""

    @property
    def status(self) -> FrameStatus:
        """The status of the frame, as it is sent."""
        if self.whole:
            faults = self.fault, self.advice, self.capture
            return FrameStatus(self.begin.sha256, FrameState.HELD, 0, self.pinned, *faults)
        return FrameStatus(self.begin.sha256, FrameState.SEND, len(self.data), self.pinned)


@dataclass(eq=False, slots=True)
class _Holder:
    """An address whose sessions hold frames."""

    bytes: int = 0
    pinned: int = 0
    """Of these, bytes that are pinned."""
    frames: OrderedDict[HeldFrame, FrameShelf] = field(default_factory=OrderedDict)
    """Those that are not pinned first went least lately."""


class FramePool:
    """Bounds the bytes of the frames of all sessions.

    Args:
        most_bytes: that are held together. Beyond, frames that are not pinned go: of the address that has most bytes,
            the oldest. What one address pins leaves room for others (`may_take`).
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._holders: dict[str, _Holder] = defaultdict(_Holder)
        self._owners: dict[HeldFrame, str] = {}
        self.bytes = 0
        """Bytes of all frames that are held."""
        self._pinned = 0

    def touch(self, frame: HeldFrame, shelf: FrameShelf) -> None:
        """Mark a frame as the one that was used last."""
        holder = self._holders[self._owners.setdefault(frame, shelf.owner())]
        holder.frames[frame] = shelf
        holder.frames.move_to_end(frame)

    def pin(self, frame: HeldFrame, *, pinned: bool) -> None:
        """Keep a frame until its session lets it go, or no longer.

        Raises:
            Overloaded: the address has pinned as much as it may.
        """
        if pinned != frame.pinned:
            size = len(frame.data) if pinned else -len(frame.data)
            self._pin(self._holders[self._owners[frame]], size)
            frame.pinned = pinned

    def take(self, size: int, frame: HeldFrame) -> None:
        """Make room for more bytes of a frame.

        Raises:
            Overloaded: there is none.
        """
        holder = self._holders[self._owners[frame]]
        if frame.pinned:
            self._pin(holder, size)
        self._add(holder, size)
        while self.bytes > self._most_bytes:
            oldest = self._oldest(frame, holder)
            if oldest is None:
                self._add(holder, -size)
                if frame.pinned:
                    self._pin(holder, -size)
                raise Overloaded("there is no room for more frames now; try again later", _RETRY_S)
            self._holders[self._owners[oldest]].frames[oldest].let_go(oldest)

    def remove(self, frame: HeldFrame) -> None:
        """Note that a frame is gone."""
        owner = self._owners.pop(frame, None)
        if owner is None:
            return
        holder = self._holders[owner]
        del holder.frames[frame]
        self._add(holder, -len(frame.data))
        if frame.pinned:
            self._pin(holder, -len(frame.data))
        if not holder.frames:
            del self._holders[owner]

    def _oldest(self, coming: HeldFrame, holder: _Holder) -> HeldFrame | None:
        """The frame that goes next; none of an address that has less than the one whose frame is coming."""
        for each in sorted(self._holders.values(), key=lambda each: each.bytes, reverse=True):
            if each.bytes < holder.bytes:
                break
            for frame in each.frames:
                if not frame.pinned and frame is not coming:
                    return frame
        return None

    def _add(self, holder: _Holder, size: int) -> None:
        self.bytes += size
        holder.bytes += size

    def _pin(self, holder: _Holder, size: int) -> None:
        if size > 0 and not may_take(holder.pinned, self._most_bytes - self._pinned, size):
            held = f"{holder.pinned} bytes of frames are pinned from your address"
            raise Overloaded(f"{held}, which is all there may be now; drop one, or send this one unpinned", _RETRY_S)
        self._pinned += size
        holder.pinned += size


@dataclass(frozen=True, slots=True)
class ShelfLimits:
    """What one session may hold."""

    frame_bytes: int
    bytes: int
    frames: int
    pins: int


class FrameShelf:
    """The frames of one session.

    Args:
        limits: what it may hold.
        pool: what all sessions hold.
        on_whole: told of a frame that has become whole.
        on_gone: told of a frame that had to make room.
        owner: the address whose frames these are.
    """

    def __init__(
        self,
        limits: ShelfLimits,
        pool: FramePool,
        on_whole: Callable[[HeldFrame], None],
        on_gone: Callable[[FrameStatus], None],
        owner: Callable[[], str] = lambda: "",
    ) -> None:
        self._limits = limits
        self._pool = pool
        self.on_whole = on_whole
        self.on_gone = on_gone
        self.owner = owner
        self._frames: OrderedDict[bytes, HeldFrame] = OrderedDict()
        self._gone: OrderedDict[bytes, None] = OrderedDict()
        """SHA-256 of frames that were whole, the latest: what was made of them may still be kept."""
        self._refused: OrderedDict[bytes, QuizglassError] = OrderedDict()
        """Why frames are not here, the latest, until they are announced anew."""

    def begin(self, begin: FrameBegin) -> FrameStatus:
        """Expect a frame; returns its status.

        Raises:
            InvalidInput: a field is wrong, or it was announced otherwise before.
            Overloaded: there is no room for it beside pinned ones.
        """
        self._check(begin)
        frame = self._frames.get(begin.sha256)
        if frame is not None and frame.begin.size != begin.size:
            raise InvalidInput("frame_begin.size", f"{begin.size} is not the {frame.begin.size} announced before")
        if begin.pinned and not (frame is not None and frame.pinned) and self._pins >= self._limits.pins:
            raise InvalidInput(
                "frame_begin.pinned", f"{self._limits.pins} frames are pinned, which is all there may be"
            )
        if frame is None:
            self._make_room(begin.size)
            frame = self._frames[begin.sha256] = HeldFrame(begin)
        self._touch(frame)
        self._pool.pin(frame, pinned=begin.pinned)
        frame.begin = begin
        self._refused.pop(begin.sha256, None)
        return frame.status

    def part(self, part: FramePart) -> FrameStatus | None:
        """Take a piece of a frame; returns the frame's status when it has become whole, else None.

        Raises:
            NotFound: the frame is not expected.
            InvalidInput: the piece leaves a gap, does not fit its CRC or the frame's size; or the frame, now whole,
                does not have its SHA-256 and is given up.
            Overloaded: there is no room for it.
        """
        frame = self._frames.get(part.sha256)
        if frame is None:
            raise NotFound("frame_part.sha256: the frame was not announced", field="frame_part.sha256")
        end, there = part.offset + len(part.data), len(frame.data)
        self._check_part(part, frame.begin.size, there)
        if frame.whole or end <= there:
            return None
        more = memoryview(part.data)[there - part.offset :]
        self._pool.take(len(more), frame)
        frame.data += more  # in place: it is not whole
        self._touch(frame)
        if end < frame.begin.size:
            return None
        if hashlib.sha256(frame.data).digest() != part.sha256:
            self._remove(frame)
            raise InvalidInput("frame_begin.sha256", "the bytes that came have another SHA-256; the frame is given up")
        frame.data, frame.whole = bytes(frame.data), True
        self.on_whole(frame)
        return frame.status

    def drop(self, sha256: bytes) -> FrameStatus:
        """Remove a frame, if it is there; returns its status."""
        if (frame := self._frames.get(sha256)) is not None:
            self._remove(frame)
        return FrameStatus(sha256, FrameState.DROPPED)

    def clear(self) -> tuple[list[HeldFrame], list[bytes]]:
        """Remove all frames; returns them, and the SHA-256 of these and of those that were here before."""
        frames = list(self._frames.values())
        for frame in frames:
            self._remove(frame)
        names = list(dict.fromkeys((*(frame.begin.sha256 for frame in frames), *self._gone)))
        self._gone.clear()
        self._refused.clear()
        return frames, names

    def refuse(self, sha256: bytes, error: QuizglassError) -> None:
        """Keep why a frame is not taken, for a question about it, which would wait for it in vain."""
        self._refused[sha256] = error
        self._refused.move_to_end(sha256)
        while len(self._refused) > _MOST_REFUSED:
            self._refused.popitem(last=False)

    def refusal(self, sha256: bytes) -> QuizglassError | None:
        """Why the frame of that name is not here; None: it is, or was not refused."""
        return self._refused.get(sha256)

    def whole(self, sha256: bytes) -> HeldFrame | None:
        """The frame of that name, for a question; None where it is not whole or not there."""
        frame = self._frames.get(sha256)
        if frame is None or not frame.whole:
            return None
        self._touch(frame)
        return frame

    def sharper(self, sha256: bytes) -> HeldFrame | None:
        """The newest whole frame that shows this one, or a part of it, sharper."""
        roles = (Role.CROP, Role.FULL)
        return next(
            (
                each
                for each in reversed(self._frames.values())
                if each.whole and each.begin.parent == sha256 and each.begin.role in roles
            ),
            None,
        )

    def need(self, sha256: bytes) -> FrameNeed:
        """What is missing of a frame."""
        frame = self._frames.get(sha256)
        return FrameNeed(sha256, 0 if frame is None else len(frame.data))

    def progress(self, sha256: bytes) -> tuple[int, int]:
        """How many bytes of a frame are here, and how many it has; 0 of 0 where it was not announced."""
        frame = self._frames.get(sha256)
        return (0, 0) if frame is None else (len(frame.data), frame.begin.size)

    def status(self, sha256: bytes) -> FrameStatus:
        """The status of a frame."""
        frame = self._frames.get(sha256)
        return FrameStatus(sha256, FrameState.DROPPED) if frame is None else frame.status

    def let_go(self, frame: HeldFrame) -> None:
        """Remove a frame that has to make room."""
        self._remove(frame)
        self.on_gone(FrameStatus(frame.begin.sha256, FrameState.DROPPED))

    @property
    def _pins(self) -> int:
        return sum(frame.pinned for frame in self._frames.values())

    def _check(self, begin: FrameBegin) -> None:
        checks.sha256(begin.sha256, "frame_begin.sha256")
        if begin.size < 1:
            raise InvalidPicture("frame_begin.size", "the picture has 0 bytes; send the whole file")
        if begin.size > (most := self._limits.frame_bytes):
            raise InvalidPicture("frame_begin.size", f"{begin.size} bytes is more than the {most} allowed; resize it")
        if begin.mime not in _MIMES:
            raise InvalidInput("frame_begin.mime", f"{begin.mime[:60]!r} is none of {', '.join(_MIMES[1:])}")
        if begin.age < 0:
            raise InvalidInput("frame_begin.age_us", "is negative; give microseconds before now")
        if begin.parent or begin.role is Role.CROP:
            checks.sha256(begin.parent, "frame_begin.parent_sha256")
        if begin.role is Role.CROP and begin.region is None:
            raise InvalidInput("frame_begin.region", "is missing; say which part of its parent the crop is")

        if (part := begin.region) is not None and not (
            0 <= part.left < part.right <= 1 and 0 <= part.top < part.bottom <= 1
        ):
            raise InvalidInput("frame_begin.region", "is no part of a picture; give shares of its sides, 0 to 1")

    def _check_part(self, part: FramePart, size: int, there: int) -> None:
        checks.within(len(part.data), 1, MAX_PART_BYTES, "frame_part.data")
        if not 0 <= part.offset <= there:
            raise InvalidInput("frame_part.offset", f"{part.offset} leaves a gap: the frame is there up to {there}")
        if part.offset + len(part.data) > size:
            raise InvalidInput("frame_part.data", f"ends after the {size} bytes that were announced")
        if crc32c(part.data) != part.crc32c:
            raise InvalidInput("frame_part.crc32c", "does not fit the data; send the piece again")

    def _make_room(self, size: int) -> None:
        limits = self._limits
        while self._frames and (len(self._frames) >= limits.frames or self._announced + size > limits.bytes):
            oldest = next((frame for frame in self._frames.values() if not frame.pinned), None)
            if oldest is None:
                raise Overloaded("pinned frames leave no room for this one; drop one", _RETRY_S)
            self.let_go(oldest)

    @property
    def _announced(self) -> int:
        return sum(frame.begin.size for frame in self._frames.values())

    def _touch(self, frame: HeldFrame) -> None:
        self._frames.move_to_end(frame.begin.sha256)
        self._pool.touch(frame, self)

    def _remove(self, frame: HeldFrame) -> None:
        self._pool.remove(frame)
        del self._frames[frame.begin.sha256]
        if frame.whole:
            self._gone[frame.begin.sha256] = None
            while len(self._gone) > _MOST_GONE:
                self._gone.popitem(last=False)
