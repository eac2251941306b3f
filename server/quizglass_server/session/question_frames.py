"""Brings the frame that a question is about: waits for it, and asks for a sharper part where it shows too little."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from quizglass.session import FrameNeed, NeedFrame, Role
from quizglass_server.assistant.asking import Asking
from quizglass_server.errors import InvalidInput, NotFound, Overloaded
from quizglass_server.session.asked_question import AskedQuestion
from quizglass_server.session.coaching.closer import LOOK_S, WAIT_S, CloseUpAdvisor, TooSmall
from quizglass_server.session.frame_sources import PICTURE_FIELD, SharpenedFrame, ShelfFrame
from quizglass_server.session.frames import FrameShelf, HeldFrame

_NEVER_CAME = "the frame did not come in time; send it and ask again"


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
        closer: CloseUpAdvisor | None = None,
    ) -> None:
        self._asking = asking
        self.shelf = shelf
        self._emit = emit
        self._wait_s = wait_s
        self._closer = closer
        self._arrivals: dict[bytes, asyncio.Event] = {}
        self._sharper_arrivals: dict[bytes, asyncio.Event] = {}
        """Events for sharper frames, by the SHA-256 of the thumbnail."""

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
            InvalidInput: it was refused when it was announced, or is no picture.
            Overloaded: there was no room for it, or it is a thumbnail and cannot be looked at.
        """
        if not asked.ask.request.frames:
            return None
        (name,) = (frame.sha256 or b"" for frame in asked.ask.request.frames)
        frame = await self._named(asked, name)
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

    async def bring(self, asked: AskedQuestion, name: bytes, *, needed: bool) -> None:
        """Have the dialogue's picture decoded that a question is about. What the session does not have, such as after a
        restart, is requested; a question that can do without waits for it no longer than for a sharper part.
        """
        if not name or self._asking.pictures.held(name) is not None:
            return
        if (frame := self.shelf.whole(name)) is None:
            frame = await self._arrived(asked, name, self._wait_s if needed else min(WAIT_S, self._wait_s))
            if frame is None:
                return
            asked.ledger.include(frame.ahead)
        await ShelfFrame(frame, self._asking).picture()

    async def _named(self, asked: AskedQuestion, name: bytes) -> HeldFrame:
        """The frame that a question names. Raises as `source` why there is none."""
        if (frame := self.shelf.whole(name)) is not None:
            return frame
        if not isinstance(self.shelf.refusal(name), InvalidInput):
            frame = await self._arrived(asked, name, self._wait_s)
        if frame is not None:
            return frame
        match self.shelf.refusal(name):
            case InvalidInput() as refusal:
                told = InvalidInput(PICTURE_FIELD, refusal.description)
                told.code = refusal.code
                raise told
            case Overloaded() as refusal:
                raise Overloaded(f"{PICTURE_FIELD}: {refusal.message}", refusal.retry_after_s)
        came, size = self.shelf.progress(name)
        why = f"{came} of {size} bytes came in time; ask again once it is whole" if came else _NEVER_CAME
        raise NotFound(f"{PICTURE_FIELD}: {why}", field=PICTURE_FIELD)

    async def _arrived(self, asked: AskedQuestion, name: bytes, within_s: float) -> HeldFrame | None:
        """A frame that is not whole yet, if it comes in time."""
        await self._wait(asked, self.shelf.need(name), within_s, self._arrivals)
        return self.shelf.whole(name)

    async def _look_closer(
        self, asked: AskedQuestion, thumbnail: ShelfFrame, closer: CloseUpAdvisor
    ) -> HeldFrame | None:
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

    async def _too_small(self, asked: AskedQuestion, thumbnail: ShelfFrame, closer: CloseUpAdvisor) -> TooSmall | None:
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
