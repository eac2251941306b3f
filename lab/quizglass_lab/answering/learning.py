"""How a reranker learns which sentence answers: every question with its candidates is one example.

Every pair is judged by itself (binary cross-entropy), since that is how a server weighs passages; beside that the
candidates of a question compete with one another and with "none of them", whose logit is 0, since that is how one of
them is chosen, or none.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from quizglass_lab.answering.cross_encoder import PairScorer
from quizglass_lab.answering.pairs import QuestionCandidates, some_open, with_more

_WARM_UP = 0.06
_WINDOW = 64
"""Batches whose questions are sorted by length, so that little of a batch is padding."""


@dataclass(frozen=True, slots=True)
class LearningPlan:
    """How long and how fast a reranker learns."""

    learning_rate: float
    """At its peak; it rises at first and falls to 0."""
    epochs: int
    minutes: float
    """Time limit; 0: none."""
    batch: int
    """Questions at once."""
    others: int
    """Passages of other notes that a question is shown."""
    seed: int

    def steps(self, questions: int) -> int:
        """How many there are of so many questions, if time allows."""
        return self.epochs * math.ceil(questions / self.batch)


Drawn = Callable[[random.Random], Sequence[QuestionCandidates]]
"""The questions of one pass."""


def learn(scorer: PairScorer, drawn: Drawn, plan: LearningPlan, tick: Callable[[int], None]) -> list[float]:
    """Train a model's adapter in place; `tick` counts steps. Returns the mean loss of each epoch."""
    rng = random.Random(plan.seed)
    weights = [each for each in scorer.model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=plan.learning_rate, weight_decay=0.01)
    steps = plan.steps(len(drawn(random.Random(plan.seed))))
    began = time.monotonic()

    def done(step: int) -> float:
        """Share of the run that is over, by steps or by the time limit."""
        spent = (time.monotonic() - began) / 60 / plan.minutes if plan.minutes else 0.0
        return min(1.0, max(step / steps, spent))

    falling = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(done(step)))
    scorer.model.train()
    losses = []
    for _ in range(plan.epochs):
        total, count = 0.0, 0
        for batch in _batches(with_more(some_open(drawn(rng), rng), plan.others, rng), plan.batch, rng):
            if done(0) == 1:
                break
            with torch.autocast("cpu", torch.bfloat16, enabled=_multiplies_halves()):
                loss = loss_of(scorer, batch)
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            falling.step()
            optimizer.zero_grad()
            total, count = total + loss.item(), count + 1
            tick(1)
        if not count:
            break
        losses.append(round(total / count, 4))
    return losses


def loss_of(scorer: PairScorer, batch: Sequence[QuestionCandidates]) -> Tensor:
    """Mean over the questions of a batch: of their pairs, and of the choice among them and "none".

    What answers with more than is needed is right by itself, and still not chosen.
    """
    logits = scorer.logits([(each.question, passage) for each in batch for passage in each.passages])
    right = torch.tensor([place in each.answers for each in batch for place in range(len(each.passages))])
    alone = functional.binary_cross_entropy_with_logits(logits, right.float())
    chosen = []
    for own, each in zip(torch.split(logits, [len(each.passages) for each in batch]), batch, strict=True):
        none = own.new_zeros(1)
        wanted = own[sorted(each.wanted)] if each.wanted else none
        chosen.append(torch.logsumexp(torch.cat((own, none)), 0) - torch.logsumexp(wanted, 0))
    return alone + torch.stack(chosen).mean()


def _batches(some: Sequence[QuestionCandidates], size: int, rng: random.Random) -> Iterator[list[QuestionCandidates]]:
    """All of them once, in batches of similar lengths, in a random order."""
    mixed = rng.sample(some, len(some))
    for start in range(0, len(mixed), size * _WINDOW):
        window = sorted(mixed[start : start + size * _WINDOW], key=lambda each: max(map(len, each.passages)))
        batches = [window[begin : begin + size] for begin in range(0, len(window), size)]
        rng.shuffle(batches)
        yield from batches


def _multiplies_halves() -> bool:
    """Whether the processor multiplies bfloat16: four times as fast as float32, and what is learned is no worse."""
    found = torch.cpu.get_capabilities()
    return bool(found.get("amx_bf16") or found.get("avx512_bf16"))


def _rate(done: float) -> float:
    """The learning rate as a share of its peak, at a share of the steps."""
    return min(done / _WARM_UP, (1 - done) / (1 - _WARM_UP))
