"""The prefix cache against a memory that remembers what was really put where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quizglass_server.engines.llama.native.vision import PictureSlot
from quizglass_server.engines.llama.prefixes.blocks import Ledger
from quizglass_server.engines.llama.prefixes.cache import Lease, Prefixes
from quizglass_server.engines.llama.prefixes.prompt_units import PICTURE, PromptUnits, with_room

SLOT = PictureSlot(before=(), after=(), tokens=5, positions=3)
CELLS, SEQUENCES, KEPT = 40, 5, 3


@dataclass
class FakeMemory:
    """Sequences of (position, content, cell): `share` copies no cell, as llama.cpp does not."""

    sequences: dict[int, list[tuple[int, object, int]]] = field(default_factory=dict)
    cells: int = 0
    copies: list[list[tuple[int, object]]] = field(default_factory=list)
    refuses: bool = False

    def forget(self, sequence: int, start: int = 0, end: int = -1) -> None:
        known = self.sequences.get(sequence, [])
        self.sequences[sequence] = [each for each in known if each[0] < start or (end >= 0 and each[0] >= end)]

    def share(self, source: int, target: int, end: int) -> None:
        lease = self.sequences.get(target, [])
        assert all(position >= end for position, _, _ in lease)
        self.sequences[target] = [each for each in self.sequences[source] if each[0] < end] + lease

    def write(self, sequence: int, position: int, content: object, cells: int) -> None:
        lease = self.sequences.setdefault(sequence, [])
        for _ in range(cells):
            self.cells += 1
            lease.append((position, content, self.cells))

    def save_sequence(self, sequence: int) -> bytes:
        self.copies.append([(position, content) for position, content, _ in self.sequences.get(sequence, [])])
        return str(len(self.copies) - 1).encode()

    def load_sequence(self, sequence: int, state: bytes) -> bool:
        assert not self.sequences.get(sequence)
        if self.refuses:
            return False
        for position, content in self.copies[int(state)]:
            self.write(sequence, position, content, 1)
        return True

    def used(self) -> int:
        return len({cell for lease in self.sequences.values() for _, _, cell in lease})


def atoms_of(contents: Sequence[int | bytes], room: int = 0) -> PromptUnits:
    ids = np.array([PICTURE if isinstance(each, bytes) else each for each in contents], np.int32)
    at = tuple(index for index, each in enumerate(contents) if isinstance(each, bytes))
    pictures = tuple(each for each in contents if isinstance(each, bytes))
    return with_room(PromptUnits(ids, at, pictures, SLOT), room)


def expected(units: PromptUnits, count: int) -> list[tuple[int, object]]:
    """What must be in memory for the first `count` atoms."""
    known: list[tuple[int, object]] = []
    pictures = iter(units.pictures)
    for index in range(count):
        if index in units.at:
            known += [(units.position(index), next(pictures))] * SLOT.tokens
        else:
            known.append((units.position(index), int(units.ids[index])))
    return known


HEADS: list[list[int | bytes]] = [[7], [7, b"one"], [7, b"two"], [8, b"one"]]
contents = st.builds(
    lambda head, tail: [*head, *tail, 9], st.sampled_from(HEADS), st.lists(st.sampled_from([1, 2, 3]), max_size=9)
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_whatever_happens_a_request_finds_its_own_beginning(data: st.DataObject) -> None:
    memory = FakeMemory()
    prefixes = Prefixes(memory, SEQUENCES, KEPT, CELLS, data.draw(st.sampled_from([0, 10, CELLS])))
    active: list[tuple[Lease, PromptUnits, int]] = []
    for _ in range(data.draw(st.integers(1, 14))):
        action = data.draw(st.sampled_from(["bind", "bind", "write", "keep", "drop", "adopt", "roll back"]))
        memory.refuses = data.draw(st.booleans())
        if action == "bind" or not active:
            room = data.draw(st.integers(0, 4))
            known = data.draw(contents)
            units = atoms_of(known, room)
            lease = prefixes.bind(units, len(known) - 1, units.cells(len(units.ids)))
            if lease is not None:
                assert lease.length < len(known)
                active.append((lease, units, len(known)))
        else:
            index = data.draw(st.integers(0, len(active) - 1))
            lease, units, known_count = active[index]
            if action == "write":
                write(memory, lease, units, data.draw(st.integers(lease.length, len(units.ids))))
            elif action in ("keep", "drop"):
                del active[index]
                prefixes.keep(lease) if action == "keep" else prefixes.drop(lease)
            elif action == "adopt":
                source, common = prefixes.longest(units, known_count - 1)
                if source is not None and common > lease.length:
                    prefixes.adopt(lease, source, common)
            else:
                memory.write(lease.sequence, lease.position, "left by a step that failed", 2)
                prefixes.roll_back(lease)
        check(memory, prefixes, [each for each, _, _ in active])
    for lease, _, _ in active:
        prefixes.drop(lease)
    prefixes.forget_kept()
    assert prefixes.ledger.free == CELLS
    assert memory.used() == 0


def write(memory: FakeMemory, lease: Lease, units: PromptUnits, end: int) -> None:
    pictures = dict(zip(units.at, units.pictures, strict=True))
    for index in range(lease.length, end):
        content: object = pictures.get(index, int(units.ids[index]))
        memory.write(lease.sequence, units.position(index), content, SLOT.tokens if index in pictures else 1)
    lease.length = end


def check(memory: FakeMemory, prefixes: Prefixes, active: list[Lease]) -> None:
    """Everybody's memory is what it is said to be, nobody shares a sequence, and the ledger counts right."""
    everyone = [*prefixes.kept, *active]
    assert len({lease.sequence for lease in everyone}) == len(everyone) <= SEQUENCES
    assert len(prefixes) <= KEPT
    assert sum(copy.cells for copy in prefixes.offloaded) <= CELLS
    for copy in prefixes.offloaded:
        assert memory.copies[int(copy.state)] == expected(copy.units, copy.length)
    for lease in everyone:
        real = [(position, content) for position, content, _ in memory.sequences.get(lease.sequence, [])]
        assert real == expected(lease.units, lease.length)
        assert len(set(lease.cells.tolist())) == len(lease.cells) >= lease.units.cells(lease.length)
    reserved = {cell for lease in everyone for cell in lease.cells.tolist()}
    assert prefixes.ledger.free == CELLS - len(reserved)
    assert memory.used() <= len(reserved)


