"""Decides which process decodes a picture and when, and how a client that has to wait is answered.

Small JPEGs are decoded where they arrive: that takes less than handing them over. All others go to one of two
processes: one for what is quickly done, so that ordinary pictures never wait for giant ones, and one, which yields to
everything else on the machine, for the rest, one at a time and those that are done soonest first. What is no longer
awaited is ended with its process.
"""

from __future__ import annotations

import asyncio
import hashlib
import heapq
import logging
import time
import weakref
from contextlib import suppress
from itertools import count

import numpy as np

from quizglass.picture_files.errors import BadPicture, OutOfMemory
from quizglass.picture_files.header import Header
from quizglass_server.config.settings import PictureLimits
from quizglass_server.decoding.pictures import check_header, decode_picture, is_quick
from quizglass_server.decoding.process import DecoderProcess, Lost, Pixels
from quizglass_server.domain.turns import RGB, Picture
from quizglass_server.errors import BudgetExceeded, InvalidPicture, Overloaded
from quizglass_server.scheduling.deadline import deadline
from quizglass_server.scheduling.memory import WorkMemory

SOON_S = 0.06
"""Pictures that should take less than this to decode are ordinary: 5 megapixels of PNG, 8 of JPEG."""
LONGEST_S = 30.0
"""For waiting and decoding, where the work has no deadline of its own, as an import."""
_NICENESS = 10
_MOST_WAITING = 16
"""Pictures of requests with a deadline that wait for one process."""
_PATIENCE_S = 0.1
"""How long an abandoned decoding may go on: starting another process takes as long."""
_HASHED_HERE = 256 * 1024
_RETRY_S = 1.0
_REFUSAL_S = 0.25
"""Delay of a refusal for want of room: each picture of a client that asks again at once has to be received."""
_SCAN = b"\xff\xda"
logger = logging.getLogger(__name__)


class PictureDecoder:
    """Decodes pictures for one server."""

    def __init__(self, limits: PictureLimits, memory: WorkMemory) -> None:
        """Within these limits, and in this memory. Processes start with the first picture, or by `start`."""
        self._limits = limits
        self._memory = memory
        self._ordinary, self._slow = _ProcessLane(memory, 0), _ProcessLane(memory, _NICENESS)

    def start(self) -> None:
        """Start the processes now, so that the first picture does not wait for them. Raises OSError."""
        self._ordinary.process.start()
        self._slow.process.start()

    async def close(self) -> None:
        """End the processes, and with them what they decode."""
        await self._ordinary.close()
        await self._slow.close()

    @property
    def pids(self) -> list[int]:
        """Process ids of the decoder processes that run."""
        return [pid for lane in (self._ordinary, self._slow) if (pid := lane.process.pid) is not None]

    def is_slow(self, encoded: bytes, field: str) -> bool:
        """Whether a picture would be decoded among those that take long, one at a time.

        Raises:
            InvalidPicture: as `decode`, as far as the header tells.
        """
        return not is_quick(encoded) and _seconds(encoded, check_header(encoded, self._limits, field)) > SOON_S

    async def decode(self, encoded: bytes, field: str, *, sha256: bytes | None = None) -> Picture:
        """Decode one picture; cancelling ends it.

        Args:
            encoded: the file's bytes.
            field: path of the field in the request, for the error.
            sha256: of the bytes, where it is known already.

        Raises:
            InvalidPicture: not a picture, damaged, over a limit, or made to be long to decode.
            BudgetExceeded: the deadline of the work passed.
            Overloaded: there is no memory for it now.
        """
        if is_quick(encoded):
            return decode_picture(encoded, self._limits, field, sha256=sha256)
        header = check_header(encoded, self._limits, field)
        size = header.memory(len(encoded))
        if size > self._memory.largest:
            raise InvalidPicture(
                field, f"decoding takes {size >> 20} MiB, more than this server has for pictures; resize it"
            )
        try:
            pixels = await self._pixels(encoded, header, size)
        except BadPicture as refusal:
            raise InvalidPicture(field, str(refusal)) from refusal
        except (OutOfMemory, Lost, OSError) as error:
            logger.warning("a picture could not be decoded: %r", error)
            raise Overloaded("there is no memory to decode the picture now; try again later", _RETRY_S) from None
        return Picture(sha256 or await digest(encoded), pixels)

    async def _pixels(self, encoded: bytes, header: Header, size: int) -> RGB:
        seconds = _seconds(encoded, header)
        lane = self._ordinary if seconds <= SOON_S else self._slow
        due = deadline()
        patience = LONGEST_S if due is None else min(LONGEST_S, due - time.monotonic())
        if due is not None and lane.full:
            await asyncio.sleep(min(_REFUSAL_S, patience))
            raise Overloaded("too many large pictures wait to be decoded; try again later", _RETRY_S)
        try:
            async with asyncio.timeout(patience):
                return await lane.decode(encoded, size, seconds)
        except TimeoutError:
            if due is None or patience >= LONGEST_S:
                raise Overloaded("too many large pictures wait to be decoded; try again later", _RETRY_S) from None
            raise BudgetExceeded("the time ran out before the picture was decoded") from None


