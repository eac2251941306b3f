"""The prefix cache: prompts and answers in llama.cpp's KV cache, shared between requests and kept for later ones.

A prompt is compared unit by unit (`prompt_units`) with every sequence of the KV cache, those of running requests
included; a common beginning is shared, not copied. When a request ends, its sequence stays for later prompts: the
newest in the KV cache, older ones offloaded to the process's memory as copies of their state. A request's cells are all
reserved before it begins, so that the KV cache is never full in the middle of an answer.

Sequences are offloaded because attention passes over every cell in use, whoever's it is: reading 220 tokens of a 0.5B
model took 0.65 s beside an empty cache and 0.94 beside 6,000 cells of others, while a copy is loaded in milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from quizglass_server.engines.llama.native.model import NativeModel
from quizglass_server.engines.llama.prefixes.blocks import Cells, Ledger
from quizglass_server.engines.llama.prefixes.prompt_units import PromptUnits


@dataclass(eq=False, slots=True)
class Lease:
    """A sequence of the model's memory and what it holds."""

    sequence: int
    units: PromptUnits
    length: int
    """Units in memory."""
    cells: Cells
    """Its cells: first those of the units in memory, then those that are reserved."""
    used: int = 0
    """When it was last used, as a count of uses."""
    passing: bool = False
    """Whether nothing of it is kept when its request ends: it was forgotten meanwhile."""

    @property
    def position(self) -> int:
        """Position of the next unit."""
        return self.units.position(self.length)


@dataclass(eq=False, slots=True)
class OffloadedPrefix:
    """A prefix that is no longer in the KV cache: a copy of llama.cpp's state of its sequence."""

    units: PromptUnits
    state: bytes
    used: int
    """When it was last used, as a count of uses."""

    @property
    def length(self) -> int:
        """Units in the saved state."""
        return len(self.units.ids)

    @property
    def cells(self) -> int:
        """Cells that it takes when it is loaded again."""
        return self.units.cells(self.length)


Holder = TypeVar("Holder", bound=Lease | OffloadedPrefix)


def _longest(holders: Iterable[Holder], units: PromptUnits, count: int) -> tuple[Holder | None, int]:
    """The one that has the longest beginning of the first `count` units, and its length."""
    best: Holder | None = None
    length = 0
    for holder in holders:
        if (common := holder.units.common(holder.length, units, count)) > length:
            best, length = holder, common
    return best, length


def _oldest(holders: Iterable[Holder]) -> Holder:
    """The least recently used one."""
    return min(holders, key=lambda holder: holder.used)


def _within(inner: Lease | OffloadedPrefix, outer: Lease) -> bool:
    return inner.units.common(inner.length, outer.units, outer.length) == inner.length


RESIDENT_CELLS = 512
"""Of what nobody uses at the moment, so much stays in the cache, but for the newest that stays whatever its length."""
_UNASKED = 1 << 40
"""By so many uses what nobody asked for counts as older: there are never so many, nor so many restored prefixes."""


