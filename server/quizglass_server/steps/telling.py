"""Puts what a step was given and what it brought as short labelled texts, for turns that are to be explained."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from quizglass_bundle.inputs.prompts import Values
from quizglass_server.domain.turns import Evidence, StepDetail
from quizglass_server.steps.prompt_values import line

LONGEST = 300
"""Characters of a text; evidence has an event of its own, with its full text."""


def shortened(text: str, longest: int = LONGEST) -> str:
    """A text on one line, cut where it is too long to be shown."""
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def texts(label: str, *values: str) -> Iterator[StepDetail]:
    """One detail a text; none for an empty one."""
    return (StepDetail(label, shortened(value)) for value in values if value.strip())


def weighed(items: Sequence[tuple[str, float]] | None) -> Iterator[StepDetail]:
    """Labels with their probabilities."""
    return (StepDetail("label", label, probability) for label, probability in items or ())


def passages(
    items: Sequence[Evidence] | None, score: Callable[[Evidence], float | None], label: str = "passage"
) -> Iterator[StepDetail]:
    """Evidence with one of its scores."""
    return (StepDetail(label, shortened(line(item)), score(item), evidence=item) for item in items or ())


def prompted(task: str, values: Values, *, pictures: int) -> Iterator[StepDetail]:
    """The name of a prompt, and what it is filled with; of its pictures the first is the wearer's."""
    yield StepDetail("prompt", task)
    if pictures:
        yield StepDetail("picture")
    if pictures > 1:
        yield StepDetail("pictures of entries", str(pictures - 1))
    for name, value in values.items():
        if isinstance(value, float):
            yield StepDetail(name, f"{value:.3g}")
        elif name != "queries":  # the same as `query`
            for one in [value] if isinstance(value, str) else value or ():
                yield from texts(name, one if isinstance(one, str) else ": ".join(one.values()))
