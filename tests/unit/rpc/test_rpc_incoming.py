"""Which messages are asked for while large ones come in."""

import asyncio

import pytest

from quizglass_server.errors import Overloaded, Unfinished
from quizglass_server.rpc.transport import incoming
from quizglass_server.rpc.transport.incoming import Incoming
from quizglass_server.rpc.transport.receive_slots import ReceiveSlots
from quizglass_server.scheduling.clients import Client, asked_by

MIB = 1 << 20


class Connections:
    """Stands for what the system counts."""

    def __init__(self):
        self.bytes = {}
        self.looks = asyncio.Queue()

    def received(self, peers):
        self.looks.put_nowait(None)
        return {peer: self.bytes.get(peer, 0) for peer in peers}


class Sender:
    """One message, which comes when the test says so."""

    def __init__(self, coming, peer):
        self.asked = asyncio.Event()
        self.sent = asyncio.get_running_loop().create_future()
        self.task = asyncio.create_task(coming.message(peer, self._read))

    async def _read(self):
        self.asked.set()
        return await self.sent


@pytest.fixture
def connections():
    return Connections()


def one_large_at_once(connections, limit_s=60.0):
    return Incoming(256 * MIB, 64 * MIB, limit_s, connections)


async def test_a_large_message_is_asked_for_when_the_one_before_is_whole(connections):
    coming = one_large_at_once(connections)
    first, second = Sender(coming, "a"), Sender(coming, "b")
    connections.bytes["b"] = MIB  # as much as it may send unasked, and a little more
    await asyncio.wait_for(first.asked.wait(), 120)
    for _ in range(4):
        connections.bytes["a"] = connections.bytes.get("a", 0) + MIB
        await connections.looks.get()
    assert not second.asked.is_set()
    first.sent.set_result(b"whole")
    assert await first.task == b"whole"
    await asyncio.wait_for(second.asked.wait(), 120)
    second.task.cancel()


async def test_a_small_message_does_not_wait_for_a_large_one(connections):
    coming = one_large_at_once(connections)
    large, small = Sender(coming, "a"), Sender(coming, "b")
    connections.bytes["b"] = 1000
    sending = asyncio.create_task(busy(connections, "a"))
    await asyncio.wait_for(small.asked.wait(), 120)
    for each in (sending, large.task, small.task):
        each.cancel()


async def test_a_large_message_of_which_little_comes_for_a_moment_is_large_still(connections, monkeypatch):
    monkeypatch.setattr(incoming, "_STALLED_S", 1e9)
    coming = one_large_at_once(connections)
    slow, other = Sender(coming, "a"), Sender(coming, "b")
    connections.bytes = {"a": 30 * MIB, "b": MIB}
    await asyncio.wait_for(slow.asked.wait(), 120)
    for _ in range(6):
        connections.bytes["a"] += 1000
        await connections.looks.get()
    assert not other.asked.is_set()
    slow.sent.set_result(b"whole")
    await asyncio.wait_for(other.asked.wait(), 120)
    other.task.cancel()


async def test_a_large_message_that_is_slow_to_begin_counts_once_it_has(connections, monkeypatch):
    monkeypatch.setattr(incoming, "_STALLED_S", 1e9)
    coming = one_large_at_once(connections)
    slow, second = Sender(coming, "a"), Sender(coming, "b")
    await asyncio.wait_for(second.asked.wait(), 120)  # nothing has come of the first: it was taken for small
    connections.bytes = {"a": MIB, "b": MIB, "c": MIB}
    connections.looks = asyncio.Queue()
    for _ in range(2):
        await connections.looks.get()
    third = Sender(coming, "c")
    for _ in range(6):
        connections.bytes["a"] += 1000
        await connections.looks.get()
    assert not third.asked.is_set()
    for client in (slow, second):
        client.sent.set_result(b"whole")
    await asyncio.wait_for(third.asked.wait(), 120)
    third.task.cancel()


async def test_a_message_that_stops_in_its_middle_lets_others_begin(connections):
    coming = one_large_at_once(connections)
    stopped, other = Sender(coming, "a"), Sender(coming, "b")
    connections.bytes = {"a": 30 * MIB, "b": MIB}
    await asyncio.wait_for(other.asked.wait(), 120)
    for client in (stopped, other):
        client.task.cancel()


