"""Was the right entry found?"""

from __future__ import annotations

from collections.abc import Collection, Sequence


def recall_at(ranked: Sequence[str], right: Collection[str], within: int) -> float:
    """1 if one of the right entries is among the first `within` of those ranked, else 0.

    Raises:
        ValueError: no right entries, or `within` below 1.
    """
    if not right:
        raise ValueError("right: no entries; recall is of questions whose entries are known")
    if within < 1:
        raise ValueError(f"within: {within}; expected at least 1")
    return float(not set(right).isdisjoint(ranked[:within]))
