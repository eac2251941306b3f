"""Answers that the base concludes from evidence, right and wrong, for the verifier to judge.

Mistakes that are made up, another thing's value in place of the right one, are not those that a base makes: a verifier
that knew no others doubted hardly any wrong answer of QA-Dragon's.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from quizglass_lab.pocketworld.question import ABSTAIN, Question
from quizglass_lab.scoring.answers import exact_match, refuses
from quizglass_lab.scoring.certainty import earnings, fitted
from quizglass_lab.starter.data.examples import LETTERS, Encoder, Example, Request
from quizglass_lab.starter.data.hits import Drawn, Hits
from quizglass_lab.starter.data.knowing import missing_names
from quizglass_lab.starter.data.situations import base_request
from quizglass_lab.starter.data.store import Asked
from quizglass_lab.starter.data.tasks.choices import JUDGEMENTS
from quizglass_lab.starter.loop.decoding import write
from quizglass_lab.starter.model.vlm import Model
from quizglass_lab.starter.stages.records import read_rows
from quizglass_server.domain.state import Draft
from quizglass_server.steps.decide import trust

SUPPORTED = JUDGEMENTS[0]
_MANNERS = (("right", "wrong", "none"), (0.82, 0.1, 0.08))
"""Of image searches, about as servers see them: a verifier that was taught more wrong ones doubts right answers."""
_FOLDS = 5
CERTAINTY, ACCEPT, COLOUR = 0.8, 0.05, 6.0
"""How much an answer's tokens count beside the verifier, how far an answer must be trusted to be given, and how much
less it is where its evidence is of another colour. Set by the served answers to 900 questions of three worlds that had
been looked at. Fitted to the answers here the tokens would have less: these have evidence of the making that the
verifier learned from, and no search brought it, so that its match is not known."""
_FOUND = 0.85
"""Share of the text searches that bring the passage which tells, about as served: they miss what takes several."""


@dataclass(frozen=True)
class OwnAnswer:
    """An answer with the evidence that it was concluded from, and what the verifier is to say of it.

    `row` is the question's place in its `Asked`.
    """

    row: int
    evidence: tuple[str, ...]
    answer: str
    p_min: float
    """The least and the mean probability of the answer's tokens, 0 to 1."""
    p_mean: float
    label: str

    def example(self, question: Question) -> Example:
        """The verifier's prompt about it."""
        certainty = Draft(probabilities=(self.p_min,)).certainty
        values = {
            "evidence": list(self.evidence),
            "answer": self.answer,
            "certainty": certainty,
        }
        request = replace(base_request(question, self.row), template="verifier", values=values)
        return Example(request, LETTERS[JUDGEMENTS.index(self.label)], f"verifier-own-{self.label}")


def judged(model: Model, encoder: Encoder, asked: Asked, rows: Sequence[int], seed: int) -> list[OwnAnswer]:
    """What the base concludes about `rows`, as QA-Dragon asks it; refusals are left out.

    The reason that a turn writes before is not among it: the starter's prompts do not show it.
    """
    rng = random.Random(seed)
    hits = {id(library): Hits(library, rng, sees=True) for library in asked.worlds}
    chosen = [row for row in rows if asked.questions[row].conflict is None and not asked.questions[row].claims]
    requests = [_request(asked.questions[row], row, hits[id(asked.libraries[row])], rng) for row in chosen]
    drafts = [Draft(each.text, each.probabilities) for each in write(model, encoder, requests, asked.pictures)]
    return [
        _judged(asked.questions[row], row, request, draft)
        for row, request, draft in zip(chosen, requests, drafts, strict=True)
        if not refuses(draft.text)
    ]


def _judged(question: Question, row: int, request: Request, draft: Draft) -> OwnAnswer:
    label = label_of(question, request, draft.text)
    p_min, p_mean = round(draft.p_min, 6), round(draft.p_mean, 6)
    return OwnAnswer(row, (*request.seen, *request.found), draft.text, p_min, p_mean, label)


def label_of(question: Question, request: Request, answer: str) -> str:
    """Supported where the answer is right; else contradicted where the evidence tells the right one."""
    if question.answer != ABSTAIN and exact_match(answer, question.answer, question.aliases):
        return SUPPORTED
    told = any(question.answer in line for line in request.found)
    return "contradicted" if told else "unsupported"


def _request(question: Question, row: int, hits: Hits, rng: random.Random) -> Request:
    """The prompt for the answer: with the thing's entry and passages, another's, or neither."""
    drawn = hits.draw(question, rng.choices(*_MANNERS)[0])
    base = replace(base_request(question, row), template="conclude", seen=drawn.lines[:1])
    if not any(hop.action == "text" for hop in question.hops):
        return base
    library = hits.library
    if drawn.right or not missing_names(question):
        found = (library.found if rng.random() < _FOUND else library.vain)(question, rng)
        return replace(base, found=found, query=question.gold_query)
    found = _of_another(question, drawn, hits) or library.vain(question, rng)
    return replace(base, found=found, query=_renamed(question, drawn, hits))


def _of_another(question: Question, drawn: Drawn, hits: Hits) -> tuple[str, ...]:
    """The passage that tells of a wrong hit what was asked."""
    article = hits.library.articles.get(drawn.things[0].id) if drawn.things else None
    passage = hits.library.telling(article, question.gold_attribute or "") if article else None
    return (passage,) if passage else ()


def _renamed(question: Question, drawn: Drawn, hits: Hits) -> str:
    """The query that is written about a wrong hit: the gold one with its name; without a hit, the question itself."""
    target = hits.target(question)
    if target is None or not drawn.things:
        return question.text
    return question.gold_query.replace(target.name, drawn.things[0].name)


def certainty(answers: Sequence[OwnAnswer]) -> dict[str, object]:
    """The line over the probabilities of answers' tokens that earns most, as a bundle has it, with what it earns.

    That is measured by cross-validation: each part of the answers with the line of the others. Too few answers have no
    line.
    """
    if len(answers) < _FOLDS:
        return {"answers": len(answers)}
    points = np.array([(each.p_min, each.p_mean) for each in answers])
    right = np.array([each.label == SUPPORTED for each in answers], bool)
    line, earned = fitted(points, right, _FOLDS, seed=0)
    return {"line": line, "answers": len(answers), **{name: round(value, 4) for name, value in earned.items()}}


def trusted(verified: Sequence[float], certain: Sequence[float], right: Sequence[bool]) -> dict[str, object]:
    """A bundle's `support_certainty`, `support_accept` and `support_colour`, and what the first two earn.

    Args:
        verified: what the verifier gives "supported", of each answer.
        certain: the least token probability of each.
        right: whether each is.
    """
    if not right:
        return {}
    kept = [trust(each, p_min, CERTAINTY) >= ACCEPT for each, p_min in zip(verified, certain, strict=True)]
    measured = earnings(np.array(right, bool), np.array(kept, bool))
    return {
        "support_certainty": CERTAINTY,
        "support_accept": ACCEPT,
        "support_colour": COLOUR,
        "support": {key: round(value, 4) for key, value in measured.items()},
    }


def shares(answers: Sequence[OwnAnswer]) -> dict[str, int]:
    """How often each label was given."""
    counts = Counter(each.label for each in answers)
    return {label: counts[label] for label in sorted(counts)}


def file_of(name: str) -> str:
    """The name of the file that keeps the answers about a set of questions."""
    return f"{name}-answers.jsonl"


def load(path: Path) -> list[OwnAnswer]:
    """What was saved there."""
    return [OwnAnswer(**{**row, "evidence": tuple(row["evidence"])}) for row in read_rows(path)]
