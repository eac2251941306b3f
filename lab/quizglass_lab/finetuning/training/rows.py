"""Training examples as token rows and batches of a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch.utils.data import Dataset

from quizglass_bundle.inputs.prompts import Prompt, PromptError, Segment, SegmentKind
from quizglass_export.errors import ExportError
from quizglass_lab.finetuning.models.checkpoint import Loaded
from quizglass_lab.finetuning.models.inputs import InputMaker, TokenRow
from quizglass_lab.finetuning.training.examples import TrainingExample


def answer_ids(loaded: Loaded, prompt: Prompt, example: TrainingExample) -> list[int]:
    """Token ids of the target: a label's one token, or a text and the token that ends it."""
    tokenizer = loaded.inputs.tokenizer
    if example.labels:
        return [tokenizer.label(example.target)]
    begins = prompt[-1].text[-1:] if prompt else ""
    space = " " if begins.strip() else ""
    return [*tokenizer.encode((Segment(SegmentKind.DATA, space + example.target),)), loaded.stop]


class ExampleRows(Dataset[TokenRow]):
    """Examples as token rows, made when they are asked for, and kept."""

    def __init__(self, loaded: Loaded, examples: Sequence[TrainingExample], folder: Path) -> None:
        self._loaded, self._examples, self._folder = loaded, examples, folder
        self._rows: dict[int, TokenRow] = {}

    def __len__(self) -> int:
        return len(self._examples)

    def __getitem__(self, index: int) -> TokenRow:
        if index not in self._rows:
            self._rows[index] = self._row(self._examples[index])
        return self._rows[index]

    def lengths(self) -> list[int]:
        """Number of tokens of each example, prompt and answer together."""
        return [len(self[index].ids) for index in range(len(self))]

    def check(self) -> None:
        """Make one row of each task with its labels, so that a template or a label that is wrong ends no run midway."""
        kinds = {(example.task, example.labels): index for index, example in enumerate(self._examples)}
        for index in kinds.values():
            self[index]

    def _row(self, example: TrainingExample) -> TokenRow:
        pictures = example.picture_paths(self._folder)
        try:
            prompt = self._loaded.prompts.fill(example.task, example.values, len(pictures))
            return self._loaded.inputs.row(prompt, pictures, answer_ids(self._loaded, prompt, example))
        except PromptError as error:
            raise ExportError(f"{self._folder}: example {example.id!r}: {error}") from error


def collated(inputs: InputMaker, rows: Sequence[TokenRow]) -> dict[str, torch.Tensor]:
    """Tensors of a batch, with `labels` [B, S] that are -100 outside of answers."""
    batch = inputs.batch(rows)
    labels = torch.full_like(batch["input_ids"], -100)
    for index, row in enumerate(rows):
        end = len(row.ids)
        labels[index, end - row.answer : end] = batch["input_ids"][index, end - row.answer : end]
    return {**batch, "labels": labels}
