"""In which order callers reach llama-server, and which of its slots each gets.

llama-server itself takes requests in the order in which they come. Here a turn waits for a slot behind those that are
ahead or due earlier, and work for a guess until no turn is being served, unless it goes ahead of those; what could not
be answered in time is refused before it is sent. A request gets the slot that holds the beginning of its prompt, also
one where a guess has it read right now, and else the one that was used least recently, so that what is kept of other
pictures stays. A slot's contents are never used for another tenant.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from math import inf
from operator import itemgetter
from time import monotonic

from quizglass_server.engines.generator.prompt import Part, PicturePart, TextPart, Urgency
from quizglass_server.errors import BudgetExceeded, Overloaded
from quizglass_server.scheduling.clients import current_client

_LEAST_RETRY_S = 0.05
_RECENT = 0.2
"""Weight of the newest request in the usual time."""
_PICTURE = 1 << 16
"""What sharing a picture counts, in characters: encoding it anew costs more than any text."""


@dataclass(slots=True)
class Slot:
    """A sequence of the server."""

    number: int
    holds: list[Part] = field(default_factory=list)
    """The prompt that was read into it last."""
    used: int = 0
    """Ascending with every use."""
    tenant: str = ""
    """Whose prompt that is."""
    fresh: bool = False
    """Whether it may hold what is another tenant's, until the first request of this one has begun there."""
    turn: bool = False
    busy: bool = False

    def shared(self, prompt: Sequence[Part], tenant: str = "") -> int:
        """How much of the prompt's beginning it holds for a tenant, in characters; a picture counts many."""
        if tenant != self.tenant:
            return 0
        length = 0
        for mine, theirs in zip(self.holds, prompt, strict=False):
            if isinstance(mine, PicturePart) or isinstance(theirs, PicturePart):
                if not (isinstance(mine, PicturePart) and isinstance(theirs, PicturePart)):
                    break
                if mine.sha256 != theirs.sha256:
                    break
                length += _PICTURE
            elif mine == theirs:
                length += len(mine.text)
            else:
                pairs = zip(mine.text, theirs.text, strict=False)
                shorter = min(len(mine.text), len(theirs.text))
                return length + next((at for at, pair in enumerate(pairs) if pair[0] != pair[1]), shorter)
        return length


_Order = tuple[bool, bool, bool, float, int]
"""A guess, not ahead, a guess that goes ahead, deadline, number: the least goes first."""


@dataclass(slots=True)
class _Waiting:
    prompt: Sequence[Part]
    tenant: str
    background: bool
    ahead: bool
    slot: asyncio.Future[Slot]


