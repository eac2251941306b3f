"""Several rankings as one, by reciprocal rank with a trust for each (Cormack, Clarke and Büttcher, SIGIR 2009)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

Item = TypeVar("Item")

_K = 1
"""Added to each rank. The paper's 60 is for lists of a thousand: among eight, whatever is trusted more would always
come first. With 1, the first of a source of trust 0.5 stands beside the third of the store."""


def mixed(rankings: Sequence[tuple[float, Sequence[Item]]], key: Callable[[Item], Hashable]) -> list[Item]:
    """What the rankings have, each once, by the sum of trust / (1 + rank); equal sums keep the rankings' order.

    Args:
        rankings: trust, more than 0 and at most 1, and what was found, best first.
        key: what makes two of them the same; the first one stands for both.
    """
    first: dict[Hashable, Item] = {}
    worth: defaultdict[Hashable, float] = defaultdict(float)
    for trust, ranking in rankings:
        once = {key(item): item for item in reversed(ranking)}
        for rank, name in enumerate(dict.fromkeys(map(key, ranking)), 1):
            first.setdefault(name, once[name])
            worth[name] += trust / (_K + rank)
    return sorted(first.values(), key=lambda item: worth[key(item)], reverse=True)
