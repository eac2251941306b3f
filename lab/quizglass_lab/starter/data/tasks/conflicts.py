"""CoRe-MMRAG's last stage: what memory says, what the evidence says, and which of the two is right.

The server asks only where both sides say something and not the same. Whether anything was found tells nothing: memory
is right beside passages about other things, and evidence is beside the thing's own. So entry and question have to be
compared, and what is known by heart remembered.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from quizglass_lab.pocketworld.question import ABSTAIN, Question
from quizglass_lab.pocketworld.world import Thing
from quizglass_lab.starter.data.examples import Example, Request
from quizglass_lab.starter.data.hits import Hits
from quizglass_lab.starter.data.knowing import Known, missing_names
from quizglass_lab.starter.data.library import Library
from quizglass_lab.starter.data.situations import base_request
from quizglass_lab.starter.data.tasks.choices import Choices
from quizglass_lab.starter.data.tasks.drafts import NOTHING_TELLS

TOLD = "it is told"
ANOTHER = "another thing"
SEEN = "the picture tells"
_WHY = {"stale": TOLD, "rumour": "not sure", "twin": ANOTHER}
"""Why which side of a recorded conflict of memory and evidence is right; of a twin, where memory is."""
RECORDED = frozenset(_WHY)
"""Kinds of conflicts that are weighed as the world records them."""
_SLIPS = 0.2
"""Share of the questions known by heart whose memory is wrong for once, and whose passages tell."""
_NEITHER = 0.25
"""Share of the others of which both sides are wrong."""
_SILENT = 0.2
"""Share of right memories beside the thing's own passages, which do not tell."""
_MISLED = 0.4
"""How often a question is put by the name of a wrong hit, where it could be."""


