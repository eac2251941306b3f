"""Receives messages within a time, and bounds the bytes of those that are not whole yet.

gRPC compares a message with its limits once all of it is there, so that until then a client may make the server hold
as much as it likes. How much that is, the system knows: it counts what each connection has received. Large messages
take turns (`receive_slots`); a connection on which little comes in needs none, since a small message is there already.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from time import perf_counter

from quizglass_server.errors import Overloaded, Unfinished
from quizglass_server.rpc.transport.receive_slots import ReceiveSlot, ReceiveSlots
from quizglass_server.rpc.transport.sockets import Sockets
from quizglass_server.scheduling.clients import Client, current_client
from quizglass_server.scheduling.memory import trim_soon

_LOOK_S = 0.05
"""Between two looks at what comes in: what a fast client sends meanwhile may be beyond the bound."""
_HURRIED_LOOK_S = 0.01
"""The same while messages wait for their turn, of which most are small."""
UNASKED_BYTES = 256 * 1024
"""What a client may send of a message before it is asked for. An ordinary picture fits, which then never waits."""
_SMALL_BYTES = UNASKED_BYTES - 4096
"""A message that is not asked for is small where less has come in."""
_STALLED_S = 1.0
"""A large message of which little has come for so long has stopped, as far as others are concerned."""
_LOOK_SHARE = 0.05
"""Share of the time, at most, that is spent on looking."""
_COPIES = 4
"""Of a message while gRPC hands it over: its own blocks, a buffer that grows, the bytes, what the allocator keeps."""
_TRIM_BYTES, _TRIM_S = 64 << 20, 0.25
"""After so many bytes, free memory is given back: gRPC receives in small blocks, which the allocator would keep."""
_UNSEEN_AT_ONCE = 2
"""Messages of an address, at most, that are asked for beside large ones before anything shows that they are small. A
new connection does not announce its messages."""
_MANY = 4096
_PATIENT_AT_ONCE = 64
"""Idle connections at which one look looks."""
_RETRY_S = 1.0
_LONGEST_HOLD_S = 8.0
_REFUSED_BYTES_S = 64 << 20
"""The slot of a large message that was refused is kept for the time that its bytes take at this rate. Handing one over
takes 1.4 ms of the event loop for each of its MiB: over two slots, clients that send them over and over get a fifth of
the loop."""


@dataclass(eq=False, slots=True)
class _Connection:
    before: int = 0
    """Bytes received when nothing was expected."""
    whole: int = 0
    """Bytes of messages that have become whole since."""
    latest: int = 0
    """Bytes received at the latest look."""
    moved: float = 0.0
    """When much was last seen to have come, by `perf_counter`."""
    hold_s: float = 0.0
    """How long it waited for its turn because its latest message was too large; 0: that was not."""
    expected: set[_Expected] = field(default_factory=set)
    address: str = ""
    """That of the client which used it last: of several, behind a proxy, for one."""


@dataclass(eq=False, slots=True)
class _Expected:
    timeout: asyncio.Timeout
    slot: ReceiveSlot
    patient: bool
    too_much: bool = False
    looks: int = 0
    """How often its connection was looked at."""
    asked_at: float = 0.0
    """When it was first seen to be asked for, by `perf_counter`; 0: it was not."""

    @property
    def unseen(self) -> bool:
        """Whether it is asked for and taken for small, though nothing shows it: its first bytes may be yet to come."""
        return self.slot.begun.done() and not self.slot.counts and not self.patient

    def look(self, now: float) -> None:
        """Note that its connection is looked at."""
        self.looks += 1
        if not self.asked_at and self.slot.begun.done():
            self.asked_at = now

    def may_pass(self, now: float) -> bool:
        """Whether it passes beside any number of others: it is patient, passed before, or has been silent for long."""
        return self.patient or self.unseen or 0 < self.asked_at < now - _STALLED_S


class Incoming:
    """What comes in, over all connections.

    Args:
        most_bytes: of messages that are not whole. Beyond, those of the address that has most of them are ended, there
            of the connection that has most.
        largest_bytes: of a message.
        limit_s: seconds that a message may take, waiting for its first byte included.
        sockets: where bytes are counted.
    """

    def __init__(self, most_bytes: int, largest_bytes: int, limit_s: float, sockets: Sockets) -> None:
        self._most_bytes = most_bytes
        self._slots = ReceiveSlots(max(1, most_bytes // largest_bytes // _COPIES))
        self._limit_s = limit_s
        self._sockets = sockets
        self._connections: dict[str, _Connection] = {}
        self._watching: asyncio.Task[None] | None = None
        self._turn = 0
        self._untrimmed = 0
        self._trimmed = 0.0

    async def message(self, peer: str, read: Callable[[], Awaitable[object]], *, patient: bool = False) -> object:
        """The next message of a call, asked for by `read` when its turn has come, or what stands for its end.

        One that is waited for with patience has all the time of the world, and is bounded in bytes like any other.

        Raises:
            Unfinished: it did not come, or not whole, in time.
            Overloaded: too much was coming in, and most of it on this connection.
        """
        connection = self._connection(peer)
        timeout = asyncio.timeout(None if patient else self._limit_s)
        expected = _Expected(timeout, self._slots.take(peer), patient)
        connection.expected.add(expected)
        connection.address = current_client().address
        self._watch()
        try:
            async with timeout:
                await expected.slot.begun
                message = await _to_its_end(read)
        except TimeoutError:
            if not timeout.expired():
                raise
            raise self._too_much() if expected.too_much else Unfinished(self._limit_s) from None
        finally:
            connection.expected.discard(expected)
            self._slots.uncount(expected.slot)
        if isinstance(message, bytes):
            connection.whole += len(message)
        return message

    def judge(self, peer: str, *, too_large: bool) -> None:
        """What became of a connection's latest message. After one that was too large the next has to wait for a second,
        unless it is small, and twice as long each time: it may be the same one again.
        """
        connection = self._connections.get(peer)
        if connection is not None:
            connection.hold_s = min(_LONGEST_HOLD_S, 2 * connection.hold_s or _RETRY_S) if too_large else 0.0
            if too_large:
                self._slots.hold(peer, connection.hold_s)

    def refused(self, peer: str, size: int) -> None:
        """A message of so many bytes was received for nothing."""
        if size > UNASKED_BYTES:
            self._slots.rest(Client(current_client().address, peer), size / _REFUSED_BYTES_S)

    def _connection(self, peer: str) -> _Connection:
        """Of a peer. One that is new has received nothing before; of one that was idle the count begins anew."""
        connection = self._connections.get(peer)
        if connection is None:
            if len(self._connections) >= _MANY:
                self._forget_idle()
            connection = self._connections[peer] = _Connection()
        elif not connection.expected:
            connection.before = connection.latest = self._sockets.received([peer]).get(peer, 0)
            connection.whole = 0
        return connection

    def _forget_idle(self) -> None:
        self._connections = {peer: each for peer, each in self._connections.items() if each.expected}

    def _watch(self) -> None:
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._look_again(), name="watch over unfinished messages")

    async def _look_again(self) -> None:
        pause = _LOOK_S
        while True:
            await asyncio.sleep(pause)
            busy = {peer: each for peer, each in self._connections.items() if each.expected}
            if not busy:
                self._give_back(0, last=True)
                return
            started = perf_counter()
            received = {peer: each.latest for peer, each in busy.items()} | self._sockets.received(self._due(busy))
            self._give_back(sum(max(0, received.get(peer, 0) - each.latest) for peer, each in busy.items()))
            unfinished = {peer: max(0, received.get(peer, 0) - each.before - each.whole) for peer, each in busy.items()}
            self._let_small_pass(busy, received, unfinished)
            self._bound(busy, unfinished)
            least = _HURRIED_LOOK_S if self._slots.waiting else _LOOK_S
            pause = max(least, (perf_counter() - started) / _LOOK_SHARE)

    def _due(self, busy: dict[str, _Connection]) -> list[str]:
        """Whose bytes are counted now: of connections that may say nothing for hours, a few in their turn."""
        patient = [peer for peer, each in busy.items() if all(expected.patient for expected in each.expected)]
        begin = self._turn % max(1, len(patient))
        self._turn = begin + _PATIENT_AT_ONCE
        in_turn = (patient[begin:] + patient[:begin])[:_PATIENT_AT_ONCE]
        return [*(busy.keys() - set(patient)), *in_turn]

    def _give_back(self, more: int, *, last: bool = False) -> None:
        self._untrimmed += more
        if self._untrimmed >= _TRIM_BYTES and (last or perf_counter() - self._trimmed >= _TRIM_S):
            self._untrimmed, self._trimmed = 0, perf_counter()
            trim_soon()

    def _let_small_pass(
        self, busy: dict[str, _Connection], received: dict[str, int], unfinished: dict[str, int]
    ) -> None:
        """Uncount the slots by which no large message comes in: none can, or none does any more."""
        now = perf_counter()
        unseen = Counter(each.address for each in busy.values() for expected in each.expected if expected.unseen)
        for peer, connection in busy.items():
            more, connection.latest = received.get(peer, 0) - connection.latest, received.get(peer, 0)
            if more >= _SMALL_BYTES:
                connection.moved = now
            # Little of a large message may come between two looks, on a busy machine.
            large = unfinished[peer] >= _SMALL_BYTES and now - connection.moved < _STALLED_S
            begun = [each.slot for each in connection.expected if each.slot.begun.done()]
            if large and begun and not any(slot.counts for slot in begun):
                self._slots.count(begun[0])  # it was slow to begin, and taken for small
            for expected in connection.expected:
                expected.look(now)
                few_come = unfinished[peer] < _SMALL_BYTES
                small = not large and more < _SMALL_BYTES if expected.slot in begun else few_come
                if expected.looks < 2 or not small:
                    continue
                if not expected.may_pass(now):
                    if unseen[connection.address] >= _UNSEEN_AT_ONCE:
                        continue
                    unseen[connection.address] += 1
                self._slots.uncount(expected.slot)

    def _bound(self, busy: dict[str, _Connection], unfinished: dict[str, int]) -> None:
        """End the messages of the addresses and connections that hold most bytes of unfinished messages, beyond the
        limit.
        """
        total = sum(unfinished.values())
        if total <= self._most_bytes:
            return
        of_address: Counter[str] = Counter()
        for peer, size in unfinished.items():
            of_address[busy[peer].address] += size
        while total > self._most_bytes and unfinished:
            peer = max(unfinished, key=lambda peer: (of_address[busy[peer].address], unfinished[peer]))
            size = unfinished.pop(peer)
            total -= size
            of_address[busy[peer].address] -= size
            for expected in busy[peer].expected:
                expected.too_much = True
                _end(expected)

    def _too_much(self) -> Overloaded:
        most = self._most_bytes >> 20
        return Overloaded(f"more than {most} MiB of unfinished messages are coming in; try again later", _RETRY_S)


def _end(expected: _Expected) -> None:
    if not expected.timeout.expired():
        expected.timeout.reschedule(asyncio.get_running_loop().time())


async def _to_its_end(read: Callable[[], Awaitable[object]]) -> object:
    """What is read, even after its caller has gone: then until the call has ended. gRPC never frees a message
    that becomes whole after its reading was cancelled.
    """
    reading = asyncio.ensure_future(read())
    reading.add_done_callback(_noted)
    return await asyncio.shield(reading)


def _noted(reading: asyncio.Future[object]) -> None:
    """Its error goes to the waiting caller, if there is one."""
    if not reading.cancelled():
        reading.exception()
