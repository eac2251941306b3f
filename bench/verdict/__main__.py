"""`python -m bench.verdict [--show]`: the check of an answer against labels, beside the rule that it replaced."""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from bench import results
from bench.results import Row
from quizglass.values import Origin, VerdictOutcome
from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.language.wording import stands_in, words
from quizglass_server.steps.verify import verify

PAIRS = Path(__file__).with_name("pairs.jsonl")
HELD_OUT = Path(__file__).with_name("held_out.jsonl")
"""Written after `PAIRS`, before the check was changed with them in view; the check is not changed for its pairs."""
ANOTHER = Path(__file__).with_name("another_author.jsonl")
"""Of household notes, by an author who had read neither the rules nor the other pairs."""
RULE = "names and numbers"
LEAST_AGREEMENT = 90.0
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


def load(path: Path = PAIRS) -> list[Pair]:
    """All labelled pairs."""
    return [Pair(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def checked(pair: Pair) -> bool:
    """What the server's check says."""
    shown = Evidence("1", Origin.TEXT_SEARCH, "entry", pair.title, pair.evidence, used=True)
    return verify(pair.answer, [shown]).outcome is VerdictOutcome.SUPPORTED


def by_names(pair: Pair) -> bool:
    """The simplest rule: the whole answer stands in the evidence, or all the names and numbers that it has."""
    text, spoken = words(f"{pair.title}\n{pair.evidence}"), words(pair.answer)
    named = [word for word in spoken if word.named and word.key not in _UNNAMED]
    return stands_in(spoken, text) or (bool(named) and all(stands_in([word], text) for word in named))


def rows(pairs: Sequence[Pair], which: str = "") -> list[Row]:
    """Agreement, contradictions passed, and the share that is right by kind of answer, of the pairs called `which`."""
    agreement, rule = _agreement(pairs, checked), _agreement(pairs, by_names)
    wrong = [pair for pair in pairs if not pair.supported]
    passed, passed_by_rule = sum(map(checked, wrong)), sum(map(by_names, wrong))
    name = f"{which}pairs of which check and label agree ({len(pairs)})"
    enough = agreement >= LEAST_AGREEMENT
    made = [
        Row(name, agreement, "%", RULE, rule, results.ratio(agreement, rule), f">= {LEAST_AGREEMENT:g}", enough),
        Row(
            f"{which}not supported, passed as supported ({len(wrong)})",
            passed,
            "",
            RULE,
            passed_by_rule,
            None,
            "<= 0",
            not passed,
        ),
    ]
    kinds: dict[tuple[bool, str], list[Pair]] = defaultdict(list)
    for pair in pairs:
        kinds[not pair.supported, pair.why].append(pair)
    for (unsupported, why), some in sorted(kinds.items()):
        label = "not supported" if unsupported else "supported"
        ours, theirs = _agreement(some, checked), _agreement(some, by_names)
        made.append(Row(f"{which}{label}, {why} ({len(some)})", ours, "%", RULE, theirs))
    return made


def _agreement(pairs: Sequence[Pair], check: Callable[[Pair], bool]) -> float:
    return 100.0 * sum(check(pair) == pair.supported for pair in pairs) / len(pairs)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write. Returns 0, or 1 when a bar was missed."""
    parser = argparse.ArgumentParser(prog="bench.verdict", description=__doc__)
    parser.add_argument("--show", action="store_true", help="print the first pairs that are judged wrongly")
    args = parser.parse_args(arguments)
    pairs, console = load(), Console()
    measured = [*rows(pairs), *rows(load(HELD_OUT), "held out: "), *rows(load(ANOTHER), "another author: ")]
    results.show(measured, "verdict", console)
    if args.show:
        for pair in pairs:
            if checked(pair) != pair.supported:
                console.print(f"{pair.why}: {pair.title}: {pair.evidence}\n    {pair.answer}")
    console.print(results.write("verdict", measured))
    return 0 if all(row.ok is not False for row in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
