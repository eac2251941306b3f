"""Which facts are taught and which are kept to measure on: whole things, whole kinds of facts, and wordings."""

from __future__ import annotations

import random
from collections.abc import Sequence

from quizglass_lab.everyday.facts import Fact

NEVER_TAUGHT = frozenset({"home", "main ingredient", "largest moon", "year of discovery"})
"""Names of facts that no example of the training set asks about."""


def held_out_things(facts: Sequence[Fact], share: float, seed: int) -> frozenset[str]:
    """Things that no example of the training set is about."""
    things = sorted({fact.thing for fact in facts})
    return frozenset(random.Random(seed).sample(things, round(share * len(things))))


def is_taught(fact: Fact, held_out: frozenset[str] = frozenset()) -> bool:
    """Whether the fact may be in the training set."""
    return fact.thing not in held_out and fact.name not in NEVER_TAUGHT
