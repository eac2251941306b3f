"""What QA-Dragon's white-box verifier is fitted on: a server's answers, how sure it was of them, and whether right."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pydantic import ConfigDict, Field

from quizglass_client import Client
from quizglass_client.types import Answer
from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.finetuning.asking.judge import GivenAnswer, right
from quizglass_lab.finetuning.asking.served import served_turn
from quizglass_lab.finetuning.recipes.questions import (
    DataOptions,
    go_on,
    make_judge,
    only_where,
    picture_file,
    read_questions,
)
from quizglass_lab.finetuning.shared.progress import Progress
from quizglass_lab.finetuning.shared.records import Record, each_kept
from quizglass_lab.scoring.answers import refuses

TURNS = "turns.jsonl"


class ServedAnswersAnnotation(DataOptions):
    """Options of `annotate verifier-line`; only a --judge is a model that is asked."""

    server: str = Field(description="address of the running server that answers")
    policy: str = Field("qa-dragon-no-verifier", description="whose answers are judged; one that refuses none itself")
    budget: float = Field(60.0, gt=0, description="seconds for a turn")
    chunk: int = Field(64, ge=1, description="questions between two savings")


class JudgedAnswer(Record):
    """An answer, whether it was right, and the least and the mean probability of its tokens, 0 to 1."""

    # `annotate qa-dragon` writes the same and more.
    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str
    answer: str
    answer_right: bool
    p_min: float
    p_mean: float


def annotate(options: ServedAnswersAnnotation, progress: Progress) -> dict[str, Any]:
    """Write `turns.jsonl`; goes on where it was stopped. Of questions that nothing answers no answer is right."""
    every = read_questions(options)
    samples = only_where(
        every,
        lambda sample: bool(sample.answers) or not sample.answerable,
        "answers: has a gold answer, or cannot have one",
    )
    judge = make_judge(options, {})
    with Client(options.server, timeout=options.budget) as client:
        go_on(options, client)

        def judged(some: Sequence[Sample]) -> list[JudgedAnswer]:
            with ThreadPoolExecutor(options.parallel) as pool:
                said = list(pool.map(lambda sample: _answered(client, sample, options), some))
            known = [(s, text) for s, (text, *_) in zip(some, said, strict=True) if s.answerable]
            good = right(judge, [GivenAnswer.to(s, text) for s, text in known])
            ids = {s.id for (s, _), true in zip(known, good, strict=True) if true}
            return [
                JudgedAnswer(id=s.id, answer=text, answer_right=s.id in ids, p_min=least, p_mean=mean)
                for s, (text, least, mean) in zip(some, said, strict=True)
            ]

        tick = progress.phase("asking", len(samples))
        turns = each_kept(options.out / TURNS, JudgedAnswer, samples, judged, chunk=options.chunk, tick=tick)
    answered = [turn for turn in turns.values() if not refuses(turn.answer)]
    return {
        "questions": len(turns),
        "answered": len(answered),
        "right": sum(turn.answer_right for turn in answered),
    }


def _answered(client: Client, sample: Sample, options: ServedAnswersAnnotation) -> tuple[str, float, float]:
    """What the server said, with the least and the mean probability of its tokens; 0 where it wrote nothing."""
    picture = picture_file(sample, options.out / "pictures")
    policy, budget = options.policy, options.budget
    events = served_turn(client, sample.question, picture, sample.history, policy=policy, budget=budget)
    answer = Answer.of(events)
    verdict = answer.verdict
    if verdict is None:
        return answer.done.answer, 0.0, 0.0
    return answer.done.answer, verdict.min_token_probability, verdict.mean_token_probability