def test_pictures_with_the_same_placeholders_are_told_apart() -> None:
    one, two = atoms_of([1, b"one", 2, 3]), atoms_of([1, b"two", 2, 3])
    assert one.common(4, two, 4) == 1
    assert one.common(4, atoms_of([1, b"one", 2, 4]), 4) == 3


def test_cells_and_positions_count_pictures() -> None:
    units = atoms_of([1, b"one", 2])
    assert [units.cells(count) for count in range(4)] == [0, 1, 6, 7]
    assert [units.position(count) for count in range(4)] == [0, 1, 4, 5]


def bound(prefixes: Prefixes, memory: FakeMemory, known: Sequence[int | bytes]) -> Lease:
    units = atoms_of(known)
    lease = prefixes.bind(units, len(known) - 1, units.cells(len(known)))
    assert lease is not None
    write(memory, lease, units, len(known))
    return lease


def test_least_recently_used_goes_first() -> None:
    memory = FakeMemory()
    prefixes = Prefixes(memory, SEQUENCES, KEPT, CELLS)
    for known in ([1, 1, 1, 1], [2, 2, 2], [3, 3, 3], [1, 1, 9], [4, 4, 4]):
        prefixes.keep(bound(prefixes, memory, known))
    assert [lease.units.ids[0] for lease in prefixes.kept] == [1, 1, 4]


def test_what_nobody_asked_for_goes_before_anything_else() -> None:
    memory = FakeMemory()
    prefixes = Prefixes(memory, SEQUENCES, KEPT, CELLS)
    for first in (1, 2, 3):
        prefixes.keep(bound(prefixes, memory, [first, first, first]), unasked=first == 3)
    prefixes.keep(bound(prefixes, memory, [4, 4, 4]))
    assert [lease.units.ids[0] for lease in prefixes.kept] == [1, 2, 4]


def test_of_what_nobody_asked_for_the_oldest_goes_first() -> None:
    memory = FakeMemory()
    prefixes = Prefixes(memory, SEQUENCES, KEPT, CELLS)
    for first in (1, 2, 3):
        prefixes.keep(bound(prefixes, memory, [first, first, first]), unasked=first < 3)
    prefixes.keep(bound(prefixes, memory, [4, 4, 4]))
    assert [lease.units.ids[0] for lease in prefixes.kept] == [2, 3, 4]


