"""Stage 4: where each question has to be looked up, found out by asking the base model itself.

"Visual query decomposition" of the planning-agent paper: the model answers the question q, the image query q_i
("what is this called?") and the gold query q_g (text alone, the name filled in), each without evidence. A judge
compares with the gold answers. Right on q: nothing to look up. Else right on q_i: it lacks the fact, text. Else right
on q_g: it lacks the name, image. Else both. Right on q_i and on q_g yet wrong on q is illogical and dropped.
"""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from quizglass_lab.pocketworld.question import asks_picture
from quizglass_lab.pocketworld.questions import Question
from quizglass_lab.scoring.answers import exact_match
from quizglass_lab.scoring.plans import plan_label
from quizglass_lab.starter.data.examples import Encoder, Request
from quizglass_lab.starter.data.knowing import Known
from quizglass_lab.starter.data.situations import base_request
from quizglass_lab.starter.data.store import Asked
from quizglass_lab.starter.loop.decoding import write
from quizglass_lab.starter.model.vlm import Model
from quizglass_lab.starter.stages.records import read_rows
from quizglass_server.domain.state import Draft

logger = logging.getLogger(__name__)
LABELS = {"none": " A", "image": " B", "text": " C", "both": " D"}
"""Plan groups and the letters that stand for them, in the order of the paper's options."""


@dataclass(frozen=True)
class Annotation:
    """One question's label and what it was made from; `row` is the question's place in its `Asked`."""

    row: int
    plan: str
    family: str
    group: str | None
    seen_in_training: bool
    answers: tuple[str, str, str]
    p_min: float
    """The least probability of a token of the first of them, 0 to 1."""

    def known(self, question: Question) -> Known:
        """What of its question the base knew."""
        return known(question, self.answers)


def plan_request(question: Question, picture: int) -> Request:
    """What the planner is asked."""
    return replace(base_request(question, picture), template="plan")


def annotate(model: Model, encoder: Encoder, asked: Asked, rows: Sequence[int]) -> list[Annotation]:
    """Labels of the answerable questions among `rows`."""
    chosen = [row for row in rows if asked.questions[row].group is not None]
    questions = [asked.questions[row] for row in chosen]
    own = [
        Request("answer", question.text, question.history, question.words, picture=row)
        for row, question in zip(chosen, questions, strict=True)
    ]
    image = [
        Request("answer", question.image_query, question.history, question.words, picture=row)
        for row, question in zip(chosen, questions, strict=True)
    ]
    gold = [Request("answer", question.gold_query) for question in questions]
    answers = write(model, encoder, [*own, *image, *gold], asked.pictures)
    count = len(chosen)
    annotations: list[Annotation] = []
    dropped = 0
    for index, (row, question) in enumerate(zip(chosen, questions, strict=True)):
        three = (answers[index].text, answers[count + index].text, answers[2 * count + index].text)
        plan = label_of(question, three)
        if plan is None:
            dropped += 1
            continue
        core = (question.target or "").startswith("w1-")
        p_min = Draft(probabilities=answers[index].probabilities).p_min
        annotations.append(Annotation(row, plan, question.family, question.group, core, three, round(p_min, 6)))
    logger.info(
        "annotated %d, dropped %d as illogical, %s",
        len(annotations),
        dropped,
        dict(Counter(a.plan for a in annotations)),
    )
    return annotations


HELD_OUT = 1400
"""Questions annotated to measure the decider with."""


def balanced_rows(asked: Asked, count: int, rng: random.Random) -> list[int]:
    """At most `count` answerable questions, the groups they were made for in equal parts where there are enough."""
    groups: dict[str | None, list[int]] = {}
    for row, question in enumerate(asked.questions):
        if question.group is not None:
            groups.setdefault(question.group, []).append(row)
    share = count // max(1, len(groups))
    return sorted(row for rows in groups.values() for row in rng.sample(rows, min(share, len(rows))))


def shares(made: Sequence[Annotation]) -> dict[str, int]:
    """How often each label was given."""
    counts = Counter(annotation.plan for annotation in made)
    return {plan: counts[plan] for plan in LABELS}


def label_of(question: Question, given: tuple[str, str, str]) -> str | None:
    """The label of a question from the model's answers to q, q_i and q_g; None for the illogical."""
    verdicts = known(question, given)
    return plan_label(verdicts.answer, verdicts.name, verdicts.rest)


def known(question: Question, given: tuple[str, str, str]) -> Known:
    """Which of q, q_i and q_g the answers show to be known."""
    own = exact_match(given[0], question.answer, question.aliases)
    asked = asks_picture(question.target, question.hops, question.image_answer, question.text)
    image = not asked or exact_match(given[1], question.image_answer)
    return Known(own, image, exact_match(given[2], question.answer, question.aliases))


def load(path: Path) -> list[Annotation]:
    """What was saved there."""
    return [Annotation(**{**row, "answers": tuple(row["answers"])}) for row in read_rows(path)]
