"""`python -m bench.languages [--show]`: which questions are refused for their language."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Mapping, Sequence
from statistics import mean, median, quantiles
from time import thread_time

from rich.console import Console

from bench import results
from bench.languages.dataset import ENGLISH, OTHER, UNSEEN, read
from bench.own import dataset as own
from bench.results import Row
from quizglass_lab.answering.notes import read_notes
from quizglass_server.steps.language.detection.identification import is_in
from quizglass_server.steps.language.intents import Intent, intent_of

MOST_ENGLISH, MOST_MS, MOST_START_MS = 1.0, 1.0, 50.0
_START = (
    "from time import process_time as now; begun = now(); "
    "from quizglass_server.steps.language.detection.identification import is_in; "
    "is_in('Wie alt ist das?', ('en',)); print(1e3 * (now() - begun))"
)
_STARTS = 5


def refused(question: str) -> bool:
    """Whether a bundle that answers in English refuses a question for its language, as `Assistant` has it."""
    return intent_of(question) is Intent.FACT and not is_in(question, ("en",))


def share(questions: Sequence[str]) -> float:
    """Percent of questions that are refused."""
    return 100.0 * sum(map(refused, questions)) / len(questions)


def english() -> Mapping[str, Sequence[str]]:
    """English questions: those of this benchmark by style, and those that others wrote for others."""
    notes = [question.text for note in read_notes() for question in note.questions]
    looked = [question.text for thing in own.of_split(own.all_things(), "dev") for question in thing.questions]
    return {**read(ENGLISH), "about notes of many writers": notes, "of bench-own, the split for looking": looked}


def rows() -> list[Row]:
    """All that is measured."""
    other, own_language = read(OTHER), english()
    every = [question for questions in other.values() for question in questions]
    written = [question for style in read(ENGLISH) for question in own_language[style]]
    name = f"questions in {len(other)} other languages that are refused ({len(every)})"
    made = [results.at_least(name, share(every), "%", 100.0)]
    made += [Row(f"refused: {tag} ({len(questions)})", share(questions), "%") for tag, questions in other.items()]
    made.append(
        results.at_most(f"English questions that are refused ({len(written)})", share(written), "%", MOST_ENGLISH)
    )
    made += [Row(f"English refused: {style} ({len(some)})", share(some), "%") for style, some in own_language.items()]
    unseen = dict(read(UNSEEN))
    terse = unseen.pop("English")
    later = [question for some in unseen.values() for question in some]
    made.append(
        Row(
            f"unseen: questions in {len(unseen)} languages of Latin letters that are refused ({len(later)})",
            share(later),
            "%",
        )
    )
    made.append(
        Row(f"unseen: terse and misspelt English, with names, that is refused ({len(terse)})", share(terse), "%")
    )
    own_bundles = [
        100.0 * sum(not is_in(question, (tag,)) for question in some) / len(some) for tag, some in other.items()
    ]
    made.append(Row("refused by a bundle of their own language alone, mean of the languages", mean(own_bundles), "%"))
    return [*made, *_times([*every, *written])]


def _times(questions: Sequence[str]) -> list[Row]:
    took = []
    for question in questions:
        begun = thread_time()
        refused(question)
        took.append(1e3 * (thread_time() - begun))
    starts = [float(subprocess.check_output([sys.executable, "-c", _START])) for _ in range(_STARTS)]
    return [
        results.at_most("a question, processor time, median", median(took), "ms", MOST_MS),
        results.at_most("a question, processor time, 99th percentile", quantiles(took, n=100)[98], "ms", MOST_MS),
        results.at_most(
            "from import to the first question, processor time, median of new processes",
            median(starts),
            "ms",
            MOST_START_MS,
        ),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write. Returns 0, or 1 when a bar was missed."""
    parser = argparse.ArgumentParser(prog="bench.languages", description=__doc__)
    parser.add_argument("--show", action="store_true", help="print the questions that are judged wrongly")
    args = parser.parse_args(arguments)
    measured, console = rows(), Console()
    results.show(measured, "languages", console)
    if args.show:
        for tag, questions in read(OTHER).items():
            console.print(*(f"{tag} answered: {question}" for question in questions if not refused(question)), sep="\n")
        for style, asked in english().items():
            console.print(*(f"{style}, refused: {question}" for question in asked if refused(question)), sep="\n")
    console.print(results.write("languages", measured))
    return 0 if all(row.ok is not False for row in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
