"""Which requests take part in the next step.

Prompts are read first come, first served (turns before background work, those of an address that has fewer turns than
another before others, then by deadline, then by arrival), one after the other in pieces: so the first answers begin
early instead of all late. Reading goes before writing, but no answer waits for it longer than `READING_US`. Answers are
written together, as many at once as gives the most tokens a second on this machine (`costs`).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from quizglass_server.engines.llama.costs.cost_model import (
    BACKGROUND_ALONE_US,
    BACKGROUND_US,
    READING_US,
    Costs,
    CostTracker,
)
from quizglass_server.engines.llama.engine.requests import Request
from quizglass_server.engines.llama.prefixes.cache import Prefixes

WORTH_WAITING = 16
"""Cells of a shared beginning for which a request lets another one go first."""


@dataclass(slots=True)
class Plan:
    """What the engine runs in its next step."""

    streams: list[Request] = field(default_factory=list)
    """Answers that get their next token."""
    padding: int = 0
    """Rows of no request that only make the batch a faster size."""
    pieces: list[tuple[Request, int]] = field(default_factory=list)
    """Prompts that are read on, and by how many tokens."""
    picture: tuple[Request, int] | None = None
    """A picture that is read on, and by how many rows; goes by itself, since llama.cpp mixes it with no tokens."""
    followers: list[Request] = field(default_factory=list)
    """Requests whose beginning is read by another request that has the same."""
    complete: list[Request] = field(default_factory=list)
    """Prompts that turned out to be in memory as a whole, and of which nothing else is wanted."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to compute."""
        return not (self.streams or self.pieces or self.picture)

    @property
    def participants(self) -> list[Request]:
        """Requests that the step is run for."""
        return [*self.streams, *self.reading, *self.followers]

    @property
    def reading(self) -> list[Request]:
        """Requests whose prompt is read on."""
        if not self.pieces and self.picture is None:
            return []
        return [request for request, _ in (*self.pieces, *([self.picture] if self.picture else []))]

    @property
    def tokens(self) -> int:
        """Tokens of prompts, or rows of a picture, that are read."""
        return self.picture[1] if self.picture else sum(size for _, size in self.pieces)

    @property
    def seen(self) -> float:
        """Cells that a token of the pieces sees in its own sequence, on average."""
        cells = sum(size * (request.units.cells(request.done) + size / 2) for request, size in self.pieces)
        return cells / max(1, sum(size for _, size in self.pieces))


