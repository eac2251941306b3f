"""A cache whose bounds no owner, a tenant at an address, can use against others."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from quizglass_server.scheduling.clients import current_client

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class SharedCache(Generic[Key, Value]):
    """Keeps what was used last of each owner (`Client.owner`). What has to go is of who has most: its oldest.

    A value belongs to the owner of the client that it was made for, and is found by all that know its key.

    Args:
        most: sum of sizes.
        size: of a value.
    """

    def __init__(self, most: int, size: Callable[[Value], int]) -> None:
        self._most = most
        self._size = size
        self._owners: dict[Key, str] = {}
        self._values: dict[str, OrderedDict[Key, Value]] = defaultdict(OrderedDict)
        """By owner, the one that was used least lately first."""
        self._held: Counter[str] = Counter()
        self._total = 0

    def __len__(self) -> int:
        return len(self._owners)

    @property
    def held(self) -> int:
        """Sum of the sizes."""
        return self._total

    def __contains__(self, key: Key) -> bool:
        return key in self._owners

    def get(self, key: Key) -> Value | None:
        """A value, which counts as used now."""
        owner = self._owners.get(key)
        if owner is None:
            return None
        self._values[owner].move_to_end(key)
        return self._values[owner][key]

    def put(self, key: Key, value: Value) -> None:
        """Keep a value for the current client, unless it is larger than all that is kept."""
        self.pop(key)
        if (size := self._size(value)) > self._most:
            return
        owner = current_client().owner
        self._owners[key] = owner
        self._values[owner][key] = value
        self._held[owner] += size
        self._total += size
        while self._total > self._most:
            self.pop_oldest()

    def pop(self, key: Key) -> Value | None:
        """Let a value go; returns it, if it was there."""
        owner = self._owners.pop(key, None)
        if owner is None:
            return None
        value = self._values[owner].pop(key)
        size = self._size(value)
        self._held[owner] -= size
        self._total -= size
        if not self._values[owner]:
            del self._values[owner], self._held[owner]
        return value

    def pop_oldest(self) -> Value | None:
        """Let the value go whose turn it is; returns it, if there was one."""
        if not self._owners:
            return None
        heaviest = max(self._held, key=self._held.__getitem__)
        return self.pop(next(iter(self._values[heaviest])))
