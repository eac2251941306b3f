"""Training examples: what a prompt is filled with, and what the model is to say to it. Knows no model."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import Field, field_validator, model_validator

from quizglass_bundle.inputs.prompts import EMPTY
from quizglass_export.errors import ExportError
from quizglass_lab.finetuning.shared.records import Record, placed_rows

TRAIN, HELD_OUT = "train.jsonl", "held-out.jsonl"


class TrainingExample(Record):
    """A line of `train.jsonl` or `held-out.jsonl`."""

    id: str
    objective: str
    """What it is for: plan, act, reformulate, prki, vtki, sft, general ...; ablations leave one out."""
    task: str
    """Name of the prompt template, without `.jinja`."""
    values: dict[str, Any] = Field(default_factory=dict)
    """Values of the template's variables, by their names (`EMPTY` of quizglass_bundle.inputs.prompts)."""
    pictures: tuple[str, ...] = ()
    """Paths of the pictures that the prompt shows, relative to the file; the wearer's own first."""
    target: str
    """What the model is to say: a text, or one of `labels`."""
    labels: tuple[str, ...] = ()
    """Labels of a choice, each of one token, of which `target` is one; empty: `target` is a text."""

    @field_validator("values")
    @classmethod
    def _known(cls, values: dict[str, Any]) -> dict[str, Any]:
        if unknown := sorted(set(values) - set(EMPTY)):
            raise ValueError(f"{unknown[0]!r} is nothing that a prompt may name; there are {', '.join(EMPTY)}")
        return values

    @model_validator(mode="after")
    def _one_of_the_labels(self) -> Self:
        if self.labels and self.target not in self.labels:
            raise ValueError(f"target: {self.target!r} is none of the labels")
        return self

    def picture_paths(self, folder: Path) -> tuple[Path, ...]:
        """Its pictures, found from the folder of its file."""
        return tuple(folder / name for name in self.pictures)


def read_examples(
    path: Path, *, without: Sequence[str] = (), only: Sequence[str] = (), needed: bool = True
) -> list[TrainingExample]:
    """Examples of a file, less those of some objectives; at least one, if they are needed.

    Raises:
        ExportError: a line is wrong (names file, line and field), or nothing is left.
    """
    placed = placed_rows(path, TrainingExample)
    for place, row in placed:
        if missing := [name for name in row.pictures if not (path.parent / name).is_file()]:
            raise ExportError(f"{place}: pictures: {path.parent / missing[0]} is missing")
    rows = [row for _, row in placed]
    chosen = [row for row in rows if row.objective not in without and (not only or row.objective in only)]
    if needed and not chosen:
        there = ", ".join(sorted({row.objective for row in rows}))
        raise ExportError(f"{path}: no examples to train on{'; there are ' + there if there else ''}")
    return chosen


def mixed(examples: Sequence[TrainingExample], general: Sequence[TrainingExample], seed: int) -> list[TrainingExample]:
    """The examples and as many general ones (CogPlanner's 1:1), which are repeated where there are fewer."""
    if not general:
        return list(examples)
    chance = random.Random(seed)
    times, rest = divmod(len(examples), len(general))
    return [*examples, *(list(general) * times), *chance.sample(list(general), rest)]


def objectives(examples: Iterable[TrainingExample]) -> dict[str, int]:
    """How many examples each objective has."""
    return dict(sorted(Counter(example.objective for example in examples).items()))
