"""A checkpoint of transformers' that is asked in batches."""

from __future__ import annotations

import time
from collections.abc import Sequence
from threading import Lock
from typing import Any

import torch

from quizglass_export.checkpoints.greedy import complete
from quizglass_lab.finetuning.asking.interface import MOST_TOKENS, Ask, Chosen, Written
from quizglass_lab.finetuning.models.checkpoint import Loaded
from quizglass_lab.finetuning.models.inputs import TokenRow
from quizglass_lab.finetuning.shared.records import chunks
from quizglass_server.steps.calculator import worked_out


class CheckpointModel:
    """Completes prompts greedily with PyTorch."""

    parallel = 1

    def __init__(self, loaded: Loaded, batch: int = 8) -> None:
        self.name = loaded.folder.name
        self._loaded, self._batch, self._lock = loaded, batch, Lock()

    def shows_entries(self, task: str) -> bool:
        """Whether the task's prompt shows pictures of entries too."""
        return self._loaded.prompts.shows_entries(task)

    def write(self, asks: Sequence[Ask], most_tokens: int = MOST_TOKENS) -> list[Written]:
        """Complete every prompt."""
        with self._lock, torch.no_grad():
            parts = chunks([self._row(ask) for ask in asks], self._batch)
            return [written for part in parts for written in self._written(part, most_tokens)]

    def choose(self, asks: Sequence[Ask], labels: Sequence[str]) -> list[Chosen]:
        """Probability of each label, which must be one token."""
        ids = [self._loaded.inputs.tokenizer.label(label) for label in labels]
        with self._lock, torch.no_grad():
            parts = chunks([self._row(ask) for ask in asks], self._batch)
            return [chosen for part in parts for chosen in self._chosen(part, ids)]

    def _chosen(self, rows: Sequence[TokenRow], ids: Sequence[int]) -> list[Chosen]:
        began = time.perf_counter()
        logits = self._loaded.model(**self._tensors(rows), logits_to_keep=1).logits[:, -1, ids]
        shares = logits.float().softmax(-1).tolist()
        seconds = (time.perf_counter() - began) / len(rows)
        return [Chosen(tuple(share), len(row.ids), seconds) for row, share in zip(rows, shares, strict=True)]

    def _row(self, ask: Ask) -> TokenRow:
        return self._loaded.inputs.row(self._loaded.prompts.fill(ask.task, ask.values, len(ask.pictures)), ask.pictures)

    def _tensors(self, rows: Sequence[TokenRow]) -> dict[str, Any]:
        batch = self._loaded.inputs.batch(rows, left=True)
        return {name: tensor.to(self._loaded.device) for name, tensor in batch.items()}

    def _written(self, rows: Sequence[TokenRow], most_tokens: int) -> list[Written]:
        began, loaded = time.perf_counter(), self._loaded
        inputs = self._tensors(rows)
        output = complete(loaded.model, inputs, [loaded.stop], most_tokens)
        answers = output.sequences[:, inputs["input_ids"].shape[1] :]
        steps = zip(output.logits, answers.T, strict=True)
        sure = torch.stack([step.float().softmax(-1).gather(1, ids[:, None])[:, 0] for step, ids in steps], 1)
        seconds = (time.perf_counter() - began) / len(rows)
        written = []
        for row, answer, probabilities in zip(rows, answers.tolist(), sure.tolist(), strict=True):
            length = answer.index(loaded.stop) if loaded.stop in answer else len(answer)
            text = worked_out(loaded.inputs.tokenizer.decode(answer[:length]).strip())
            written.append(Written(text, tuple(probabilities[:length]), len(row.ids), length, seconds))
        return written
