"""Turns answers into figures: accuracy, searches, labels, recalls. No servers here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.accuracy.planner.asking import Asked
from quizglass_lab.pocketworld.questions import Question
from quizglass_lab.scoring.answers import exact_match, token_f1, truthfulness
from quizglass_lab.starter.stages.annotate import label_of

Judge = Callable[["Case"], float]


@dataclass(frozen=True)
class Case:
    """A question, what came back, and whether its thing was trained on."""

    question: Question
    asked: Asked
    unseen: bool

    def right(self, turn: str) -> bool:
        """Whether an answer is exactly right after normalisation."""
        return exact_match(self.asked.turns[turn]["answer"], self.question.answer, self.question.aliases)

    def abstained(self, turn: str) -> bool:
        """Whether an answer is "I don't know"."""
        return bool(self.asked.turns[turn]["abstained"])

    def truthfulness(self, turn: str) -> int:
        """1 for a right answer, 0 for "I don't know", -1 for a wrong one."""
        return truthfulness(right=self.right(turn), refused=self.abstained(turn))

    @property
    def hops(self) -> int:
        """How many entries hold what is needed."""
        return len(self.question.gold_entries)

    def f1(self, turn: str) -> float:
        """Token F1 of an answer, against the nearest gold wording."""
        return token_f1(self.asked.turns[turn]["answer"], self.question.answer, self.question.aliases)


def annotate(case: Case) -> str | None:
    """Plan by the annotation (docs/policies.md), on the served base model; None for an illogical case."""
    own, image, gold = (str(case.asked.turns[turn]["answer"]) for turn in ("none", "q_i", "q_g"))
    return label_of(case.question, (own, image, gold))


def mean(cases: Sequence[Case], judge: Judge) -> float:
    """Mean of a judgement; NaN over nothing."""
    return sum(judge(case) for case in cases) / len(cases) if cases else float("nan")


def searched(case: Case, policy: str, stage: str) -> bool:
    """Whether a turn really searched, as planned or when it looked again."""
    return bool(case.asked.turns[policy]["searches"][stage])


def reranked_rank(case: Case, policy: str) -> int | None:
    """Position of the first passage that holds the answer, from 0, among a turn's passages; None when none does."""
    passages = [item for item in case.asked.turns[policy]["evidence"] if item[0] == "text_search"]
    return _rank(case.question, [(item[1], item[2]) for item in passages])


def served_rank(case: Case) -> int | None:
    """The same in the order in which the store gives passages for always-both's own query."""
    return _rank(case.question, [(entry, text) for entry, text in case.asked.served])


def _rank(question: Question, passages: Sequence[tuple[str, str]]) -> int | None:
    gold = question.gold_entries[-1] if question.gold_entries else ""
    for position, (entry, text) in enumerate(passages):
        if entry == gold and question.answer.lower() in text.lower():
            return position
    return None


def image_hit(case: Case, policy: str, within: int) -> bool:
    """Whether the picture's thing is among the first entries of a turn's image search."""
    items = [e for e in case.asked.turns[policy]["evidence"] if e[0] == "image_search"]
    return case.question.target in [item[1] for item in items[:within]]
