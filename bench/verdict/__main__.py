"""`python -m bench.verdict [--show] [--everyday FOLDER]`: the check of an answer against labels, beside other judges.

These are the rule that it replaced, and the reranker of the everyday bundle where that has been built.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from bench import results
from bench.results import Row
from bench.verdict import relevance
from bench.verdict.pairs import ANOTHER, HELD_OUT, PAIRS, Pair, agreement, by_names, checked, load

RULE = "names and numbers"
LEAST_AGREEMENT = 90.0
SETS = {"": PAIRS, "held out: ": HELD_OUT, "another author: ": ANOTHER}
"""By how the names of their rows begin."""


def rows(pairs: Sequence[Pair], which: str = "") -> list[Row]:
    """Agreement, contradictions passed, and the share that is right by kind of answer, of the pairs called `which`."""
    ours, rule = _share(pairs, checked), _share(pairs, by_names)
    wrong = [pair for pair in pairs if not pair.supported]
    passed, passed_by_rule = sum(map(checked, wrong)), sum(map(by_names, wrong))
    name = f"{which}pairs of which check and label agree ({len(pairs)})"
    enough = ours >= LEAST_AGREEMENT
    made = [
        Row(name, ours, "%", RULE, rule, results.ratio(ours, rule), f">= {LEAST_AGREEMENT:g}", enough),
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
        ours, theirs = _share(some, checked), _share(some, by_names)
        made.append(Row(f"{which}{label}, {why} ({len(some)})", ours, "%", RULE, theirs))
    return made


def _share(pairs: Sequence[Pair], judge: Callable[[Pair], bool]) -> float:
    return agreement(pairs, [judge(pair) for pair in pairs])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write. Returns 0, or 1 when a bar was missed."""
    parser = argparse.ArgumentParser(prog="bench.verdict", description=__doc__)
    parser.add_argument("--show", action="store_true", help="print the first pairs that are judged wrongly")
    parser.add_argument("--everyday", type=Path, default=Path("work/everyday"), help="where the everyday bundle is")
    args = parser.parse_args(arguments)
    sets, console = {which: load(path) for which, path in SETS.items()}, Console()
    measured = [row for which, pairs in sets.items() for row in rows(pairs, which)]
    measured += relevance.measured(args.everyday / "bundle", sets)
    results.show(measured, "verdict", console)
    if args.show:
        for pair in sets[""]:
            if checked(pair) != pair.supported:
                console.print(f"{pair.why}: {pair.title}: {pair.evidence}\n    {pair.answer}")
    console.print(results.write("verdict", measured))
    return 0 if all(row.ok is not False for row in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
