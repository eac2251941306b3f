"""QA-Dragon's writing: thoughts, a draft, the objects, queries in parts and whole, the reason of an answer."""

from __future__ import annotations

import random
import re
from dataclasses import replace

from quizglass_lab.pocketworld.phrasing import SLOT_WORDS
from quizglass_lab.pocketworld.question import ABSTAIN, Question
from quizglass_lab.pocketworld.world import Thing
from quizglass_lab.starter.data.examples import Example
from quizglass_lab.starter.data.hits import Drawn, Hits
from quizglass_lab.starter.data.knowing import Known, missing_names, names
from quizglass_lab.starter.data.library import Library
from quizglass_lab.starter.data.situations import base_request

_SENTENCE = re.compile(r"(?<=\.) ")
NOTHING_TELLS = "nothing tells"
PICTURE_TELLS = "the picture tells"
BY_HEART = "it is known"


def thoughts(question: Question, thing: Thing | None, known: Known) -> list[str]:
    """One to three lines: what is asked about, its name, and whether the answer can be determined.

    Args:
        question: what is asked.
        thing: what it is about, if the picture shows it.
        known: what needs no lookup.
    """
    steps = [question.meant or (f"{thing.look.body} {thing.kind}" if thing else "not in the picture")]
    if question.domain == "number":
        steps.append("a number to calculate")
    if missing_names(question) and thing is not None:
        named = known.name and thing.recognised
        steps.append(f"called {thing.name}" if named else "the name cannot be determined")
    if known.answer:
        steps.append("the answer is known" if question.hops else PICTURE_TELLS)
    elif not known.rest:
        steps.append("the answer cannot be determined")
    return steps


def _enters(told: str, question: Question) -> bool:
    """Whether a hop's number is an operand of the answer's calculation."""
    number = told.split()[0]
    return number.isdigit() and re.search(rf"\b{number}\b", question.working) is not None


