"""Thoughts and drafts that the base writes itself, for QA-Dragon's routers to judge.

Thoughts that are made from the record are right; a router that knew no others believed every one that the base had.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from quizglass_lab.pocketworld.question import Question
from quizglass_lab.scoring.answers import exact_match
from quizglass_lab.scoring.plans import plan_label
from quizglass_lab.starter.data.examples import Encoder
from quizglass_lab.starter.data.situations import base_request
from quizglass_lab.starter.data.store import Asked
from quizglass_lab.starter.loop.decoding import write
from quizglass_lab.starter.model.vlm import Model
from quizglass_lab.starter.stages.annotate import Annotation
from quizglass_lab.starter.stages.records import read_rows

_THOUGHT_TOKENS = 40


@dataclass(frozen=True)
class OwnDraft:
    """What the base thinks and drafts about a question; `row` is the question's place in its `Asked`."""

    row: int
    steps: tuple[str, ...]
    draft: str
    probabilities: tuple[float, ...]
    """Of the draft's tokens, 0 to 1."""

    def plan(self, question: Question, annotation: Annotation) -> str | None:
        """Where what this draft lacks has to be looked up; None where that would be illogical."""
        known = annotation.known(question)
        return plan_label(exact_match(self.draft, question.answer, question.aliases), known.name, known.rest)


def drafted(model: Model, encoder: Encoder, asked: Asked, rows: Sequence[int]) -> list[OwnDraft]:
    """The base's thoughts and drafts about the questions of `rows`, in their order."""
    requests = [base_request(asked.questions[row], row) for row in rows]
    thinking = [replace(request, template="think") for request in requests]
    thoughts = write(model, encoder, thinking, asked.pictures, _THOUGHT_TOKENS)
    steps = [[line.strip() for line in each.text.splitlines() if line.strip()] for each in thoughts]
    told = [replace(r, template="draft", values={"steps": s}) for r, s in zip(requests, steps, strict=True)]
    return [
        OwnDraft(row, tuple(lines), draft.text, draft.probabilities)
        for row, lines, draft in zip(rows, steps, write(model, encoder, told, asked.pictures), strict=True)
    ]


def file_of(name: str) -> str:
    """The name of the file that keeps the drafts about a set of questions."""
    return f"{name}-drafts.jsonl"


def load(path: Path) -> list[OwnDraft]:
    """What was saved there."""
    rows = read_rows(path)
    return [OwnDraft(**{**r, "steps": tuple(r["steps"]), "probabilities": tuple(r["probabilities"])}) for r in rows]