class ServerPlaces:
    """Slots of one server.

    Args:
        slots: requests that it works on together.
        queue: most that wait beyond that.
        whole: requests for which the server's memory is large enough whatever their length.
    """

    def __init__(self, slots: int, queue: int, whole: int = 1) -> None:
        self.slots = tuple(Slot(number) for number in range(slots))
        self._queue = queue
        self._whole = max(1, whole)
        self._most = slots
        self._waiting: list[tuple[_Order, _Waiting]] = []
        self._numbers = count(1)
        self._usual_s = 0.0

    @property
    def taken(self) -> int:
        """Slots that are in use."""
        return sum(slot.busy for slot in self.slots)

    @asynccontextmanager
    async def taken_by(self, prompt: Sequence[Part], urgency: Urgency) -> AsyncIterator[Slot]:
        """A slot for the body.

        Raises:
            Overloaded: too many wait, or those that are ahead leave no time.
            BudgetExceeded: the time is over.
        """
        slot = await self._take(prompt, urgency)
        began = monotonic()
        try:
            yield slot
        finally:
            self._usual_s += _RECENT * (monotonic() - began - self._usual_s)
            self._give_back(slot)

    def narrow(self) -> bool:
        """Limit concurrent requests to those that fit the memory at any length; whether that lowers the limit."""
        fewer = self._whole < self._most
        self._most = min(self._most, self._whole)
        return fewer

    def forget(self) -> tuple[Slot, ...]:
        """Nothing of the current client's tenant is held any more; gives the slots that held something."""
        held = tuple(slot for slot in self.slots if slot.tenant == current_client().tenant)
        for slot in held:
            slot.holds = []
        return held

    def written(self, hashes: Mapping[int, str]) -> str:
        """What some slots hold, for `read_slots`.

        Args:
            hashes: of their files, by the slots' numbers.
        """
        return json.dumps(
            [(number, sha256, *map(_written, self.slots[number].holds)) for number, sha256 in hashes.items()]
        )

    async def _take(self, prompt: Sequence[Part], urgency: Urgency) -> Slot:
        deadline = inf if urgency.deadline is None else urgency.deadline
        if deadline <= monotonic():
            raise BudgetExceeded("the time ran out before the generator was asked")
        ahead = sum(not each.slot.done() for _, each in self._waiting)
        slot: asyncio.Future[Slot] = asyncio.get_running_loop().create_future()
        waiting = _Waiting(prompt, current_client().tenant, urgency.background, urgency.ahead, slot)
        guess = urgency.background and not urgency.ahead
        order = (guess, not urgency.ahead, urgency.background, deadline, next(self._numbers))
        self._waiting.append((order, waiting))
        self._hand_on()
        if not waiting.slot.done() and ahead >= self._queue:
            waiting.slot.cancel()
            raise Overloaded(f"the generator is busy: {self._queue} requests wait already", self._retry_after(ahead))
        try:
            async with asyncio.timeout(None if deadline == inf else max(0.0, deadline - monotonic())):
                return await waiting.slot
        except BaseException as error:
            if waiting.slot.done() and not waiting.slot.cancelled():
                self._give_back(waiting.slot.result())
            waiting.slot.cancel()
            if isinstance(error, TimeoutError):
                message = "the generator is busy: others left no time before the deadline"
                raise Overloaded(message, self._retry_after(ahead)) from None
            raise

    def _give_back(self, slot: Slot) -> None:
        slot.busy = slot.turn = False
        self._hand_on()

    def _hand_on(self) -> None:
        """Give free slots to those that wait, in their order."""
        left: list[tuple[_Order, _Waiting]] = []
        for order, waiting in sorted(self._waiting, key=itemgetter(0)):
            if waiting.slot.done():
                continue
            free = [slot for slot in self.slots if not slot.busy] if self.taken < self._most else []
            behind = waiting.background and not waiting.ahead
            vain = not free or (behind and any(slot.turn for slot in self.slots))
            if vain or self._is_being_read(waiting, free):
                left.append((order, waiting))
            else:
                self._hand(waiting, free)
        self._waiting = left

    def _is_being_read(self, waiting: _Waiting, free: Sequence[Slot]) -> bool:
        """Whether a guess has the picture of a turn's prompt read at this moment, in a slot that is free soon."""
        if waiting.background:
            return False
        wanted = waiting.prompt, waiting.tenant
        begun = [slot.shared(*wanted) for slot in self.slots if slot.busy and not slot.turn]
        most = max(begun, default=0)
        return most >= _PICTURE and most > max(slot.shared(*wanted) for slot in free)

    def _hand(self, waiting: _Waiting, free: Sequence[Slot]) -> None:
        prompt, tenant = waiting.prompt, waiting.tenant
        slot = max(free, key=lambda each: (each.shared(prompt, tenant), -each.used))
        shared = slot.shared(prompt, tenant)
        # Little is won by a few words that all prompts begin with, and what the slot holds behind them would be lost.
        if 2 * shared < _length(prompt) and shared < _length(slot.holds):
            slot = min(free, key=lambda each: each.used)
        slot.busy, slot.turn = True, not waiting.background
        if slot.tenant != tenant:
            slot.fresh, slot.tenant = True, tenant
        slot.holds, slot.used = [_named(part) for part in prompt], next(self._numbers)
        waiting.slot.set_result(slot)

    def _retry_after(self, waiting: int) -> float:
        """Seconds until half of those that wait will have had a slot."""
        return max(_LEAST_RETRY_S, self._usual_s * (waiting + self.taken) / (2 * len(self.slots)))


def read_slots(text: str) -> dict[int, tuple[list[Part], str]]:
    """What slots held, and the hashes of their files, as `ServerPlaces.written` wrote it. Raises ValueError."""
    try:
        return {
            int(number): ([_read(*part) for part in held], str(sha256)) for number, sha256, *held in json.loads(text)
        }
    except (AttributeError, TypeError) as error:
        raise ValueError("no list of slots") from error


def _length(parts: Sequence[Part]) -> int:
    """In characters; a picture counts many."""
    return sum(len(part.text) if isinstance(part, TextPart) else _PICTURE for part in parts)


def _named(part: Part) -> Part:
    """A part without its pixels."""
    return part if isinstance(part, TextPart) else replace(part, rgb=b"")


def _written(part: Part) -> tuple[str, bool] | tuple[str, int, int]:
    if isinstance(part, TextPart):
        return part.text, part.trusted
    return part.sha256.hex(), part.width, part.height


def _read(text: str, first: int, *second: int) -> Part:
    return PicturePart(bytes.fromhex(text), first, second[0], b"") if second else TextPart(text, bool(first))