@dataclass(frozen=True)
class Weighing:
    """A prompt with both sides in its values, why which is right, and the right answer."""

    request: Request
    why: str
    answer: str

    @property
    def side(self) -> str:
        """Who is right: memory, evidence or neither."""
        values = self.request.values
        return {values["memory"]: "memory", values["external"]: "evidence"}.get(self.answer, "neither")


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
        recorded = question.conflict is not None and question.conflict.kind in RECORDED
        conflict = self._recorded(question, picture) if recorded else self._drawn(question, picture, known)
        if conflict is None or conflict.request.values["memory"] == conflict.request.values["external"]:
            return []
        request, side = conflict.request, conflict.side
        settle = replace(request, template="reconcile", values={**request.values, "reason": conflict.why})
        return [
            Example(replace(request, template="weigh"), conflict.why, f"weigh-{side}"),
            Example(settle, conflict.answer, f"reconcile-{side}"),
        ]

    def _recorded(self, question: Question, picture: int | None) -> Weighing | None:
        """A conflict that the world records."""
        conflict = question.conflict
        if conflict is None:
            return None
        evidence_right = conflict.right == "evidence"
        memory = conflict.wrong_answer if evidence_right else question.answer
        external = question.answer if evidence_right else conflict.wrong_answer
        entries = (conflict.rival, *question.gold_entries)
        telling = [(entry, text) for entry in entries for text in self._passages(entry, external)]
        if not telling:
            return None
        entry, passage = telling[0]
        article = self.library.articles[entry]
        seen = (f"{article.title}: {article.caption}",) if self.rng.random() < 0.7 else ()
        beside = self.library.other_paragraph(article, passage, self.rng)
        found = (passage,) if self.rng.random() < 0.5 else tuple(dict.fromkeys((passage, beside)))
        base = replace(base_request(question, picture), seen=seen, found=found, query=question.gold_query)
        why = TOLD if evidence_right else _WHY[conflict.kind]
        return Weighing(replace(base, values={"memory": memory, "external": external}), why, question.answer)

    def _passages(self, entry: str, answer: str) -> list[str]:
        """The passages of an entry that hold an answer."""
        article = self.library.articles.get(entry)
        if article is None:
            return []
        return [f"{article.title}: {text}" for text in article.paragraphs if answer in text]

    def _drawn(self, question: Question, picture: int | None, known: Known) -> Weighing | None:
        """A conflict that searching brings about."""
        if question.answer == ABSTAIN or question.claims:
            return None
        base = replace(base_request(question, picture), query=question.gold_query)
        if known.answer:
            told = bool(question.hops) and self.rng.random() < _SLIPS
            return self._told(question, base) if told else self._kept(question, base)
        return self._neither(question, base) if self.rng.random() < _NEITHER else self._told(question, base)

    def _told(self, question: Question, base: Request) -> Weighing | None:
        """The thing's own entry or passages say otherwise than memory, and are right."""
        memory, drawn = self.choices.other_answer(question), self.hits.draw(question, "right")
        if memory is None:
            return None
        searched = any(hop.action == "text" for hop in question.hops)
        if not searched and not drawn.right:
            return None
        if drawn.right and self.rng.random() < 0.2:
            drawn = self.hits.draw(question, "several")
        if searched:
            found = self.library.found(question, self.rng)
        else:
            found = self.library.silent(question, self.rng) if self.rng.random() < 0.8 else ()
        seen = drawn.lines if not searched or self.rng.random() < 0.8 else ()
        values = {"memory": memory, "external": question.answer}
        return Weighing(replace(base, seen=seen, found=found, values=values), TOLD, question.answer)

    def _kept(self, question: Question, base: Request) -> Weighing | None:
        """Memory is right: what was found is about another thing, or does not answer."""
        silent = self.library.silent(question, self.rng)
        if silent and question.hops and self.rng.random() < _SILENT:
            external, drawn = self.choices.other_answer(question), self.hits.draw(question, "right")
            if external is None:
                return None
            values = {"memory": question.answer, "external": external}
            seen = drawn.lines if drawn.right else ()
            return Weighing(replace(base, seen=seen, found=silent, values=values), NOTHING_TELLS, question.answer)
        misled = self._misled(question, base, self.hits.strangers(question, kin=0.5))
        if misled is None:
            return None
        request = replace(misled, values={**misled.values, "memory": question.answer})
        return Weighing(request, ANOTHER if question.hops else SEEN, question.answer)

    def _neither(self, question: Question, base: Request) -> Weighing | None:
        """Memory is a guess, and what was found is about another thing."""
        guess, kin = self.choices.other_answer(question), 0.0 if missing_names(question) else 0.5
        misled = self._misled(question, base, self.hits.strangers(question, kin=kin))
        if guess is None or misled is None:
            return None
        return Weighing(replace(misled, values={**misled.values, "memory": guess}), ANOTHER, ABSTAIN)

    def _misled(self, question: Question, base: Request, strangers: list[Thing]) -> Request | None:
        """The prompt beside another thing's entry, or several, with what its passages tell as the other side."""
        fallback = self.choices.other_answer(question)
        fitting = [thing for thing in strangers if self._says(thing, question)]
        first = next(iter([*fitting, *strangers]), None)
        if first is None or fallback is None:
            return None
        article, external = self.library.articles[first.id], self._says(first, question) or fallback
        telling = self.library.telling(article, question.gold_attribute or "")
        best = telling or self.library.other_paragraph(article, "", self.rng)
        passages = self._with_others(best, first, question) if self.rng.random() < 0.85 else ()
        shown = strangers if self.rng.random() < 0.25 else [first]
        seen = tuple(self.library.seen(thing) for thing in shown) if self.rng.random() < 0.85 or not passages else ()
        query = self._put_by(question, first) if missing_names(question) else base.query
        return replace(base, seen=seen, found=passages, query=query, values={"external": external})

    def _says(self, thing: Thing, question: Question) -> str | None:
        """What a thing's entry tells of itself that is asked, where that is not the answer."""
        if question.domain == "number" or question.family == "comparison":
            return None
        if question.answer == question.image_answer:
            return thing.name
        value, unit = thing.facts.get(question.gold_attribute or "", ""), question.answer.partition(" ")[2]
        fits = value != question.answer and (value.endswith(unit) or not question.answer[:1].isdigit())
        told = bool(value) and self.library.telling(self.library.articles[thing.id], question.gold_attribute or "")
        return value if fits and told else None

    def _with_others(self, best: str, thing: Thing, question: Question) -> tuple[str, ...]:
        """The best passage, with another of the same entry or of one more that does not tell either."""
        other = self.library.other_paragraph(self.library.articles[thing.id], best, self.rng)
        if self.rng.random() < 0.4:
            other = self.library.rival(question.gold_attribute, question.target or "", self.rng)
        if self.rng.random() < 0.3 or question.answer in other:
            return (best,)
        return tuple(dict.fromkeys((best, other)))

    def _put_by(self, question: Question, thing: Thing) -> str:
        """The question as a rewriter puts it that has found another thing, and may believe in it.

        Only what is recognised can it put by its right name.
        """
        target = self.library.things.get(question.target or "")
        if target is None or self.rng.random() >= _MISLED:
            return question.gold_query if target is not None and target.recognised else question.text
        named = target.name in question.gold_query
        return question.gold_query.replace(target.name, thing.name) if named else question.text
