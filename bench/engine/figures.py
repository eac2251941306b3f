"""What is computed from measured times, and when requests are sent: pure functions."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from random import Random


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which a share (0 to 1) of the values lies, interpolated between neighbours; NaN of nothing.

    Raises:
        ValueError: the share is outside 0 to 1.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share: {share} is not between 0 and 1")
    if not values:
        return math.nan
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def gaps_during(times: Sequence[float], windows: Iterable[tuple[float, float]]) -> list[float]:
    """Gaps between a stream's tokens that overlap a window of time, in the times' unit.

    A window in which nothing of the stream came at all is one long gap, so a stall is never missed.
    """
    found = []
    for opened, closed in windows:
        first = max(bisect_left(times, opened), 1)
        for index in range(first, len(times)):
            if times[index - 1] >= closed:
                break
            found.append(times[index] - times[index - 1])
    return found


def arrivals(rate: float, seconds: float, seed: int) -> list[float]:
    """Times at which independent clients send, in seconds from the start: a Poisson process.

    Raises:
        ValueError: the rate is not positive.
    """
    if rate <= 0:
        raise ValueError(f"rate: {rate} a second; it must be positive")
    random = Random(seed)
    times: list[float] = []
    now = random.expovariate(rate)
    while now < seconds:
        times.append(now)
        now += random.expovariate(rate)
    return times


def words(count: int, seed: int) -> str:
    """`count` everyday words drawn at random: prompts that share no beginning."""
    random = Random(seed)
    return " ".join(random.choice(_WORDS) for _ in range(count))


_WORDS = (
    *(
        "red",
        "green",
        "blue",
        "white",
        "black",
        "small",
        "large",
        "old",
        "new",
        "left",
        "right",
        "side",
        "front",
        "back",
    ),
    *("round", "long", "short", "heavy", "light", "house", "car", "boat", "bird", "plant", "book", "dish", "tower"),
    *("bridge", "garden", "street", "town", "maker", "price", "weight", "year", "colour", "shape", "name", "sign"),
    *("word", "picture", "question", "answer", "who", "what", "where", "when", "which", "how", "is", "was", "are"),
    *(
        "were",
        "made",
        "built",
        "found",
        "asked",
        "named",
        "called",
        "costs",
        "near",
        "under",
        "over",
        "between",
        "with",
    ),
    *("from", "before", "after", "many", "few", "first", "last", "good", "plain", "striped", "dotted"),
)
