"""Decisions about entries and answers: which entry it is, what a draft lacks, whether evidence bears an answer out."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from quizglass_bundle.inputs.prompts import Values
from quizglass_lab.pocketworld.question import ABSTAIN, Question
from quizglass_lab.pocketworld.world import Thing
from quizglass_lab.starter.data.examples import LETTERS, Example
from quizglass_lab.starter.data.hits import MANNERS, Drawn, Hits
from quizglass_lab.starter.data.knowing import Known
from quizglass_lab.starter.data.library import Library
from quizglass_lab.starter.data.situations import base_request
from quizglass_lab.starter.data.tasks.drafts import NOTHING_TELLS, Drafts, thoughts

PLANS = ("none", "image", "text", "both")
SUBJECTS = ("other", "book", "logo", "plant", "calculation", "translation")
"""In the order of `policies.qa_dragon.Subject`."""
JUDGEMENTS = ("supported", "unsupported", "contradicted", "incomplete")
"""In the order of `policies.qa_dragon.Judgement`."""
MOST_ENTRIES = 5
_NONE = LETTERS[MOST_ENTRIES]
# Mostly right ones, as a server mostly asks: a decider taught that half of all answers and hits are wrong doubts those.
_RIGHT_ENTITIES = 0.67
_SELECTED = (0.15, 0.13, 0.72)
"""Of manners: one right, wrong ones, several with the right one."""
_TOLD_APART = 0.5
"""Of entries that look alike, how often the search found only the right one."""
_JUDGED = (0.6, 0.25, 0.15)
"""Of answers that are supported, unsupported, contradicted."""


def _letter(options: tuple[str, ...], label: str) -> str:
    return LETTERS[options.index(label)]


class Choices:
    """Makes examples of decisions; the answer of each is a letter."""

    def __init__(self, library: Library, rng: random.Random) -> None:
        self.library = library
        self.rng = rng
        self.hits = Hits(library, rng, sees=True)
        self.blind = Hits(library, rng)
        self.drafts = Drafts(library, rng)

    def entity(self, question: Question, picture: int | None) -> Example | None:
        """Whether an entry is what the picture shows."""
        drawn = self.hits.draw(question, "right" if self.rng.random() < _RIGHT_ENTITIES else "wrong")
        if self.hits.target(question) is None or question.conflict is not None:
            return None
        base = replace(base_request(question, picture), template="entity", seen=drawn.lines[:1])
        return Example(base, "A" if drawn.right else "B", "entity-yes" if drawn.right else "entity-no")

    def select(self, question: Question, picture: int | None, template: str = "select") -> Example | None:
        """Which of up to five entries the question is about."""
        manner = self.rng.choices(MANNERS[1:], _SELECTED)[0]
        # A picture search finds colours: where an entry alone tells another, it is oftener its caption that is wrong.
        hits = self.blind if template != "select" or manner == "wrong" else self.hits
        drawn = hits.draw(question, manner)
        target = hits.target(question)
        if target is None or len(hits.targets(question, target)) > 1 or (drawn.place or 0) >= MOST_ENTRIES:
            return None
        if question.conflict is not None:
            disputed = self._disputed(question, target)
            if disputed is None or template != "select":
                return None
            drawn = disputed
        seen = picture if template == "select" else None
        base = replace(base_request(question, seen), template=template, seen=drawn.lines[:MOST_ENTRIES])
        letter = _NONE if drawn.place is None else LETTERS[drawn.place]
        return Example(base, letter, f"{template}-{'none' if drawn.place is None else 'entry'}")

    def _disputed(self, question: Question, target: Thing) -> Drawn | None:
        """The right entry, where its picture and its text, or those of the entry that is taken for it, disagree.

        Where texts tell, the other one stands beside it, or not, as where the search told them apart. Where the picture
        tells, since captions have changed places, the search does not bring the other one.
        """
        conflict = question.conflict
        rival = self.library.things.get(conflict.rival) if conflict and conflict.right in ("text", "picture") else None
        if conflict is None or rival is None:
            return None
        alone = conflict.right == "picture" or self.rng.random() < _TOLD_APART
        found = [target] if alone else [target, rival]
        things = self.hits.ordered([*found, *self.hits.rivals([target, rival], self.rng.randint(0, 3))])
        lines = tuple(self.library.seen(thing) for thing in things)
        return Drawn("several", lines, things.index(target), tuple(things))

    def subject(self, question: Question, picture: int | None, known: Known) -> Example:
        """What the thoughts are about, as far as searches do not help with it."""
        target = self.hits.target(question)
        values = {"steps": thoughts(question, target, known)}
        kind = target.kind if target else ""
        named = bool(question.words and target and target.name in question.words)
        label = "other"
        if question.domain == "number":
            label = "calculation"
        elif named and kind in ("book", "packet"):
            label = "book" if kind == "book" else "logo"
        elif kind == "plant" and known.name:
            label = "plant"
        request = replace(base_request(question, picture), template="subject", values=values)
        return Example(request, _letter(SUBJECTS, label), f"subject-{label}")

    def tool(self, question: Question, picture: int | None, plan: str, draft: str, steps: Sequence[str]) -> Example:
        """What a draft lacks: with thoughts (QA-Dragon), or without `steps` the draft alone (draft-first)."""
        values: dict[str, str | list[str]] = {"draft": draft} | ({"steps": list(steps)} if steps else {})
        request = replace(base_request(question, picture), template="tool_router", values=values)
        return Example(request, _letter(PLANS, plan), f"tool-{plan}")

    def verify(self, question: Question, picture: int | None, known: Known) -> Example | None:
        """Whether the evidence bears an answer out."""
        texts = [hop for hop in question.hops if hop.action == "text"]
        if question.conflict is not None or (question.hops and not texts):
            return None
        if question.answer == ABSTAIN:
            return self._verify_of_another(question, picture)
        if question.claims:
            return self._verify_claims(question, picture)
        drawn, base = self.hits.draw(question), base_request(question, picture)
        label = self.rng.choices(JUDGEMENTS[:3], _JUDGED)[0]
        telling = label != "unsupported" and bool(texts)
        found = (self.library.found if telling else self.library.vain)(question, self.rng)
        if not texts and label == "unsupported":
            label = "contradicted"
        answer = self._answer(question, label)
        if answer is None:
            return None
        reason = self.drafts.telling(found, texts[-1].answer) if telling else NOTHING_TELLS
        reason = reason if self.rng.random() < 0.7 else ""
        values = {"evidence": [*drawn.lines, *found], "answer": answer, "reason": reason}
        request = replace(base, template="verifier", values=values)
        return Example(request, _letter(JUDGEMENTS, label), f"verifier-{label}")

    def _verify_of_another(self, question: Question, picture: int | None) -> Example | None:
        """What is known of another thing, as the answer to a question that has none: what it asks for is not there."""
        drawn = self.hits.draw(question, "wrong")
        article = self.library.articles.get(drawn.things[0].id) if drawn.things else None
        passage = self.library.telling(article, question.gold_attribute or "") if article else None
        if article is None or passage is None:
            return None
        values: Values = {
            "evidence": [drawn.lines[0], passage],
            "answer": article.attributes[question.gold_attribute or ""],
        }
        request = replace(base_request(question, picture), template="verifier", values=values)
        return Example(request, _letter(JUDGEMENTS, "unsupported"), "verifier-unsupported")

    def _verify_claims(self, question: Question, picture: int | None) -> Example | None:
        """An answer of several claims: all of them, or some."""
        found = self.library.found(question, self.rng)
        partly = self.rng.random() < 0.7
        answer = question.claims[0] if partly else " ".join(question.claims)
        values = {"evidence": list(found), "answer": answer}
        request = replace(base_request(question, picture), template="verifier", values=values)
        label = "incomplete" if partly else "supported"
        return Example(request, _letter(JUDGEMENTS, label), f"verifier-{label}")

    def _answer(self, question: Question, label: str) -> str | None:
        if label == "supported":
            return question.answer
        if label == "unsupported" and self.rng.random() < 0.6:
            return question.answer
        return self.other_answer(question)

    def other_answer(self, question: Question) -> str | None:
        """A wrong answer of the same kind, or None."""
        key = question.gold_attribute or ""
        if question.family == "comparison":
            pair = [self.library.things[entry].name for entry in question.gold_entries if entry in self.library.things]
            return next((name for name in pair if name != question.answer), None)
        number, _, unit = question.answer.partition(" ")
        if number.isdigit():
            low, high = (11, 999) if unit else (1910, 1998)
            other = self.rng.choice([value for value in range(low, high + 1) if str(value) != number])
            return f"{other} {unit}".strip()
        for _ in range(20):
            thing = self.rng.choice(self.library.world.things)
            maker = self.library.world.makers[thing.maker]
            facts = {**thing.facts, "home": maker.home, "field": maker.field, "founder": maker.founder}
            value = facts.get(key) or _seen_value(question, thing.look.body, thing.kind, thing.look.shape, thing.name)
            if value and value != question.answer:
                return value
        return None


def _seen_value(question: Question, body: str, kind: str, shape: str, name: str) -> str | None:
    """What the picture would tell of another thing, where that is the kind of answer asked for."""
    things = [placed.thing for placed in question.scene.things]
    for values, value in (
        ([thing.look.body for thing in things], body),
        ([thing.kind for thing in things], kind),
        ([thing.look.shape for thing in things], shape),
        ([thing.name for thing in things], name),
    ):
        if question.answer in values:
            return value
    return None
