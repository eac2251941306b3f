"""Prints how an answer came about: every step of a turn on a timeline, with what it was given and what it brought."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from quizglass.text import plain
from quizglass.values import Region, StepDetail, StepEnded
from quizglass_client.terminal.timeline import TAKEN_BACK, Row, Timeline, why
from quizglass_client.types import Event

_BAR, _NAME, _MARGIN = 24, 15, 4
_SHORT, _LONG, _MOST = 40, 84, 5
_BESIDE = frozenset(("label", "tokens", "outcome", "judgement"))
"""Outputs that stand on one line together."""


def print_timeline(console: Console, events: Sequence[Event]) -> None:
    """Print the steps of a turn; rounds and branches are indented."""
    timeline, current_round = Timeline.of(events), 0
    if not timeline.rows:
        return
    console.print()
    _print(console, Text.assemble(("steps", "bold"), (f"  {_milliseconds(timeline.total)}, from left to right", "dim")))
    for row in timeline.rows:
        if row.step.round != current_round:
            current_round = row.step.round
            if current_round:
                _print(console, Text(f"round {current_round}", "bold"))
        for line in _lines(row):
            _print(console, line)


def _print(console: Console, line: Text) -> None:
    line.rstrip()
    console.print(line, soft_wrap=True)


def _lines(row: Row) -> Iterator[Text]:
    step = row.step
    indent = "  " * _depth(step)
    name = f"{indent}{plain(step.name)}{f' ({plain(step.branch)})' if step.branch else ''}"
    head = Text.assemble((f"{name:<{_NAME + _MARGIN}}", "bold"), " ", _bar(row))
    if step.reason:
        head.append(f" {plain(why(step.reason)):>8}", "yellow")
    else:
        head.append(f" {_milliseconds(step.duration):>8}")
    head.append(f"  {plain(step.role)}", "dim")
    yield head
    margin = indent + " " * _MARGIN
    if given := [_given(detail) for detail in step.inputs]:
        yield Text(f"{margin}{' · '.join(_limited(given, 'more'))}", "dim")
    yield from (Text.assemble(margin, ("→ ", "dim"), line) for line in _brought(step))


def _depth(step: StepEnded) -> int:
    return (step.round > 0) + (step.branch.count(".") + 1 if step.branch else 0)


def _bar(row: Row) -> Text:
    first = min(round(row.left * _BAR), _BAR - 1)
    length = 0 if row.step.reason and not row.width else max(1, round(row.width * _BAR))
    length = min(length, _BAR - first)
    return Text.assemble(("·" * first, "dim"), ("━" * length, "cyan"), ("·" * (_BAR - first - length), "dim"))


def _given(detail: StepDetail) -> str:
    value = _where(detail.region) if detail.region else _cut(detail.text, _SHORT)
    return f"{plain(detail.label)} {value}".rstrip()


def _brought(step: StepEnded) -> list[Text]:
    beside = [_result(detail) for detail in step.outputs if detail.label in _BESIDE]
    lines = [_result(detail) for detail in step.outputs if detail.label not in _BESIDE]
    more = len(lines) - _MOST
    lines = lines[:_MOST] + ([Text(f"{more} more", "dim")] if more > 0 else [])
    return [*lines, *([Text("  ").join(beside)] if beside else [])]


def _result(detail: StepDetail) -> Text:
    text = Text(f"[{plain(detail.evidence_id)}] " if detail.evidence_id else "")
    if detail.region is not None:
        text.append(f"{plain(detail.label)} {_where(detail.region)}")
    else:
        style = "yellow" if detail.text == TAKEN_BACK else ""
        named = detail.label in ("text", "label", "outcome", "judgement") or detail.evidence_id or detail.score
        label = "" if named else f"{plain(detail.label)} "
        text.append(f"{label}{_cut(detail.text, _LONG)}", style)
    if detail.score is not None:
        text.append(f" {detail.score:.2f}", "bold")
    return text


def _where(region: Region) -> str:
    """A part of the picture, in percent of its width and height."""
    left, top, right, bottom = (f"{100 * side:.0f}" for side in (region.left, region.top, region.right, region.bottom))
    return f"{left}-{right} % across, {top}-{bottom} % down"


def _limited(items: list[str], rest: str) -> list[str]:
    more = len(items) - 2 * _MOST
    return items if more <= 0 else [*items[: 2 * _MOST], f"{more} {rest}"]


def _cut(text: str, longest: int) -> str:
    text = plain(" ".join(text.split()))
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms"