class Drafts:
    """Makes examples of the prompts that QA-Dragon has the generator write."""

    def __init__(self, library: Library, rng: random.Random) -> None:
        self.library = library
        self.rng = rng
        self.hits = Hits(library, rng)

    def lines(self, question: Question, picture: int | None, known: Known) -> list[Example]:
        """Two of the prompts for a question."""
        examples = [self.think(question, picture, known), self.draft(question, picture, known)]
        examples += self.objects(question, picture)
        examples += self.queries(question, picture)
        examples += self.reasons(question, picture, known)
        return self.rng.sample(examples, min(4, len(examples)))

    def _about(self, question: Question) -> dict[str, str]:
        """The domain, where a router tells it."""
        return {"domain": question.domain} if question.domain and self.rng.random() < 0.5 else {}

    def think(self, question: Question, picture: int | None, known: Known) -> Example:
        """D-CoT."""
        request = replace(base_request(question, picture), template="think", values=self._about(question))
        return Example(request, "\n".join(thoughts(question, self.hits.target(question), known)), "think")

    def draft(self, question: Question, picture: int | None, known: Known) -> Example:
        """The answer that the thoughts lead to."""
        values = {**self._about(question), "steps": thoughts(question, self.hits.target(question), known)}
        request = replace(base_request(question, picture), template="draft", values=values)
        answer = question.written if known.answer else ABSTAIN
        return Example(request, answer, "draft" if known.answer else "draft-abstain")

    def objects(self, question: Question, picture: int | None) -> list[Example]:
        """What the question may be about, and which of it is meant."""
        base, target = base_request(question, picture), self.hits.target(question)
        kinds = question.objects or tuple(dict.fromkeys(placed.thing.kind for placed in question.scene.things))
        examples = [Example(replace(base, template="objects"), "\n".join(kinds), "objects")]
        if target is not None:
            request = replace(base, template="object", values={"objects": list(kinds)})
            examples.append(Example(request, question.meant or self._pointed(question, target), "object"))
        return examples

    def _pointed(self, question: Question, target: Thing) -> str:
        """A colour and a kind, and the place where several things are shown."""
        things = question.scene.things
        slot = next(placed.slot for placed in things if placed.thing.id == target.id)
        place = f" {SLOT_WORDS[slot]}" if len(things) > 1 and slot in SLOT_WORDS else ""
        return f"{target.look.body} {target.kind}{place}"

    def queries(self, question: Question, picture: int | None) -> list[Example]:
        """Sub-questions that can be searched for at once, in the question's words and then with names filled in."""
        texts = [hop for hop in question.hops if hop.action == "text"]
        if not texts:
            return []
        drawn = self.hits.draw(question, self.rng.choice(("none", "right", "right", "wrong")))
        if len([hop for hop in question.hops if hop.action == "image"]) > 1:
            return []
        entity = drawn.things[drawn.place or 0] if drawn.things else None
        shown = drawn if entity is None else Drawn(drawn.manner, (self.library.seen(entity),), drawn.place, (entity,))
        base = replace(base_request(question, picture), seen=shown.lines)
        values = {"entity": entity.name} if entity else {}
        parts = [hop.query for hop in texts] if self._together(question) else [question.text]
        examples = [Example(replace(base, template="split", values=values), "\n".join(parts), "split")]
        missing = missing_names(question)
        if missing and not (shown.right and missing <= names(f"it is {shown.lines[0]}")):
            whole = parts
        else:
            whole = parts if self._together(question) else [question.gold_query]
        complete = replace(base, template="complete", query="; ".join(parts), values=values)
        return [*examples, Example(complete, "\n".join(whole), "complete")]

    def _together(self, question: Question) -> bool:
        """Whether its text hops name all they are about already."""
        texts = [hop for hop in question.hops if hop.action == "text"]
        told = f"{question.text} {question.words} {question.history}"
        return len(texts) > 1 and all(name in told for hop in texts for name in names(hop.query))

    def reasons(self, question: Question, picture: int | None, known: Known) -> list[Example]:
        """What follows from the evidence, in a sentence of it, and the answer, with that and without."""
        drawn, base = self.hits.draw(question), base_request(question, picture)
        base = replace(base, seen=drawn.lines, values=self._about(question))
        texts = [hop for hop in question.hops if hop.action == "text"]
        if question.claims:
            return []
        if known.answer:
            reason, answer = (BY_HEART if question.hops else PICTURE_TELLS), question.written
            if self.rng.random() < 0.5:
                base = replace(base, found=self.library.vain(question, self.rng), query=question.gold_query)
        elif texts and question.answer != ABSTAIN and question.conflict is None and self.rng.random() < 0.75:
            base = replace(base, found=self.library.found(question, self.rng), query=question.gold_query)
            told = [hop.answer for hop in texts if _enters(hop.answer, question)] or [texts[-1].answer]
            reason = " ".join(dict.fromkeys(self.telling(base.found, each) for each in told))
            answer = question.written
        else:
            named = drawn.right or known.name or not missing_names(question)
            query = question.gold_query if named else question.text
            base = replace(base, found=self.library.vain(question, self.rng), query=query)
            reason, answer = NOTHING_TELLS, ABSTAIN
            if named and texts and known.rest:
                reason, answer = BY_HEART, question.written
            elif drawn.right and not texts and question.answer != ABSTAIN:
                reason, answer = self.telling((drawn.lines[drawn.place or 0],), question.answer), question.written
        reasoned = replace(base, values={**base.values, "reason": reason})
        concluded = [
            Example(replace(reasoned, template=task), answer, task) for task in ("conclude", "conclude_from_reason")
        ]
        return [Example(replace(base, template="reason"), reason, "reason"), *concluded]

    def telling(self, found: tuple[str, ...], answer: str) -> str:
        """The first sentence that holds the answer, without its title."""
        sentences = [part for passage in found for part in _SENTENCE.split(passage.split(": ", 1)[-1])]
        return next((sentence for sentence in sentences if answer in sentence), PICTURE_TELLS)
