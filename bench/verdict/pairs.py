"""Labelled pairs of an answer and its evidence, and the judges that need no model: the check, and the simplest rule."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quizglass.values import Origin, VerdictOutcome
from quizglass_lab.scoring.intervals import confidence_interval
from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.language.wording import stands_in, words
from quizglass_server.steps.verify import verify

PAIRS = Path(__file__).with_name("pairs.jsonl")
HELD_OUT = Path(__file__).with_name("held_out.jsonl")
"""Written after `PAIRS`, before the check was changed with them in view; the check is not changed for its pairs."""
ANOTHER = Path(__file__).with_name("another_author.jsonl")
"""Of household notes, by an author who had read neither the rules nor the other pairs."""
_UNNAMED = frozenset(
    ("a", "an", "the", "it", "its", "he", "she", "they", "this", "that", "in", "on", "at", "no", "yes")
)


@dataclass(frozen=True)
class Pair:
    """An answer, the evidence that it was given, and whether a careful reader says that it is supported."""

    title: str
    evidence: str
    answer: str
    supported: bool
    why: str
    """How the answer differs from the evidence, as in "reordered" or "number"."""

    @property
    def shown(self) -> Evidence:
        """The evidence as a turn has it."""
        return Evidence("1", Origin.TEXT_SEARCH, "entry", self.title, self.evidence, used=True)


def load(path: Path = PAIRS) -> list[Pair]:
    """All labelled pairs."""
    return [Pair(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def checked(pair: Pair) -> bool:
    """What the server's check says."""
    return verify(pair.answer, [pair.shown]).outcome is VerdictOutcome.SUPPORTED


def by_names(pair: Pair) -> bool:
    """The simplest rule: the whole answer stands in the evidence, or all the names and numbers that it has."""
    text, spoken = words(f"{pair.title}\n{pair.evidence}"), words(pair.answer)
    named = [word for word in spoken if word.named and word.key not in _UNNAMED]
    return stands_in(spoken, text) or (bool(named) and all(stands_in([word], text) for word in named))


def agreement(pairs: Sequence[Pair], said: Sequence[bool]) -> float:
    """Of how many pairs label and judgement agree, in per cent."""
    return 100.0 * sum(pair.supported is each for pair, each in zip(pairs, said, strict=True)) / len(pairs)


def gained(pairs: Sequence[Pair], said: Sequence[bool], other: Sequence[bool]) -> tuple[float, str]:
    """Percentage points by which one judgement agrees more often than another one, and the interval as text."""
    scores = [
        float(one is pair.supported) - float(two is pair.supported)
        for pair, one, two in zip(pairs, said, other, strict=True)
    ]
    low, high = (100 * edge for edge in confidence_interval(scores))
    return 100 * sum(scores) / len(scores), f"95 % interval {low:.1f} to {high:.1f}"
