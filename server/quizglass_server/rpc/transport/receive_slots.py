"""Decides which client's message is received next while there is not memory for all large ones.

gRPC lets a client send more than a small message only once the server has asked for it. So a message that is not asked
for takes no memory to speak of, and its client waits. Slots go to the address that has fewest, there to the connection.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from quizglass_server.scheduling.clients import Client, Holdings, current_client


@dataclass(eq=False, slots=True)
class ReceiveSlot:
    """The place of one message in the queue, from before it is asked for until it is whole or given up."""

    client: Client
    counts: bool = False
    """Whether a large message may be coming in by it at the moment."""
    begun: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """Done as soon as the message may be asked for."""


class ReceiveSlots:
    """Bounds the messages that are asked for at once.

    Args:
        at_once: how many may be large.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._counting = Holdings()
        self._waiting: dict[Client, deque[ReceiveSlot]] = {}
        self._held: dict[str, asyncio.TimerHandle] = {}

    @property
    def waiting(self) -> bool:
        """Whether a message waits to be asked for."""
        return bool(self._waiting)

    def take(self, peer: str) -> ReceiveSlot:
        """A slot, over a connection of the current client, that begins at once or waits for another one's end; whoever
        takes it uncounts it in the end.
        """
        slot = ReceiveSlot(Client(current_client().address, peer))
        self._waiting.setdefault(slot.client, deque()).append(slot)
        self._serve()
        return slot

    def hold(self, peer: str, seconds: float) -> None:
        """Ask for no message of a connection for a while; small ones may still be begun by `uncount`."""
        if peer in self._held:
            self._held[peer].cancel()
        self._held[peer] = asyncio.get_running_loop().call_later(seconds, self._let_go, peer)

    def _let_go(self, peer: str) -> None:
        del self._held[peer]
        self._serve()

    def count(self, slot: ReceiveSlot) -> None:
        """A large message is coming in by a slot that has begun, though it was uncounted: others wait for its end."""
        if not slot.counts:
            slot.counts = True
            self._counting.add(slot.client)

    def rest(self, client: Client, seconds: float) -> None:
        """Keep a slot of a client for a while, though no message comes in by it."""
        self._counting.add(client)
        asyncio.get_running_loop().call_later(seconds, self._rested, client)

    def _rested(self, client: Client) -> None:
        self._counting.remove(client)
        self._serve()

    def uncount(self, slot: ReceiveSlot) -> None:
        """No large message is coming in by a slot, though it may not have ended: begin it, and let others begin."""
        if slot.counts:
            slot.counts = False
            self._counting.remove(slot.client)
        queue = self._waiting.get(slot.client, deque())
        if slot in queue:
            queue.remove(slot)
            if not queue:
                del self._waiting[slot.client]
        if not slot.begun.done():
            slot.begun.set_result(None)
        self._serve()

    def _serve(self) -> None:
        while self._counting.total < self._at_once:
            free = (client for client in self._waiting if client.connection not in self._held)
            client = min(free, key=self._counting.of, default=None)
            if client is None:
                return
            queue = self._waiting.pop(client)
            slot = queue.popleft()
            if queue:
                self._waiting[client] = queue  # behind the others
            if not slot.begun.done():
                slot.begun.set_result(None)
                slot.counts = True
                self._counting.add(client)