async def test_who_waits_for_a_turn_has_a_time_and_leaves_no_place_behind(connections, monkeypatch):
    monkeypatch.setattr(incoming, "_LOOK_S", 60.0)  # slow senders go unnoticed
    coming = one_large_at_once(connections, limit_s=0.2)
    clients = [Sender(coming, peer) for peer in ("a", "b", "c")]
    for client in clients:
        with pytest.raises(Unfinished):
            await client.task
    assert not coming._slots.waiting
    last = Sender(coming, "d")
    last.sent.set_result(b"whole")
    assert await last.task == b"whole"


async def test_after_a_message_that_was_too_large_the_next_of_its_connection_waits_unless_it_is_small(connections):
    coming = Incoming(4096 * MIB, 64 * MIB, 60.0, connections)
    for _ in range(8):
        message = Sender(coming, "a")
        message.sent.set_result(b"too large")
        await message.task
        coming.judge("a", too_large=True)
    following, other = Sender(coming, "a"), Sender(coming, "b")
    connections.bytes["a"] = MIB
    await asyncio.wait_for(other.asked.wait(), 120)
    for _ in range(4):
        await connections.looks.get()
    assert not following.asked.is_set()
    connections.bytes["a"] = 1000
    await asyncio.wait_for(following.asked.wait(), 120)
    for client in (following, other):
        client.task.cancel()


async def test_turns_go_to_the_connection_that_has_fewest():
    turns = ReceiveSlots(2)
    running = [turns.take("greedy"), turns.take("other")]
    waiting = [turns.take("greedy") for _ in range(3)]
    modest = turns.take("modest")
    turns.uncount(running[1])
    assert modest.begun.done()
    assert not any(turn.begun.done() for turn in waiting)
    turns.uncount(modest)
    assert [turn.begun.done() for turn in waiting] == [True, False, False]


async def busy(connections, peer):
    while True:
        connections.bytes[peer] = connections.bytes.get(peer, 0) + MIB
        await asyncio.sleep(0.001)


async def test_turns_go_to_the_address_that_has_fewest_whatever_connections_it_has():
    turns = ReceiveSlots(3)
    with asked_by(Client("greedy")):
        running = [turns.take(f"{number}") for number in range(3)]
        waiting = [turns.take(f"{number}") for number in range(3, 6)]
    with asked_by(Client("modest")):
        modest = turns.take("6")
    turns.uncount(running[0])
    assert modest.begun.done()
    assert not any(slot.begun.done() for slot in waiting)


async def test_messages_are_cut_off_where_an_address_has_most_of_what_is_not_whole(connections):
    coming = Incoming(100 * MIB, 64 * MIB, 60.0, connections)
    with asked_by(Client("greedy")):
        greedy = [Sender(coming, f"{number}") for number in range(3)]
    with asked_by(Client("modest")):
        modest = Sender(coming, "mine")
    connections.bytes = {"0": 25 * MIB, "1": 24 * MIB, "2": 23 * MIB, "mine": 40 * MIB}
    with pytest.raises(Overloaded):
        await greedy[0].task
    await connections.looks.get()
    assert not any(client.task.done() for client in (*greedy[1:], modest))
    for client in (*greedy[1:], modest):
        client.task.cancel()


async def test_few_messages_of_an_address_of_which_nothing_has_come_are_asked_for_at_once(connections, monkeypatch):
    monkeypatch.setattr(incoming, "_STALLED_S", 1e9)
    coming = one_large_at_once(connections)
    with asked_by(Client("10.0.0.1", "")):
        silent = [Sender(coming, f"a{number}") for number in range(12)]
    with asked_by(Client("10.0.0.2", "")):
        other = Sender(coming, "b")
    await asyncio.wait_for(other.asked.wait(), 120)
    for _ in range(12):
        await connections.looks.get()
    assert sum(each.asked.is_set() for each in silent) == 3  # one that may be large, and two
    for each in silent:
        each.sent.set_result(b"small after all")
        await each.task
    other.task.cancel()


async def test_after_a_refused_large_message_the_next_one_waits(connections):
    coming = one_large_at_once(connections)
    coming.refused("a", 1 << 40)
    large = Sender(coming, "b")
    connections.bytes["b"] = MIB
    for _ in range(4):
        connections.bytes["b"] += MIB
        await connections.looks.get()
    assert not large.asked.is_set()
    large.task.cancel()


async def test_a_slot_that_rests_is_there_again():
    slots = ReceiveSlots(1)
    slots.rest(Client("a"), 0.01)
    slot = slots.take("b")
    assert not slot.begun.done()
    await asyncio.wait_for(slot.begun, 120)