def _seconds(encoded: bytes, header: Header) -> float:
    return header.seconds(len(encoded), encoded.count(_SCAN) if header.format == "JPEG" else 1)


class _ProcessLane:
    """One process and who waits for it, shortest work first."""

    def __init__(self, memory: WorkMemory, niceness: int) -> None:
        self.process = DecoderProcess(niceness)
        self._memory = memory
        self._order = count()
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        self._busy = False
        self._closed = False
        self._jobs: set[asyncio.Task[RGB]] = set()

    @property
    def full(self) -> bool:
        """Whether so many wait that one more had better come again."""
        return len(self._waiting) >= _MOST_WAITING

    async def decode(self, encoded: bytes, size: int, seconds: float) -> RGB:
        """Decode in `size` bytes of memory what should take so many seconds.

        Raises:
            BadPicture, OutOfMemory, Lost, OSError: as the process does.
            Overloaded: there is no memory for it.
        """
        entered = asyncio.Event()
        job = asyncio.create_task(self._job(encoded, size, seconds, entered), name="decode a picture")
        self._jobs.add(job)
        job.add_done_callback(self._ended)
        try:
            return await asyncio.shield(job)
        except asyncio.CancelledError:
            # Often it is nearly done, and ending it means to start another process.
            asyncio.get_running_loop().call_later(_PATIENCE_S if entered.is_set() else 0, job.cancel)
            raise

    async def close(self) -> None:
        """End what is decoded, and the process."""
        self._closed = True
        for job in list(self._jobs):
            job.cancel()
            with suppress(BaseException):
                await job
        self.process.end()

    async def _job(self, encoded: bytes, size: int, seconds: float, entered: asyncio.Event) -> RGB:
        await self._enter(seconds)
        try:
            if self._closed:
                raise Lost("the decoder is closed")
            reservation = await self._memory.reserve(size)
            entered.set()
            try:
                pixels = await self.process.decode(encoded, size)
            except BaseException:
                reservation.release()
                raise
            reservation.shrink(3 * pixels.width * pixels.height)
            weakref.finalize(pixels.mapped, reservation.release).atexit = False
            return _array(pixels)
        finally:
            self._leave()
            self._start_anew()

    async def _enter(self, seconds: float) -> None:
        if not self._busy:
            self._busy = True
            return
        turn = asyncio.get_running_loop().create_future()
        place = (seconds, next(self._order), turn)
        heapq.heappush(self._waiting, place)
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled():
                self._leave()  # it came in the same moment: pass it on
            else:
                with suppress(ValueError):  # already taken out as done
                    self._waiting.remove(place)
                    heapq.heapify(self._waiting)
            raise

    def _leave(self) -> None:
        while self._waiting:
            turn = heapq.heappop(self._waiting)[2]
            if not turn.done():
                turn.set_result(None)  # the process changes hands: it stays busy
                return
        self._busy = False

    def _start_anew(self) -> None:
        """Start the next process at once where one was ended."""
        if not self._closed and self.process.pid is None:
            try:
                self.process.start()
            except OSError as error:
                logger.warning("a decoder process cannot be started: %s; the next picture tries again", error)

    def _ended(self, job: asyncio.Task[RGB]) -> None:
        self._jobs.discard(job)
        if not job.cancelled():
            job.exception()  # whoever left does not ask


def _array(pixels: Pixels) -> RGB:
    flat = np.frombuffer(pixels.mapped, dtype=np.uint8)
    return flat.reshape(pixels.height, pixels.width, 3)


async def digest(encoded: bytes) -> bytes:
    """SHA-256; of much on a worker thread, which hashes without Python's lock."""
    if len(encoded) <= _HASHED_HERE:
        return hashlib.sha256(encoded).digest()
    return await asyncio.to_thread(lambda: hashlib.sha256(encoded).digest())
