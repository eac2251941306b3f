"""A question of a session, and the frame that it is about: waited for, and sharper where it shows too little."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

from quizglass.session import FrameNeed, NeedFrame, Role, SessionAsk
from quizglass.values import Region
from quizglass_server.assistant.asking import Asking
from quizglass_server.coaching.closer import LOOK_S, WAIT_S, Closer, TooSmall, sharpened
from quizglass_server.domain.turns import Picture, Turn
from quizglass_server.errors import NotFound
from quizglass_server.scheduling.ledger import ByteLedger
from quizglass_server.session.frames import FrameShelf, HeldFrame
from quizglass_server.session.heard import Said
from quizglass_server.session.segments import Segmenter
from quizglass_server.turn.stages import StageWatch

_PICTURE = "ask.request.frames[0]"


@dataclass(eq=False, slots=True)
class AskedQuestion:
    """A question that waits or runs."""

    ask: SessionAsk
    message_id: int
    turn: Turn
    policy: str
    said: Said
    segmenter: Segmenter
    asked: float = field(default_factory=time.monotonic)
    began: float = 0.0
    """When it was accepted; 0: not yet."""
    seq: int = 0
    stage: str = "queue"
    watch: StageWatch = field(default_factory=StageWatch)
    ledger: ByteLedger = field(default_factory=ByteLedger)
    frame: bytes = b""
    """SHA-256 of the frame that it names, whatever was put in its place."""
    looked: float = 0.0
    """Seconds of its budget that went into seeing whether its frame is too small."""
    unseen: bool = False
    """Whether a sharper part was asked for and did not come."""
    over: bool = False
    task: asyncio.Task[None] | None = None
    before: frozenset[asyncio.Task[None]] = frozenset()
    """Tasks of questions that were ended when it began, which may still hold engines and a permit."""

    async def engines_free(self) -> None:
        """Wait until those have let go of both."""
        if self.before:
            await asyncio.wait(self.before)


class ShelfFrame:
    """A frame of a session, as the source of a picture."""

    size = 0
    """Its bytes are counted where frames are held."""

    def __init__(self, frame: HeldFrame, asking: Asking) -> None:
        self._frame = frame
        self._asking = asking

    def is_slow(self) -> bool:
        """Whether its picture takes long to decode. Raises InvalidPicture."""
        if self._asking.pictures.held(self._frame.begin.sha256) is not None:
            return False
        return self._asking.pictures.is_slow(bytes(self._frame.data), _PICTURE)

    async def picture(self) -> Picture:
        """Its picture. Raises InvalidPicture."""
        name = self._frame.begin.sha256
        return await self._asking.pictures.decode(bytes(self._frame.data), _PICTURE, sha256=name)


class SharpenedFrame:
    """A thumbnail with a sharper part in its place, as the source of a picture."""

    size = 0
    """Its bytes are counted where frames are held."""

    def __init__(self, thumbnail: ShelfFrame, part: ShelfFrame, region: Region) -> None:
        self._thumbnail = thumbnail
        self._part = part
        self._region = region

    def is_slow(self) -> bool:
        """Whether it takes long to decode. Raises InvalidPicture."""
        return self._thumbnail.is_slow() or self._part.is_slow()

    async def picture(self) -> Picture:
        """Both as one picture. Raises InvalidPicture."""
        whole, part = await self._thumbnail.picture(), await self._part.picture()
        pixels = await asyncio.to_thread(sharpened, whole.pixels, part.pixels, self._region)
        return Picture(sha256(whole.sha256 + part.sha256).digest(), pixels)


class QuestionFrames:
    """Brings the frames that the questions of one session are about.

    Args:
        asking: decodes pictures, and runs what has to be found out about one.
        shelf: the session's frames.
        emit: says what a question waits for.
        wait_s: how long a question waits for its frame.
        closer: says where a thumbnail is too small; None: it never is.
    """

    def __init__(
        self,
        asking: Asking,
        shelf: FrameShelf,
        emit: Callable[[NeedFrame], None],
        wait_s: float,
        closer: Closer | None = None,
    ) -> None:
        self._asking = asking
        self.shelf = shelf
        self._emit = emit
        self._wait_s = wait_s
        self._closer = closer
        self._arrivals: dict[bytes, asyncio.Event] = {}
        self._sharper_arrivals: dict[bytes, asyncio.Event] = {}
        """By the name of the thumbnail."""

    def arrived(self, sha256: bytes) -> None:
        """A frame is whole, or will not come."""
        for arrivals in (self._arrivals, self._sharper_arrivals):
            if (event := arrivals.pop(sha256, None)) is not None:
                event.set()

    def sharper_arrived(self, thumbnail: bytes) -> None:
        """A frame is whole that is a sharper one of this one, which need not be there yet."""
        if (event := self._sharper_arrivals.pop(thumbnail, None)) is not None:
            event.set()

    async def source(self, asked: AskedQuestion) -> ShelfFrame | SharpenedFrame | None:
        """The frame that a question names, once it is there; None: it names none.

        Raises:
            NotFound: it does not come in time.
            InvalidPicture, Overloaded: it is a thumbnail, and cannot be looked at.
        """
        if not asked.ask.request.frames:
            return None
        (name,) = (frame.sha256 or b"" for frame in asked.ask.request.frames)
        if (frame := self.shelf.whole(name) or await self._arrived(asked, name)) is None:
            raise NotFound(f"{_PICTURE}: the frame did not come in time; send it and ask again", field=_PICTURE)
        asked.frame = name
        asked.ledger.include(frame.ahead)
        source = ShelfFrame(frame, self._asking)
        if self._closer is None or frame.begin.role is not Role.THUMBNAIL:
            return source
        sharper = self.shelf.sharper(name) or await self._look_closer(asked, source, self._closer)
        if sharper is None:
            return source
        asked.ledger.include(sharper.ahead)
        region = sharper.begin.region
        part = ShelfFrame(sharper, self._asking)
        return part if region is None else SharpenedFrame(source, part, region)

    async def decode(self, name: bytes) -> None:
        """Have the dialogue's picture decoded that a question is about, if the session still has it."""
        if name and self._asking.pictures.held(name) is None and (frame := self.shelf.whole(name)) is not None:
            await ShelfFrame(frame, self._asking).picture()

    async def _arrived(self, asked: AskedQuestion, name: bytes) -> HeldFrame | None:
        """A frame that is not whole yet, if it comes in time."""
        await self._wait(asked, self.shelf.need(name), self._wait_s, self._arrivals)
        return self.shelf.whole(name)

    async def _look_closer(self, asked: AskedQuestion, thumbnail: ShelfFrame, closer: Closer) -> HeldFrame | None:
        """A sharper frame, if one is needed and comes in time."""
        if (part := await self._too_small(asked, thumbnail, closer)) is None:
            return None
        if (sharper := self.shelf.sharper(asked.frame)) is not None:  # it came while the thumbnail was looked at
            return sharper
        need = FrameNeed(asked.frame, region=part.region, least_side=part.side)
        await self._wait(asked, need, min(WAIT_S, self._wait_s), self._sharper_arrivals)
        sharper = self.shelf.sharper(asked.frame)
        asked.unseen = sharper is None
        return sharper

    async def _too_small(self, asked: AskedQuestion, thumbnail: ShelfFrame, closer: Closer) -> TooSmall | None:
        """What is too small in a thumbnail; None: nothing, or there was no time to find out."""

        async def look() -> TooSmall | None:
            return await closer.too_small(await thumbnail.picture(), asked.turn.question)

        await asked.engines_free()
        if thumbnail.is_slow():  # as turns have it: no place is held meanwhile
            await thumbnail.picture()
        budget = self._asking.budget(asked.ask.request.budget)
        part = await self._asking.beforehand(asked.frame, look, budget, LOOK_S)
        asked.looked = budget.total_s - budget.left_s
        return part

    async def _wait(
        self, asked: AskedQuestion, need: FrameNeed, within_s: float, arrivals: dict[bytes, asyncio.Event]
    ) -> None:
        """Say what a question needs, and wait until it has arrived or the time is over."""
        asked.stage = "frames"
        self._emit(NeedFrame(asked.ask.id, (need,), within_s))
        arrival = arrivals.setdefault(need.sha256, asyncio.Event())
        try:
            async with asyncio.timeout(within_s):
                await arrival.wait()
        except TimeoutError:
            pass
        finally:
            arrivals.pop(need.sha256, None)
