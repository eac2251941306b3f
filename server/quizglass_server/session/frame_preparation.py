"""What is done for a session's frames before there is a question: decoded, looked at when there is time, judged."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from quizglass.session import FrameStatus, Role
from quizglass_server.assistant.asking import Asking
from quizglass_server.assistant.look_ahead import LookAhead
from quizglass_server.domain.turns import Picture
from quizglass_server.errors import InvalidInput, QuizglassError
from quizglass_server.scheduling.ledger import entered_in, handed
from quizglass_server.session.coaching.coach import CaptureCoach
from quizglass_server.session.frame_sources import ShelfFrame
from quizglass_server.session.frames import FrameShelf, HeldFrame

logger = logging.getLogger(__name__)


class FramePreparation:
    """Prepares the frames of one session for questions, and judges how they were taken.

    Args:
        asking: decodes them.
        shelf: the session's frames.
        emit: tells of one that was judged.
        refuse: told of one that is no picture, by its SHA-256.
        looks: looks at pictures ahead, for all sessions; None: they wait for a question.
        coach: judges how they were taken; None: no coaching.
    """

    def __init__(
        self,
        asking: Asking,
        shelf: FrameShelf,
        emit: Callable[[FrameStatus], None],
        refuse: Callable[[bytes, InvalidInput], None],
        looks: LookAhead | None,
        coach: CaptureCoach | None,
    ) -> None:
        self._asking = asking
        self._shelf = shelf
        self._emit = emit
        self._refuse = refuse
        self._looks = looks
        self._coach = coach
        self._pausing = False
        self._tasks: dict[bytes, asyncio.Task[None]] = {}
        """The task that decodes and judges a frame, by its SHA-256."""

    def begin(self, frame: HeldFrame) -> None:
        """A frame is whole."""
        if self._looks is None and self._coach is None:
            return
        with entered_in(frame.ahead):
            self._tasks[frame.begin.sha256] = asyncio.create_task(self._look(frame), name="look at a frame")

    def end(self, sha256: bytes = b"") -> None:
        """A frame has gone, or all have: nothing holds its bytes or works on it any more, but a turn that runs."""
        for name in [sha256] if sha256 else list(self._tasks):
            if (task := self._tasks.pop(name, None)) is not None:
                task.cancel()
        if self._looks is not None:
            self._looks.remove(self, sha256)

    def pause(self, pausing: bool) -> None:
        """Look at nothing ahead for now, or again; frames that come are judged all the same."""
        self._pausing = pausing
        if pausing and self._looks is not None:
            self._looks.remove(self)

    async def _look(self, frame: HeldFrame) -> None:
        """Decode a frame, which shows whether it is a picture, have it looked at when there is time, and judge it."""
        name = frame.begin.sha256
        try:
            picture = await ShelfFrame(frame, self._asking).picture()
            if self._looks is not None and not self._pausing:
                self._looks.add(self, picture, frame.ahead, self._asking.assistant.look_ahead)
            if self._coach is not None and frame.begin.role is not Role.CROP:
                await self._judge(frame, picture, self._coach)
        except InvalidInput as error:
            self._refuse(name, error)
        except QuizglassError as error:  # there is no time or no memory now; a question will try again
            logger.debug("a frame could not be decoded ahead: %s", error.message)
        finally:
            if self._tasks.get(name) is asyncio.current_task():
                del self._tasks[name]

    async def _judge(self, frame: HeldFrame, picture: Picture, coach: CaptureCoach) -> None:
        """Say what is wrong with a frame as it was taken; nothing where nothing is."""
        handed("coach", picture.pixels.nbytes)
        judged = await asyncio.to_thread(coach.judge, picture.pixels)
        if judged.fault and self._shelf.whole(frame.begin.sha256) is frame:
            frame.fault, frame.advice, frame.capture = judged.fault, judged.advice, judged.scores
            self._emit(frame.status)