class Scheduler:
    """Orders the requests of an engine, and plans its steps."""

    def __init__(self, prefixes: Prefixes, tracker: CostTracker, batch: int, ready: Callable[[Request], bool]) -> None:
        """Make a scheduler.

        Args:
            prefixes: gives sequences and cells.
            tracker: of the costs of steps.
            batch: most requests under way at once.
            ready: whether a request's picture is encoded, if it needs it; asks for it otherwise.
        """
        self.tracker = tracker
        self.queue: list[Request] = []
        """Requests whose prompt is being read, or not begun."""
        self.streams: list[Request] = []
        """Requests whose answer is being written."""
        self.suspects: list[Request] = []
        """Requests that run alone, one by one, after a failure, until it is known which of them caused it."""
        self._prefixes = prefixes
        self._batch = batch
        self._ready = ready
        self._read_us = 0.0
        """Cost of what has been read since the answers got their last token."""

    @property
    def costs(self) -> Costs:
        """Costs of steps, as they are known now."""
        return self.tracker.costs

    @property
    def requests(self) -> list[Request]:
        """All requests."""
        return self.streams + self.queue

    def add(self, request: Request) -> None:
        """Enqueue a request."""
        insort(self.queue, request, key=_order)

    def remove(self, request: Request) -> None:
        """Remove a request that has ended."""
        for requests in (self.queue, self.streams, self.suspects):
            if request in requests:
                requests.remove(request)

    def sort_in(self, request: Request) -> None:
        """Put a request where it belongs, as it may have gone from reading to writing."""
        if request in self.queue and request.writing:
            self.queue.remove(request)
            insort(self.streams, request, key=_order)

    def start_over(self, suspects: Iterable[Request]) -> None:
        """Have every request read its prompt, and what it has written, again: nothing is in memory any more."""
        for request in self.requests:
            request.lease = None
            request.picture_rows = 0
        self.queue = sorted(self.requests, key=_order)
        self.streams = []
        self.suspects = list(suspects)

    def plan(self) -> Plan:
        """The next step; binds requests to sequences as their turn comes."""
        plan = Plan()
        if self.suspects or not self.streams:
            self._read_us = 0.0
        for suspect in self.suspects:
            if suspect.writing:
                plan.streams = [suspect]
            else:
                self._read([suspect], plan)
            if not plan.empty or plan.complete:
                return plan
        if self.queue:
            self._read(self.queue, plan)
        if size := plan.tokens:
            if plan.pieces:
                plan.padding = self.costs.filling(size, plan.seen)
            self._read_us += self.costs.piece_cost(size + plan.padding)
        else:
            self._read_us = 0.0
            count, plan.padding = self.costs.batch(len(self.streams))
            plan.streams = self.streams[:count]
        return plan

    def _read(self, queue: list[Request], plan: Plan) -> None:
        """Fill a step with pieces of prompts, first come, first served."""
        room = self._room(queue)
        blocked = False
        for request in tuple(queue):
            if room <= 0:
                return
            leader = request if request.awaits_picture else self._leader(request)
            if leader.awaits_picture or leader in plan.reading or leader in plan.complete:
                if leader is not request and leader in plan.reading:
                    plan.followers.append(request)
                continue
            if (blocked and leader.lease is None) or not self._ready(leader):
                continue
            if not self._bound(leader, plan.reading):
                # Nobody overtakes it, but who holds cells already must go on, to give them back.
                blocked = True
                continue
            if not self._ready(leader):  # what it was to begin with has made way
                continue
            if leader.todo == 0:
                plan.complete.append(leader)
            elif leader.at_picture:
                if plan.pieces:
                    return
                plan.picture = (leader, room)
            elif count := leader.next_tokens(room):
                plan.pieces.append((leader, count))
                room -= count
                if count == leader.todo:
                    # Its first token waits for the whole step: others are read in it only where few tokens cost as
                    # much as more.
                    room = min(room, self.costs.enough - plan.tokens)
            if leader is not request and leader in plan.reading:
                plan.followers.append(request)
            if plan.picture:
                return

    def _room(self, queue: list[Request]) -> int:
        """How many tokens of prompts the next step may have."""
        first = next((request for request in queue if not request.awaits_picture), None)
        background = first is not None and first.urgency.background
        if not self.streams:
            # A turn may come at any time, and should not wait for what nobody has asked for yet.
            return self.costs.within(BACKGROUND_ALONE_US) if background else self.costs.alone
        # By turns, not in one batch: attention works on many rows at a time, and a row of an answer among them makes it
        # look at all that the answer has in memory for each of them.
        limit = BACKGROUND_US if background else READING_US
        return self.costs.fitting(limit - self._read_us) if self._read_us else self.costs.within(limit)

    def _leader(self, request: Request) -> Request:
        """The request that reads a shared beginning on behalf of this one: another one that is ahead of it in that."""
        known = request.done
        for other in self.queue:
            if other is request or other.lease is None:
                continue
            common = other.units.common(other.length, request.units, request.length)
            if common <= other.done:
                continue
            if request.lease is None:
                known = self._prefixes.known(request.units, request.length)
            gain = request.units.cells(common) - request.units.cells(max(known, other.done))
            ahead = (other.done, other.picture_rows), (known, request.picture_rows)
            if gain >= WORTH_WAITING and (
                ahead[0] > ahead[1] or (ahead[0] == ahead[1] and other.order < request.order)
            ):
                return other
        return request

    def _bound(self, request: Request, taking_part: list[Request]) -> bool:
        """Whether a request has a sequence, with all that is known of its beginning; gives it one if possible."""
        if request.lease is not None:
            source, common = self._prefixes.longest(request.units, request.shareable)
            if source is not None and common > request.done:
                self._prefixes.adopt(request.lease, source, common)
                request.picture_rows = 0
            return True
        while True:
            under_way = [each for each in self.requests if each.lease is not None]
            if len(under_way) < self._batch:
                request.lease = self._prefixes.bind(request.units, request.shareable, request.reserve)
            if request.lease is not None:
                request.begin(request.lease.length)
                return True
            if not self._preempt([each for each in under_way if each not in taking_part], request):
                return False

    def _preempt(self, under_way: list[Request], request: Request) -> bool:
        """Take the sequence of the least urgent background request, if there is one; what it has read is kept."""
        idle = [
            each
            for each in under_way
            if each.lease and each.urgency.background and not request.urgency.background
            if not each.kind.wants_logits
        ]
        if not idle:
            return False
        last = max(idle, key=_order)
        if last.lease is not None:
            self._prefixes.roll_back(last.lease)
            self._prefixes.keep(last.lease)
        last.lease = None
        last.picture_rows = 0
        return True


def _order(request: Request) -> tuple[float, ...]:
    return request.order