def test_what_nobody_asked_for_goes_before_what_was_restored() -> None:
    memory = FakeMemory()
    prefixes = Prefixes(memory, SEQUENCES, KEPT, CELLS)
    for age in range(1, KEPT + 1):
        lease = prefixes.vacant(atoms_of([age, age]))
        assert lease is not None
        prefixes.restore(lease, age)
    prefixes.keep(bound(prefixes, memory, [9, 9, 9]), unasked=True)
    assert [lease.units.ids[0] for lease in prefixes.kept] == [1, 2, 3]


def test_a_longer_prompt_takes_over_what_it_contains() -> None:
    memory = FakeMemory()
    prefixes = Prefixes(memory, SEQUENCES, KEPT, CELLS)
    first = bound(prefixes, memory, [1, b"one", 2])
    prefixes.keep(first)
    second = bound(prefixes, memory, [1, b"one", 2, 3, 4])
    assert second.sequence == first.sequence
    assert prefixes.kept == []


def test_what_is_parked_leaves_the_cache_and_is_put_back_for_whoever_begins_alike() -> None:
    memory = FakeMemory()
    prefixes = Prefixes(memory, SEQUENCES, KEPT, CELLS, resident=0)
    for known in ([1, b"one", 2, 3], [4, 4], [5, 5]):
        prefixes.keep(bound(prefixes, memory, known))
    assert [lease.units.ids[0] for lease in prefixes.kept] == [5], "the newest stays"
    assert (len(prefixes), memory.used()) == (3, 2)
    assert prefixes.known(atoms_of([1, b"one", 2, 9]), 3) == 3
    lease = prefixes.bind(atoms_of([1, b"one", 2, 9]), 3, 8)
    assert lease is not None
    assert lease.length == 3
    check(memory, prefixes, [lease])
    again = prefixes.bind(atoms_of([1, b"one", 2, 3, 9]), 4, 9)
    assert again is not None
    assert again.length == 4, "the copy stays for others"


def test_a_copy_that_cannot_be_put_back_is_read_again() -> None:
    memory = FakeMemory(refuses=True)
    prefixes = Prefixes(memory, SEQUENCES, KEPT, CELLS, resident=0)
    for known in ([1, 1, 1], [2, 2]):
        prefixes.keep(bound(prefixes, memory, known))
    lease = prefixes.bind(atoms_of([1, 1, 9]), 2, 3)
    assert lease is not None
    assert lease.length == 0
    check(memory, prefixes, [lease])


def test_a_copy_that_cannot_be_put_back_may_have_pushed_out_what_is_shared_then() -> None:
    memory = FakeMemory(refuses=True)
    prefixes = Prefixes(memory, SEQUENCES, KEPT, CELLS, resident=6)
    for known in ([1, 1, 1, 1], [1, 2, 2, 2]):
        prefixes.keep(bound(prefixes, memory, known))
    assert [lease.units.ids[1] for lease in prefixes.kept] == [2]
    busy = prefixes.bind(atoms_of([5], 29), 0, 30)
    assert busy is not None
    lease = prefixes.bind(atoms_of([1, 1, 1, 9]), 3, 8)
    check(memory, prefixes, [busy] if lease is None else [busy, lease])


def test_a_reservation_that_cannot_be_met_leaves_everything_as_it_was() -> None:
    memory = FakeMemory()
    prefixes = Prefixes(memory, SEQUENCES, KEPT, CELLS)
    prefixes.keep(bound(prefixes, memory, [1, 1, 1]))
    lease = prefixes.bind(atoms_of([5], 29), 0, 30)
    assert lease is not None
    assert prefixes.bind(atoms_of([6], 29), 0, 30) is None
    assert len(prefixes.kept) == 1
    prefixes.drop(lease)
    assert prefixes.bind(atoms_of([6], 29), 0, 30) is not None


def test_more_cells_than_are_free_cannot_be_taken() -> None:
    ledger = Ledger(4)
    ledger.take(3)
    with pytest.raises(ValueError, match="2 cells wanted, 1 free"):
        ledger.take(2)
