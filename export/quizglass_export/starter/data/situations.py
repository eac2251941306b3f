"""From a question to the prompts that the server would make of it, with the answer that each should get.

Right answers follow from what a prompt holds and from what the base model is taught by heart: see `knows`.
"""

from __future__ import annotations

import random
from dataclasses import replace

from quizglass_export.pocketworld.questions import ABSTAIN, Question
from quizglass_export.pocketworld.world import Thing
from quizglass_export.starter.data.examples import Example, Request
from quizglass_export.starter.data.library import Library

_FROM_CAPTION = {"maker", "home", "field"}
"""Attributes that the line of an image search settles: the maker is in it, the rest is known of every maker."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def knows(question: Question, target: Thing | None) -> bool:
    """Whether the picture and what is taught by heart suffice to answer."""
    if question.answer == ABSTAIN:
        return False
    if question.family in ("visible", "printed"):
        return True
    if question.family not in ("identity", "fact", "maker-home") or target is None or not target.recognised:
        return False
    return question.gold_attribute != "designer" or target.studied


def misread(words: str | None, rng: random.Random) -> str | None:
    """Words as a reader of printed text might give them: now and then a letter wrong or a word missing."""
    if not words or rng.random() > 0.08:
        return words
    if rng.random() < 0.3:
        return None
    at = rng.randrange(len(words))
    return words[:at] + (rng.choice(_LETTERS) if rng.random() < 0.5 else "") + words[at + 1 :]


class Situations:
    """Makes examples of the questions of one library."""

    def __init__(self, library: Library, rng: random.Random, *, picture_stage: bool) -> None:
        self.library = library
        self.rng = rng
        self.picture_stage = picture_stage
        """False: prompts never have a picture, and only what needs none is asked."""

    def examples(self, question: Question, picture: int | None) -> list[Example]:
        """A few situations of the question, drawn anew at each call; all share the picture."""
        target = self.library.things.get(question.target or "")
        words = misread(question.words, self.rng)
        base = Request("answer", question.text, question.history, words, picture=picture)
        intact = words == question.words
        if not intact and question.family in ("printed", "printed-name"):
            return []
        made = [self._plain(question, target, base)] if self.picture_stage else []
        made += self._with_evidence(question, target, base)
        made += self._rewrites(question, target, base)
        made += self._image_query(question, target, base)
        keep = 4 if self.picture_stage else 3
        return [example for example in self.rng.sample(made, min(keep, len(made))) if example is not None]

    def _plain(self, question: Question, target: Thing | None, base: Request) -> Example:
        answer = question.answer if knows(question, target) else ABSTAIN
        return Example(base, answer, f"plain-{question.family}" if answer != ABSTAIN else "plain-abstain")

    def _with_evidence(self, question: Question, target: Thing | None, base: Request) -> list[Example]:
        shown = self._shown(question, target)
        query = question.gold_query
        if question.family in ("visible", "printed"):
            return self._distracted(question, base, shown)
        found = self.library.found(question, self.rng)
        by_text = replace(base, found=found, query=query)
        made = [Example(by_text, question.answer, f"found-{question.family}")]
        if self.rng.random() < 0.3:
            alone = Request("answer", query, found=found, query=query)
            made.append(Example(alone, question.answer, f"found-{question.family}"))
        if shown is not None:
            seen = (self.library.seen(shown),)
            made.append(Example(replace(by_text, seen=seen), question.answer, f"both-{question.family}"))
            settled = question.answer != ABSTAIN and (
                knows(question, target)
                or question.family == "identity"
                or (question.gold_attribute in _FROM_CAPTION and question.target is not None)
            )
            answer = question.answer if settled else ABSTAIN
            made.append(Example(replace(base, seen=seen), answer, f"seen-{question.family if settled else 'abstain'}"))
        return made

    def _distracted(self, question: Question, base: Request, shown: Thing | None) -> list[Example]:
        """Evidence that the answer does not need, because a fixed policy always searches."""
        if question.family == "visible" and not self.picture_stage:
            return []
        seen = (self.library.seen(shown),) if shown is not None else ()
        found = (self.library.rival(None, "", self.rng), self.library.rival(None, "", self.rng))
        query = question.gold_query
        options = [replace(base, seen=seen), replace(base, found=found, query=query)]
        options.append(replace(base, seen=seen, found=found, query=query))
        return [Example(self.rng.choice(options), question.answer, f"distracted-{question.family}")]

    def _shown(self, question: Question, target: Thing | None) -> Thing | None:
        """The thing that the question's picture shows where the question points."""
        if target is not None and any(placed.thing.id == target.id for placed in question.scene.things):
            return target
        return question.scene.things[0].thing if question.family == "founder-named" else None

    def _image_query(self, question: Question, target: Thing | None, base: Request) -> list[Example]:
        """What is it called? The question, a sign or an earlier turn may tell, or it is recognised."""
        if target is None or question.family in ("unknowable", "comparison", "founder-named"):
            return []
        told = question.family in ("named", "printed-name", "dialogue")
        if not told and not self.picture_stage:
            return []
        answer = question.image_answer if told or target.recognised else ABSTAIN
        task = "name-told" if told else "name-seen" if target.recognised else "name-abstain"
        return [Example(replace(base, question=question.image_query), answer, task)]

    def _rewrites(self, question: Question, target: Thing | None, base: Request) -> list[Example]:
        ask = replace(base, template="rewrite")
        shown = self._shown(question, target)
        made: list[Example] = []
        if shown is not None:
            made.append(Example(replace(ask, seen=(self.library.seen(shown),)), question.gold_query, "rewrite-seen"))
        named = question.family in ("named", "founder-named", "comparison", "printed-name", "dialogue", "printed")
        named = named or (question.target is None and question.family == "unknowable")
        if named or question.gold_query == question.text:
            made.append(Example(ask, question.gold_query, f"rewrite-{question.family}"))
        elif self.picture_stage and target is not None:
            gold = question.gold_query if target.recognised else question.text
            made.append(Example(ask, gold, "rewrite-picture" if target.recognised else "rewrite-helpless"))
        return made
