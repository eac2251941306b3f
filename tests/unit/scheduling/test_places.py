"""Places, turns and caches that are shared between addresses."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.errors import Overloaded
from quizglass_server.scheduling.admission import Admission
from quizglass_server.scheduling.clients import Client, address_group, asked_by
from quizglass_server.scheduling.places import Place, Places, may_take
from quizglass_server.scheduling.priority import Priority, current_priority
from quizglass_server.scheduling.shared_cache import SharedCache

NEVER_S = 3600.0


@pytest.mark.parametrize(
    ("host", "group"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unix", "unix"),
    ],
)
def test_a_host_is_counted_by_what_it_cannot_choose(host, group):
    assert address_group(host) == group


@pytest.mark.parametrize(("most", "alone"), [(1, 1), (4, 4), (7, 7), (8, 7), (16, 14), (512, 448), (1024, 896)])
def test_one_address_takes_nearly_all_and_leaves_an_eighth(most, alone):
    held = 0
    while may_take(held, most - held):
        held += 1
    assert held == alone


def taken(places: Places, address: str, count: int, connection: str = "") -> list[Place]:
    found = [places.take(Client(address, connection or f"{number}")) for number in range(count)]
    for place in found:
        place.idle(lambda: None, NEVER_S)
    return found


def test_the_error_names_the_bound_and_what_one_holds():
    places = Places(8, "sessions")
    for _ in range(7):
        places.take(Client("greedy"))
    with pytest.raises(Overloaded, match=r"your address has 7 of the 8 sessions.*try again later") as e:
        places.take(Client("greedy"))
    assert e.value.retry_after_s
    assert places.take(Client("modest"))


def test_the_longest_idle_place_of_the_address_that_has_most_goes_to_one_that_has_fewer():
    places, gone = Places(4, "places"), []
    for name, address in (("a", "some"), ("b", "greedy"), ("c", "greedy"), ("d", "greedy")):
        places.take(Client(address)).idle(lambda name=name: gone.append(name), NEVER_S)
    places.take(Client("modest"))
    assert (gone, len(places)) == (["b"], 4)
    with pytest.raises(Overloaded):  # none has more than one more now
        places.take(Client("modest"))


def test_a_place_in_use_stays():
    places = Places(2, "places")
    for place in taken(places, "greedy", 2):
        place.busy()
    with pytest.raises(Overloaded):
        places.take(Client("modest"))


def test_within_an_address_the_connection_that_has_most_gives_way_or_who_has_rested():
    places = Places(4, "places")
    modest, rested = taken(places, "one", 2)
    greedy = taken(places, "one", 2, connection="greedy")
    places.take(Client("one", "new"))
    assert (greedy[0].released, modest.released) == (True, False)
    with pytest.raises(Overloaded):
        places.take(Client("one", "new"))
    rested.idle(lambda: None, 0.0)
    places.take(Client("one", "new"))
    assert (rested.released, modest.released) == (True, False)


def test_a_place_that_cannot_move_stays_where_it_was():
    places = Places(8, "places")
    place = places.take(Client("one"))
    for _ in range(7):
        places.take(Client("greedy"))
    with pytest.raises(Overloaded):
        place.move(Client("greedy"))
    assert (place.client, len(places)) == (Client("one"), 8)
    place.move(Client("two"))
    place.release()
    place.release()
    assert (place.client, len(places)) == (Client("two"), 7)


@given(st.integers(1, 40), st.lists(st.tuples(st.sampled_from("abcdefgh"), st.booleans()), max_size=200))
def test_however_many_addresses_come_a_new_one_gets_a_place_while_another_has_idle_ones(most, comings):
    places = Places(most, "places")
    held: dict[Place, str] = {}
    for address, leaves in comings:
        if leaves and held:
            place = next(iter(held))
            place.release()
            del held[place]
            continue
        try:
            place = places.take(Client(address))
        except Overloaded:
            continue
        held[place] = address
        place.idle(lambda place=place: held.pop(place), 0.0)
        assert len(places) == len(held) <= most
    before = dict(held)
    fullest = max((list(held.values()).count(address) for address in held.values()), default=0)
    if fullest > 1 or len(held) < most:
        places.take(Client("new"))
        assert len(before) - len(held) <= 1
        gone = [before[place] for place in before.keys() - held.keys()]
        assert all(list(before.values()).count(address) == fullest for address in gone)


class Turn:
    """Holds a permit until told."""

    def __init__(self, admission: Admission, address: str, connection: str) -> None:
        self.inside, self.leave = asyncio.Event(), asyncio.Event()
        with asked_by(Client(address, connection)):
            self.task = asyncio.create_task(self._run(admission))

    async def _run(self, admission: Admission) -> None:
        async with admission.admit():
            self.inside.set()
            await self.leave.wait()


async def test_turns_of_many_connections_of_one_address_refuse_no_turn_of_another():
    admission = Admission(8, 16)
    async with asyncio.timeout(60):
        flood = [Turn(admission, "flood", f"{number}") for number in range(48)]
        await asyncio.sleep(0)
        assert (admission.running, admission.waiting) == (7, 16)
        for _ in range(5):
            other = Turn(admission, "other", "1")
            await other.inside.wait()  # at once: a place is kept
            other.leave.set()
            await other.task
        many = [Turn(admission, "other", "1") for _ in range(4)]
        await many[0].inside.wait()
        flood[0].leave.set()
        await many[1].inside.wait()  # before the sixteen that have waited longer
        for turn in (*flood, *many):
            turn.leave.set()
        await asyncio.gather(*(turn.task for turn in (*flood, *many)), return_exceptions=True)
    assert all(turn.task.exception() is None for turn in many)
    assert (admission.running, admission.waiting) == (0, 0)


async def test_a_turn_of_an_address_that_has_fewer_goes_ahead():
    admission, seen = Admission(8, 0), []

    async def ask(address: str) -> None:
        with asked_by(Client(address)):
            async with admission.admit():
                seen.append((address, current_priority()))
                await asyncio.sleep(0)

    await asyncio.gather(*(ask(address) for address in ("many", "many", "few", "many", "few", "few")))
    turn, ahead, behind = Priority.TURN, Priority.AHEAD, Priority.BEHIND
    assert [priority for address, priority in seen if address == "many"] == [turn, turn, behind]
    assert [priority for address, priority in seen if address == "few"] == [ahead, ahead, turn]
    assert current_priority() is Priority.TURN


def test_what_a_cache_keeps_of_one_address_is_not_pushed_out_by_another():
    cache = SharedCache[str, int](100, lambda size: size)
    with asked_by(Client("modest")):
        cache.put("mine", 20)
    with asked_by(Client("greedy")):
        for number in range(50):
            cache.put(f"{number}", 10)
    assert cache.get("mine") == 20
    assert [key for key in map(str, range(50)) if key in cache] == [str(number) for number in range(42, 50)]
    assert (cache.pop("mine"), cache.pop("mine"), cache.pop_oldest(), len(cache)) == (20, None, 10, 7)


def test_a_cache_keeps_nothing_that_is_larger_than_itself():
    cache = SharedCache[str, int](10, lambda size: size)
    cache.put("a", 4)
    cache.put("b", 11)
    assert ("a" in cache, "b" in cache) == (True, False)
