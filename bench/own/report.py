"""The list of everything that is not right, to be read by eye, behind a table by kinds of questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.own.dataset import KINDS, Groups
from bench.own.judge import Judged
from bench.own.measures import Case, Cases, by_kind

_COLUMNS = (*(str(each) for each in Judged), "wrong and supported")


def write_report(path: Path, cases: Cases) -> None:
    """Write the table of every policy, and the misses of each, as Markdown."""
    lines = [*_table(cases)]
    for policy, some in cases.items():
        missed = [case for case in some if case.judged is not Judged.RIGHT]
        lines += ["", f"# {policy}: {len(missed)} of {len(some)} not right"]
        lines += [line for case in missed for line in _miss(case)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_misses(path: Path, split: str, some: Sequence[Case]) -> None:
    """Write what the default does not answer rightly, as Markdown that is kept with the results."""
    missed = [case for case in some if case.judged is not Judged.RIGHT]
    lines = [f"# Own things, split {split}: {len(missed)} of {len(some)} not right", ""]
    lines += [
        f"Written by `python -m bench.own --split {split}`: the server's default policy, every miss, to be read by eye."
    ]
    lines += [line for case in missed for line in _miss(case)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def table(cases: Cases) -> str:
    """By kinds of questions: right / incomplete / refused / wrong (wrong and supported)."""
    return "\n".join(_table(cases))


def _table(cases: Cases) -> Iterator[str]:
    counts = by_kind(cases)
    yield "| kind | n | " + " | ".join(counts) + " |"
    yield "|---|---|" + "---|" * len(counts)
    for kind, title in KINDS.items():
        asked = sum(counts[next(iter(counts))][kind].get(each, 0) for each in _COLUMNS[:-1])
        yield f"| {title} | {asked} | " + " | ".join(_cell([each[kind]]) for each in counts.values()) + " |"
    asked = len(next(iter(cases.values())))
    yield f"| all | {asked} | " + " | ".join(_cell([*each.values()]) for each in counts.values()) + " |"


def _cell(counts: Sequence[dict[str, int]]) -> str:
    right, incomplete, refused, wrong, supported = (sum(each.get(name, 0) for each in counts) for name in _COLUMNS)
    return f"{right} / {incomplete} / {refused} / {wrong} ({supported})"


def _miss(case: Case) -> Iterator[str]:
    question, thing, told = case.question, case.thing, case.told
    shown = f"{thing.picture}, {thing.way}; taken for {case.recognised or 'nothing'}" if thing.picture else "no picture"
    yield ""
    yield f"**{question.id}** ({KINDS[question.kind]}; {shown})"
    yield f"- asked: {question.text}"
    yield f"- note: {thing.title + ': ' + ' '.join(thing.note.split()) if thing.stored else 'none'}"
    yield f"- right: {_gold(question.gold.groups + question.gold.whole) or 'not in the store'}"
    yield f"- said: {told.text!r}"
    yield f"- {case.judged}, verdict {told.outcome or 'none'}, {told.kind or told.reason or 'kind unknown'}"


def _gold(groups: Groups) -> str:
    return " and ".join(" or ".join(group) for group in groups)
