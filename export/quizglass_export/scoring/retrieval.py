"""Was the right entry found?"""

from __future__ import annotations

from collections.abc import Collection, Sequence


def recall_at(found: Sequence[str], right: Collection[str], within: int, *, every: bool = False) -> float:
    """Whether one of the right entries, or with `every` what share of them, is among the first `within`.

    Raises:
        ValueError: no right entries, or `within` below 1.
    """
    if not right:
        raise ValueError("right: no entries; recall is of questions whose entries are known")
    if within < 1:
        raise ValueError(f"within: {within}; expected at least 1")
    hits = set(found[:within]) & set(right)
    return len(hits) / len(set(right)) if every else float(bool(hits))
