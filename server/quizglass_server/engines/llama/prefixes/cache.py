"""The prefix cache: what the model's memory holds, shared between requests and kept after them.

A prompt is matched atom by atom (`atoms`) against everything in memory, also what other requests are working on. What
it shares is shared in memory too. What a request leaves behind, its answer included, is kept: the last of it where it
is, the rest parked outside the cache (`parking`). Cells for a prompt and its answer are reserved before work begins, so
that the cache is never full in the middle of an answer.
"""

from __future__ import annotations

import numpy as np

from quizglass_server.engines.llama.prefixes.blocks import Ledger
from quizglass_server.engines.llama.prefixes.parking import Parked, Parking
from quizglass_server.engines.llama.prefixes.prompt_units import Atoms
from quizglass_server.engines.llama.prefixes.sequences import Held, Memory

RESIDENT_CELLS = 512
"""Of what nobody uses at the moment, so much stays in the cache, but for the newest that stays whatever its length."""
_UNASKED = 1 << 40
"""By so many uses what nobody asked for counts as older: there are never so many, nor so many restored prefixes."""


class Prefixes:
    """Every sequence of the model's memory: free, held by a request, or kept."""

    def __init__(self, memory: Memory, sequences: int, kept: int, cells: int, resident: int = RESIDENT_CELLS) -> None:
        """Make an empty cache.

        Args:
            memory: llama.cpp's.
            sequences: there are, 0 to `sequences` - 1.
            kept: most that are kept when no request holds them.
            cells: of the KV cache; parked prefixes have no more together.
            resident: cells of it that kept prefixes may take before they are parked.
        """
        self.ledger = Ledger(cells)
        self.kept: list[Held] = []
        self.parking = Parking(cells)
        self._resident = resident
        self._memory = memory
        self._active: list[Held] = []
        self._free = list(range(sequences))[::-1]
        self._limit = kept
        self._uses = 0

    def __len__(self) -> int:
        """How many are kept, parked ones included."""
        return len(self.kept) + len(self.parking.all)

    def known(self, atoms: Atoms, count: int) -> int:
        """How many of the first `count` atoms need not be read again."""
        return max(self.longest(atoms, count)[1], self.parking.longest(atoms, count)[1])

    def longest(self, atoms: Atoms, count: int) -> tuple[Held | None, int]:
        """Who holds the longest beginning of the first `count` atoms in the cache, and its length."""
        best: Held | None = None
        length = 0
        for held in (*self.kept, *self._active):
            if (common := held.atoms.common(held.length, atoms, count)) > length:
                best, length = held, common
        return best, length

    def bind(self, atoms: Atoms, count: int, reserve: int) -> Held | None:
        """Give a request a sequence that already holds as much of its beginning as is known anywhere.

        Args:
            atoms: of the request.
            count: how many of them may be taken over.
            reserve: cells that the request needs in all.

        Returns:
            The sequence; None when cells or sequences are missing until another request ends.
        """
        source, common = self.longest(atoms, count)
        parked, more = self.parking.longest(atoms, count)
        held: Held | None = None
        if parked is not None and more > common:
            held = self._put_back(parked, atoms, more, reserve)
            if held is None:
                source, common = self.longest(atoms, count)  # the one found above may have made way
        if held is None and (source is None or source in self._active or source.length - common > 1):
            held = self._branch(source, atoms, common, reserve)
        # Without the rest of the source only as the last resort: it is what somebody may ask about next.
        if held is None and source in self.kept and source is not None:
            held = self._take_over(source, atoms, common, reserve)
        if held is not None:
            self._touch(held)
            self._active.append(held)
        return held

    def adopt(self, held: Held, source: Held, common: int) -> None:
        """Replace the beginning that a bound request has by a longer one that another sequence holds by now."""
        self.roll_back(held)
        self._merge(held, source, common)
        held.length = common

    def roll_back(self, held: Held) -> None:
        """Drop from memory what is beyond the atoms known to be there: what a step that failed left."""
        self._memory.forget(held.sequence, held.position)

    def keep(self, held: Held, *, unasked: bool = False) -> None:
        """A request ended: keep what it leaves, unless another sequence holds it as well.

        What is `unasked` for goes before anything else does, the oldest of it first.
        """
        self._active.remove(held)
        used = held.atoms.cells(held.length)
        self.ledger.drop(held.cells[used:])
        held.cells = held.cells[:used]
        held.atoms = held.atoms.head(held.length)
        if not held.length or self.known(held.atoms, held.length) == held.length:
            self._release(held)
            return
        for other in [each for each in self.kept if self._within(each, held)]:
            self.evict(other)
        self.parking.forget_within(held.atoms, held.length)
        self._touch(held)
        if unasked:
            held.used -= _UNASKED
        self.kept.append(held)
        self._make_way()

    def drop(self, held: Held) -> None:
        """A request ended, and what it leaves is of no use."""
        self._active.remove(held)
        self._release(held)

    def evict(self, held: Held) -> None:
        """Forget a kept sequence."""
        self.kept.remove(held)
        self._release(held)

    def forget_kept(self) -> None:
        """Forget all that is kept."""
        for held in tuple(self.kept):
            self.evict(held)
        self.parking.all.clear()

    def state(self, atoms: Atoms) -> bytes | None:
        """A copy of the state of a kept prefix, found by the very atoms that it has; None when it has gone since."""
        held = next((each for each in self.kept if each.atoms is atoms), None)
        if held is not None:
            return self._memory.save_sequence(held.sequence)
        return next((each.state for each in self.parking.all if each.atoms is atoms), None)

    def vacant(self, atoms: Atoms) -> Held | None:
        """A free sequence for all of `atoms`, to be loaded from elsewhere; None without room, or if they are known."""
        count = len(atoms.ids)
        cells = atoms.cells(count)
        if not self._free or len(self) >= self._limit or cells > self.ledger.free:
            return None
        if self.known(atoms, count) == count:
            return None
        return Held(self._free.pop(), atoms, count, self.ledger.take(cells))

    def give_up(self, held: Held) -> None:
        """Free what `vacant` gave."""
        self._release(held)

    def restore(self, held: Held, age: int) -> None:
        """Keep what has been loaded into what `vacant` gave, as older than anything used here; 1 is the newest."""
        source, common = self.longest(held.atoms, held.length)
        if source is not None:
            self._merge(held, source, common)
        held.used = -age
        self.kept.append(held)
        self._make_way()

    def clear(self) -> None:
        """Forget everything, as the memory has; no request holds a sequence any more."""
        for held in (*self.kept, *self._active):
            self.ledger.drop(held.cells)
            self._free.append(held.sequence)
        self.kept.clear()
        self.parking.all.clear()  # what was copied may be spoilt as well
        self._active.clear()

    def _make_way(self) -> None:
        """Keep no more than may be kept, and in the cache only what costs little there."""
        while len(self) > self._limit:
            self._forget_oldest()
        while len(self.kept) > 1 and self._idle_cells() > self._resident:
            self._park(self._oldest())

    def _idle_cells(self) -> int:
        return len(np.unique(np.concatenate([held.cells for held in self.kept])))

    def _forget_oldest(self) -> None:
        held = self._oldest() if self.kept else None
        if held is None or (self.parking.all and self.parking.oldest().used < held.used):
            self.parking.forget(self.parking.oldest())
        else:
            self.evict(held)

    def _park(self, held: Held) -> None:
        self.parking.add(Parked(held.atoms, self._memory.save_sequence(held.sequence), held.used))
        self.evict(held)

    def _put_back(self, parked: Parked, atoms: Atoms, common: int, reserve: int) -> Held | None:
        """A new sequence that begins with `common` atoms of a copy, which stays parked."""
        cells = max(reserve, parked.cells)
        if not (self._free or self.kept):
            return None
        if self.ledger.free < cells and self.ledger.free_without([held.cells for held in self.kept]) < cells:
            return None
        self._evict_until(cells, None, sequence=True)
        held = Held(self._free.pop(), atoms, common, self.ledger.take(cells))
        if not self._memory.load_sequence(held.sequence, parked.state):
            self.parking.forget(parked)
            self._release(held)
            return None
        self._memory.forget(held.sequence, held.position)
        self.ledger.drop(held.cells[reserve:])
        held.cells = held.cells[:reserve]
        self._uses += 1
        parked.used = self._uses
        return held

    def _branch(self, source: Held | None, atoms: Atoms, common: int, reserve: int) -> Held | None:
        """A new sequence that shares the beginning of `source`."""
        shared = atoms.cells(common)
        others = [held for held in self.kept if held is not source]
        if not (self._free or others):
            return None
        if (
            self.ledger.free < reserve - shared
            and self.ledger.free_without([held.cells for held in others]) < reserve - shared
        ):
            return None
        self._evict_until(reserve - shared, source, sequence=True)
        held = Held(self._free.pop(), atoms, common, self.ledger.take(reserve - shared))
        if source is not None:
            theirs = source.cells[:shared]
            self._memory.share(source.sequence, held.sequence, atoms.position(common))
            self._touch(source)
            self.ledger.share(theirs)
            held.cells = np.concatenate([theirs, held.cells])
        return held

    def _take_over(self, source: Held, atoms: Atoms, common: int, reserve: int) -> Held | None:
        """Go on in a kept sequence itself."""
        shared = atoms.cells(common)
        droppable = [held.cells for held in self.kept if held is not source]
        if self.ledger.free_without([*droppable, source.cells[shared:]]) < reserve - shared:
            return None
        if source.length > common:
            self._memory.forget(source.sequence, atoms.position(common))
        self.ledger.drop(source.cells[shared:])
        source.cells = source.cells[:shared]
        self._evict_until(reserve - shared, source, sequence=False)
        self.kept.remove(source)
        cells = np.concatenate([source.cells, self.ledger.take(reserve - shared)])
        return Held(source.sequence, atoms, common, cells)

    def _merge(self, held: Held, source: Held, common: int) -> None:
        """Put the beginning that another sequence holds in the place of the own."""
        end = held.atoms.position(common)
        shared = held.atoms.cells(common)
        theirs = source.cells[:shared]
        self._memory.forget(held.sequence, 0, end)
        self._memory.share(source.sequence, held.sequence, end)
        self.ledger.share(theirs)
        self.ledger.drop(held.cells[:shared])
        held.cells = np.concatenate([theirs, held.cells[shared:]])

    def _evict_until(self, cells: int, source: Held | None, *, sequence: bool) -> None:
        while self.ledger.free < cells or (sequence and not self._free):
            self._park(self._oldest(source))

    def _oldest(self, but: Held | None = None) -> Held:
        return min((held for held in self.kept if held is not but), key=lambda held: held.used)

    def _release(self, held: Held) -> None:
        self._memory.forget(held.sequence)
        self.ledger.drop(held.cells)
        self._free.append(held.sequence)

    def _within(self, inner: Held, outer: Held) -> bool:
        return inner.atoms.common(inner.length, outer.atoms, outer.length) == inner.length

    def _touch(self, held: Held) -> None:
        self._uses += 1
        held.used = self._uses
