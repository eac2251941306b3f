"""CoRe-MMRAG's last stage: what memory says, what the evidence says, and which of the two is right."""

from __future__ import annotations

import random
from dataclasses import replace

from quizglass_export.pocketworld.question import ABSTAIN, Question
from quizglass_export.starter.data.examples import Example, Request
from quizglass_export.starter.data.hits import Hits
from quizglass_export.starter.data.knowing import Known
from quizglass_export.starter.data.library import Library
from quizglass_export.starter.data.situations import base_request
from quizglass_export.starter.data.tasks.choices import Choices

TOLD = "it is told"
ANOTHER = "another thing"
SEEN = "the picture tells"
_WHY = {"stale": TOLD, "rumour": "not sure", "twin": ANOTHER}
"""Why which side of a recorded conflict of memory and evidence is right; of a twin, where memory is."""


class Conflicts:
    """Makes examples of weighing two answers and of giving the right one."""

    def __init__(self, library: Library, rng: random.Random) -> None:
        self.library = library
        self.rng = rng
        self.hits = Hits(library, rng)
        self.choices = Choices(library, rng)

    def lines(self, question: Question, picture: int | None, known: Known) -> list[Example]:
        """One conflict about a question, weighed and settled; none where the two would agree."""
        if question.conflict is not None and question.conflict.right == "picture":
            return []
        recorded = question.conflict is not None and question.conflict.kind in _WHY
        conflict = self._recorded(question, picture) if recorded else self._drawn(question, picture, known)
        if conflict is None:
            return []
        request, why, answer = conflict
        if request.values["memory"] == request.values["external"]:
            return []
        weigh, side = replace(request, template="weigh"), "evidence" if why == TOLD else "memory"
        shown = {**request.values, "reason": why}
        settle = replace(request, template="reconcile", values=shown)
        return [Example(weigh, why, f"weigh-{side}"), Example(settle, answer, f"reconcile-{side}")]

    def _recorded(self, question: Question, picture: int | None) -> tuple[Request, str, str] | None:
        """A conflict that the world records."""
        conflict = question.conflict
        if conflict is None:
            return None
        evidence_right = conflict.right == "evidence"
        memory = conflict.wrong_answer if evidence_right else question.answer
        external = question.answer if evidence_right else conflict.wrong_answer
        entries = (conflict.rival, *question.gold_entries)
        passages = [text for entry in entries for text in self._passages(entry, external)]
        if not passages:
            return None
        base = replace(base_request(question, picture), found=tuple(passages[:1]), query=question.gold_query)
        why = TOLD if evidence_right else _WHY[conflict.kind]
        return replace(base, values={"memory": memory, "external": external}), why, question.answer

    def _passages(self, entry: str, answer: str) -> list[str]:
        """The passages of an entry that hold an answer."""
        article = self.library.articles.get(entry)
        if article is None:
            return []
        return [f"{article.title}: {text}" for text in article.paragraphs if answer in text]

    def _drawn(self, question: Question, picture: int | None, known: Known) -> tuple[Request, str, str] | None:
        """A conflict that searching brings about: a right entry or another thing's, against memory or a guess."""
        base = base_request(question, picture)
        texts = [hop for hop in question.hops if hop.action == "text"]
        wrong = self.choices.other_answer(question)
        if question.answer == ABSTAIN or wrong is None:
            return None
        if known.answer:
            drawn = self.hits.draw(question, "wrong")
            values = {"memory": question.answer, "external": wrong}
            why = ANOTHER if question.hops else SEEN
            return replace(base, seen=drawn.lines[:1], values=values), why, question.answer
        if self.rng.random() < 0.6 and texts:
            memory = ABSTAIN if self.rng.random() < 0.5 else wrong
            found, values = self.library.found(question, self.rng), {"memory": memory, "external": question.answer}
            drawn = self.hits.draw(question)
            request = replace(base, seen=drawn.lines[:1], found=found, query=question.gold_query, values=values)
            return request, TOLD, question.answer
        drawn = self.hits.draw(question, "wrong")
        return replace(base, seen=drawn.lines[:1], values={"memory": ABSTAIN, "external": wrong}), ANOTHER, ABSTAIN