class Prefixes:
    """Every sequence of the KV cache: free, leased to a request, or kept for later prompts."""

    def __init__(
        self, memory: NativeModel, sequences: int, kept: int, cells: int, resident: int = RESIDENT_CELLS
    ) -> None:
        """Make an empty cache.

        Args:
            memory: whose `forget`, `share`, `save_sequence` and `load_sequence` act on the KV cache.
            sequences: there are, 0 to `sequences` - 1.
            kept: most that are kept when no request holds them.
            cells: of the KV cache; offloaded prefixes have no more together.
            resident: cells of it that kept prefixes may take before they are offloaded.
        """
        self.ledger = Ledger(cells)
        self.kept: list[Lease] = []
        self.offloaded: list[OffloadedPrefix] = []
        self._resident = resident
        self._memory = memory
        self._active: list[Lease] = []
        self._free = list(range(sequences))[::-1]
        self._limit = kept
        self._uses = 0

    def __len__(self) -> int:
        """How many prefixes are kept, offloaded ones included."""
        return len(self.kept) + len(self.offloaded)

    def known(self, units: PromptUnits, count: int) -> int:
        """How many of the first `count` units need not be read again."""
        everywhere: list[Lease | OffloadedPrefix] = [*self.kept, *self._active, *self.offloaded]
        return _longest(everywhere, units, count)[1]

    def longest(self, units: PromptUnits, count: int) -> tuple[Lease | None, int]:
        """The lease with the longest beginning of the first `count` units in the cache, and its length."""
        return _longest((*self.kept, *self._active), units, count)

    def bind(self, units: PromptUnits, count: int, reserve: int) -> Lease | None:
        """Give a request a sequence that already holds as much of its beginning as is known anywhere.

        Args:
            units: of the request.
            count: how many of them may be taken over.
            reserve: cells that the request needs in all.

        Returns:
            The sequence; None when cells or sequences are missing until another request ends.
        """
        source, common = self.longest(units, count)
        copy, more = _longest(self.offloaded, units, count)
        lease: Lease | None = None
        if copy is not None and more > common:
            lease = self._reload(copy, units, more, reserve)
            if lease is None:
                source, common = self.longest(units, count)  # the one found above may have made way
        if lease is None and (source is None or source in self._active or source.length - common > 1):
            lease = self._branch(source, units, common, reserve)
        # Without the rest of the source only as the last resort: it is what somebody may ask about next.
        if lease is None and source in self.kept and source is not None:
            lease = self._take_over(source, units, common, reserve)
        if lease is not None:
            self._touch(lease)
            self._active.append(lease)
        return lease

    def adopt(self, lease: Lease, source: Lease, common: int) -> None:
        """Replace the beginning that a bound request has by a longer one that another sequence holds by now."""
        self.roll_back(lease)
        self._merge(lease, source, common)
        lease.length = common

    def roll_back(self, lease: Lease) -> None:
        """Drop from memory what is beyond the units known to be there, as a failed step may leave it."""
        self._memory.forget(lease.sequence, lease.position)

    def keep(self, lease: Lease, *, unasked: bool = False) -> None:
        """A request ended: keep what it leaves, unless that was forgotten, or another sequence holds it as well.

        What is `unasked` for goes before anything else does, the oldest of it first.
        """
        if lease.passing:
            self.drop(lease)
            return
        self._active.remove(lease)
        used = lease.units.cells(lease.length)
        self.ledger.drop(lease.cells[used:])
        lease.cells = lease.cells[:used]
        lease.units = lease.units.head(lease.length)
        if not lease.length or self.known(lease.units, lease.length) == lease.length:
            self._release(lease)
            return
        for other in [each for each in self.kept if _within(each, lease)]:
            self.evict(other)
        self.offloaded = [each for each in self.offloaded if not _within(each, lease)]
        self._touch(lease)
        if unasked:
            lease.used -= _UNASKED
        self.kept.append(lease)
        self._make_way()

    def drop(self, lease: Lease) -> None:
        """Free the sequence of a request that has ended and leaves nothing of use."""
        self._active.remove(lease)
        self._release(lease)

    def evict(self, lease: Lease) -> None:
        """Forget a kept sequence."""
        self.kept.remove(lease)
        self._release(lease)

    def forget_kept(self) -> None:
        """Forget all that is kept."""
        for lease in tuple(self.kept):
            self.evict(lease)
        self.offloaded.clear()

    def forget(self) -> int:
        """Forget all that is kept, and running requests when they end; how many are forgotten at once."""
        count = len(self)
        self.forget_kept()
        for lease in self._active:
            lease.passing = True
        return count

    def state(self, units: PromptUnits) -> bytes | None:
        """A copy of the state of a kept prefix, found by the very units that it has; None when it has gone since."""
        lease = next((each for each in self.kept if each.units is units), None)
        if lease is not None:
            return self._memory.save_sequence(lease.sequence)
        return next((each.state for each in self.offloaded if each.units is units), None)

    def vacant(self, units: PromptUnits) -> Lease | None:
        """A free sequence for all of `units`, to be loaded from elsewhere; None without room, or if they are known."""
        count = len(units.ids)
        cells = units.cells(count)
        if not self._free or len(self) >= self._limit or cells > self.ledger.free:
            return None
        if self.known(units, count) == count:
            return None
        return Lease(self._free.pop(), units, count, self.ledger.take(cells))

    def give_up(self, lease: Lease) -> None:
        """Free the sequence that `vacant` gave."""
        self._release(lease)

    def restore(self, lease: Lease, age: int) -> None:
        """Keep what has been loaded into what `vacant` gave, as older than anything used here; 1 is the newest."""
        source, common = self.longest(lease.units, lease.length)
        if source is not None:
            self._merge(lease, source, common)
        lease.used = -age
        self.kept.append(lease)
        self._make_way()

    def clear(self) -> None:
        """Forget everything, as the memory has; no request holds a sequence any more."""
        for lease in (*self.kept, *self._active):
            self.ledger.drop(lease.cells)
            self._free.append(lease.sequence)
        self.kept.clear()
        self.offloaded.clear()  # what was copied may be spoilt as well
        self._active.clear()

    def _make_way(self) -> None:
        """Keep no more than may be kept, and in the cache only what costs little there."""
        while len(self) > self._limit:
            self._forget_oldest()
        while len(self.kept) > 1 and self._idle_cells() > self._resident:
            self._offload(_oldest(self.kept))

    def _idle_cells(self) -> int:
        return len(np.unique(np.concatenate([lease.cells for lease in self.kept])))

    def _forget_oldest(self) -> None:
        kept: list[Lease | OffloadedPrefix] = [*self.kept, *self.offloaded]
        oldest = _oldest(kept)
        if isinstance(oldest, Lease):
            self.evict(oldest)
        else:
            self.offloaded.remove(oldest)

    def _offload(self, lease: Lease) -> None:
        self.offloaded.append(OffloadedPrefix(lease.units, self._memory.save_sequence(lease.sequence), lease.used))
        while sum(each.cells for each in self.offloaded) > self.ledger.size:
            self.offloaded.remove(_oldest(self.offloaded))
        self.evict(lease)

    def _reload(self, copy: OffloadedPrefix, units: PromptUnits, common: int, reserve: int) -> Lease | None:
        """A new sequence that begins with `common` units of a copy, which stays where it is."""
        cells = max(reserve, copy.cells)
        if not (self._free or self.kept):
            return None
        if self.ledger.free < cells and self.ledger.free_without([lease.cells for lease in self.kept]) < cells:
            return None
        self._evict_until(cells, None, sequence=True)
        lease = Lease(self._free.pop(), units, common, self.ledger.take(cells))
        if not self._memory.load_sequence(lease.sequence, copy.state):
            if copy in self.offloaded:  # it may have made way
                self.offloaded.remove(copy)
            self._release(lease)
            return None
        self._memory.forget(lease.sequence, lease.position)
        self.ledger.drop(lease.cells[reserve:])
        lease.cells = lease.cells[:reserve]
        self._uses += 1
        copy.used = self._uses
        return lease

    def _branch(self, source: Lease | None, units: PromptUnits, common: int, reserve: int) -> Lease | None:
        """A new sequence that shares the beginning of `source`."""
        shared = units.cells(common)
        others = [lease for lease in self.kept if lease is not source]
        if not (self._free or others):
            return None
        if (
            self.ledger.free < reserve - shared
            and self.ledger.free_without([lease.cells for lease in others]) < reserve - shared
        ):
            return None
        self._evict_until(reserve - shared, source, sequence=True)
        lease = Lease(self._free.pop(), units, common, self.ledger.take(reserve - shared))
        if source is not None:
            theirs = source.cells[:shared]
            self._memory.share(source.sequence, lease.sequence, units.position(common))
            self._touch(source)
            self.ledger.share(theirs)
            lease.cells = np.concatenate([theirs, lease.cells])
        return lease

    def _take_over(self, source: Lease, units: PromptUnits, common: int, reserve: int) -> Lease | None:
        """Go on in a kept sequence itself."""
        shared = units.cells(common)
        droppable = [lease.cells for lease in self.kept if lease is not source]
        if self.ledger.free_without([*droppable, source.cells[shared:]]) < reserve - shared:
            return None
        if source.length > common:
            self._memory.forget(source.sequence, units.position(common))
        self.ledger.drop(source.cells[shared:])
        source.cells = source.cells[:shared]
        self._evict_until(reserve - shared, source, sequence=False)
        self.kept.remove(source)
        cells = np.concatenate([source.cells, self.ledger.take(reserve - shared)])
        return Lease(source.sequence, units, common, cells)

    def _merge(self, lease: Lease, source: Lease, common: int) -> None:
        """Replace the own beginning by the same one that another sequence holds."""
        end = lease.units.position(common)
        shared = lease.units.cells(common)
        theirs = source.cells[:shared]
        self._memory.forget(lease.sequence, 0, end)
        self._memory.share(source.sequence, lease.sequence, end)
        self.ledger.share(theirs)
        self.ledger.drop(lease.cells[:shared])
        lease.cells = np.concatenate([theirs, lease.cells[shared:]])

    def _evict_until(self, cells: int, source: Lease | None, *, sequence: bool) -> None:
        while self.ledger.free < cells or (sequence and not self._free):
            self._offload(_oldest(lease for lease in self.kept if lease is not source))

    def _release(self, lease: Lease) -> None:
        self._memory.forget(lease.sequence)
        self.ledger.drop(lease.cells)
        self._free.append(lease.sequence)

    def _touch(self, lease: Lease) -> None:
        self._uses += 1
        lease.used = self._uses
