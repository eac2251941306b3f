"""From a question to the prompts that the server would make of it, with the answer that each should get.

Right answers follow from what a prompt holds and from what the base model is taught by heart: see `knowing`. What an
image search brings may be right, wrong, both or nothing (`hits`).
"""

from __future__ import annotations

import random
from dataclasses import replace

from quizglass_lab.pocketworld.question import ABSTAIN, Question
from quizglass_lab.starter.data.examples import Example, Request
from quizglass_lab.starter.data.hits import Drawn, Hits
from quizglass_lab.starter.data.knowing import by_heart, corrected, knows, missing_names, names, told_claims
from quizglass_lab.starter.data.library import Library

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_ANSWERS, _REWRITES = 2, 2
"""Of each question's situations, how many are asked about at once."""
_DESPITE = 5
"""Of the prompts about one recognised thing beside hits, how many are asked at once."""
_KIN = 0.5
"""Share of the other things' hits that are of the same kind, where nothing but words or memory is needed."""


def misread(words: str | None, rng: random.Random) -> str | None:
    """Words as a reader of printed text might give them: now and then a letter wrong or a word missing."""
    if not words or rng.random() > 0.08:
        return words
    if rng.random() < 0.3:
        return None
    at = rng.randrange(len(words))
    return words[:at] + (rng.choice(_LETTERS) if rng.random() < 0.5 else "") + words[at + 1 :]


def base_request(question: Question, picture: int | None) -> Request:
    """The prompt of a question with nothing found out yet."""
    return Request("answer", question.text, question.history, question.words, picture=picture)


class Situations:
    """Makes examples of the questions of one library."""

    def __init__(self, library: Library, rng: random.Random, *, picture_stage: bool) -> None:
        self.library = library
        self.rng = rng
        self.picture_stage = picture_stage
        """False: prompts never have a picture, and only what needs none is asked."""
        self.hits = Hits(library, rng)

    def examples(self, question: Question, picture: int | None) -> list[Example]:
        """A few situations of the question, drawn anew at each call; all share the picture."""
        words = misread(question.words, self.rng)
        base = replace(base_request(question, picture), words=words)
        if words != question.words and self._needs_words(question):
            return []
        answers = self.answers(question, base)
        rewrites = self.rewrites(question, base)
        return [
            *self.rng.sample(answers, min(_ANSWERS, len(answers))),
            *self.rng.sample(rewrites, min(_REWRITES, len(rewrites))),
        ]

    def _needs_words(self, question: Question) -> bool:
        words = (question.words or "").split()
        return any(word in question.gold_query or word in question.answer for word in words)

    def answers(self, question: Question, base: Request) -> list[Example]:
        """Prompts for answers: alone, beside hits, beside passages, beside both."""
        examples = [self._plain(question, base)] if self.picture_stage and not corrected(question) else []
        if question.conflict is None:
            examples += self._image_query(question, base)
        if not question.hops and question.answer != ABSTAIN:
            return examples + self._distracted(question, base)
        if question.conflict is None or question.conflict.right in ("evidence", "text"):
            examples += self._with_passages(question, base)
        if question.conflict is None and (self.picture_stage or missing_names(question)):
            examples += self._with_hits(question, base)
        return examples

    def _plain(self, question: Question, base: Request) -> Example:
        answer = question.written if knows(question, self.library) else ABSTAIN
        return Example(base, answer, f"plain-{question.family}" if answer != ABSTAIN else "plain-abstain")

    def _with_passages(self, question: Question, base: Request) -> list[Example]:
        """The gold passages, sometimes with hits of any kind; the picture is not always asked about."""
        query, drawn = question.gold_query, self.hits.draw(question, "right" if question.conflict else None)
        found = self.library.found(question, self.rng)
        answer, task = self._told(question, found), f"found-{question.family}"
        beside = self._told(question, (*found, *drawn.lines)) if drawn.right else answer
        examples = [Example(replace(base, found=found, query=query), answer, task)]
        with_hits = replace(base, found=found, query=query, seen=drawn.lines)
        examples.append(Example(with_hits, beside, f"both-{drawn.manner}-hit"))
        if self.rng.random() < 0.3:
            alone = Request("answer", query, found=found, query=query)
            examples.append(Example(alone, answer, task))
        if question.answer != ABSTAIN and question.conflict is None and self.rng.random() < 0.4:
            vain = replace(base, found=self.library.vain(question, self.rng), query=query, seen=drawn.lines)
            settled = self._put(question) or self._settled(question, drawn)
            examples.append(
                Example(vain, question.written if settled else ABSTAIN, "vain-settled" if settled else "vain")
            )
        return examples

    def _put(self, question: Question) -> bool:
        """Whether the gold query, which names all that it is about, suffices for who knows what is taught by heart."""
        texts = [hop for hop in question.hops if hop.action != "image"]
        return all(by_heart(hop, self.library) for hop in texts) and (
            bool(texts) or question.answer in question.gold_query
        )

    def _told(self, question: Question, lines: tuple[str, ...]) -> str:
        """The answer, of several claims those that lines of evidence tell."""
        thing = self.library.things.get(question.target or "")
        if not question.claims or thing is None:
            return question.written
        return told_claims(thing, [each for each in lines if each.startswith(f"{thing.name}:")])

    def _with_hits(self, question: Question, base: Request) -> list[Example]:
        """Hits alone, as a plan to look the picture up leaves it."""
        drawn = self.hits.draw(question)
        if drawn.manner == "none":
            return []
        settled = self._settled(question, drawn)
        task = f"seen-{drawn.manner}" if settled else f"seen-{drawn.manner}-abstain"
        return [Example(replace(base, seen=drawn.lines), question.written if settled else ABSTAIN, task)]

    def _settled(self, question: Question, drawn: Drawn) -> bool:
        """Whether the picture, hits and what is taught by heart suffice for the answer."""
        if knows(question, self.library):
            return True
        if question.answer == ABSTAIN or question.claims or not drawn.right:
            return False
        images = [hop for hop in question.hops if hop.action == "image"]
        texts = [hop for hop in question.hops if hop.action != "image"]
        return bool(images) and all(by_heart(hop, self.library) for hop in texts)

    def _distracted(self, question: Question, base: Request) -> list[Example]:
        """Evidence that the answer does not need, because a fixed policy always searches."""
        if not (question.words or question.history or self.picture_stage):
            return []
        drawn = self.hits.draw(question)
        found = self.library.vain(question, self.rng)
        query = question.gold_query
        options = [
            replace(base, seen=drawn.lines),
            replace(base, found=found, query=query),
            replace(base, seen=drawn.lines, found=found, query=query),
        ]
        return [Example(self.rng.choice(options), question.written, f"distracted-{question.family}")]

    def _image_query(self, question: Question, base: Request) -> list[Example]:
        """What is it called? A sign or an earlier turn may tell, or it is recognised, or found."""
        target = self.library.things.get(question.target or "")
        images = [hop for hop in question.hops if hop.action == "image"]
        if target is None or not question.image_answer or question.image_answer != target.name or len(images) > 1:
            return []
        asked = replace(base, question=question.image_query)
        if target.name in f"{base.words} {base.history}":
            return [Example(asked, target.name, "name-told")]
        if not self.picture_stage or self.hits.target(question) is None:
            return []
        drawn = self.hits.draw(question)
        known = target.recognised or drawn.right
        task = f"name-{drawn.manner}" + ("" if known else "-abstain")
        return [Example(replace(asked, seen=drawn.lines), target.name if known else ABSTAIN, task)]

    def rewrites(self, question: Question, base: Request) -> list[Example]:
        """Prompts for rewriting, beside hits of every kind."""
        examples: list[Example] = []
        if question.conflict is not None and question.conflict.right in ("picture", "text"):
            return examples
        for manner in ("none", "right", "wrong", "several"):
            drawn = self.hits.draw(question, manner)
            if manner != "none" and not drawn.lines:
                continue
            gold, how = self.gold_rewriting(question, drawn)
            if gold is None:
                continue
            name = f"rewrite-{drawn.manner}-hit" if drawn.lines else "rewrite"
            examples.append(Example(replace(base, template="rewrite", seen=drawn.lines), gold, f"{name}-{how}"))
        return examples

    def beside_hits(self, question: Question, picture: int) -> list[Example]:
        """One question beside right hits, several and wrong ones: what it shows is called, and its rewriting."""
        base = base_request(question, picture)
        examples: list[Example] = []
        enough = self._settled(question, self.hits.draw(question, "right"))
        for manner in ("right", "several", "right", "wrong"):
            drawn = self.hits.draw(question, manner)
            gold, how = self.gold_rewriting(question, drawn)
            if gold is not None and drawn.lines:
                request = replace(base, template="rewrite", seen=drawn.lines)
                examples.append(Example(request, gold, f"rewrite-{drawn.manner}-hit-{how}"))
            if enough:
                answer, task = (question.written, "") if self._settled(question, drawn) else (ABSTAIN, "-abstain")
                examples.append(Example(replace(base, seen=drawn.lines), answer, f"seen-{drawn.manner}{task}"))
        return self.rng.sample([*examples, *self._image_query(question, base)], len(examples))

    def despite_hits(self, question: Question, picture: int) -> list[Example]:
        """A question about a recognised thing beside other things' hits and passages, which change nothing.

        Its name, its rewriting and what is known of it stay as they are beside no hit, wrong and right ones. Wrong ones
        may be of its kind: recognised things are distinguished from memory.
        """
        base = base_request(question, picture)
        target = self.hits.target(question)
        if target is None or not target.recognised or question.conflict is not None:
            return []
        images = [hop for hop in question.hops if hop.action == "image"]
        named = question.image_answer == target.name and len(images) < 2 and target.name not in question.text
        examples: list[Example] = []
        for manner in ("none", "wrong", "wrong", "right"):
            seen = self._lines(question, manner)
            gold, how = self.gold_rewriting(question, Drawn(manner, seen))
            if manner == "none" and how == "open":
                continue
            if gold is not None and gold == question.gold_query:
                task = "rewrite-recognised" if manner == "none" else f"rewrite-{manner}-hit-{how}"
                examples.append(Example(replace(base, template="rewrite", seen=seen), gold, task))
            if named:
                asked = replace(base, question=question.image_query, seen=seen)
                examples.append(Example(asked, target.name, f"name-{manner}"))
            examples += self._known_despite(question, replace(base, seen=seen), manner)
        return self.rng.sample(examples, min(_DESPITE, len(examples)))

    def _lines(self, question: Question, manner: str) -> tuple[str, ...]:
        """Hits of another thing, or those of a manner."""
        if manner != "wrong":
            return self.hits.draw(question, manner).lines
        return tuple(self.library.seen(thing) for thing in self.hits.strangers(question, kin=_KIN))

    def _known_despite(self, question: Question, seen: Request, manner: str) -> list[Example]:
        """The answer, where it is known by heart, beside hits, and beside passages about other things too."""
        if not knows(question, self.library) or question.claims:
            return []
        vain = replace(seen, found=self.library.vain(question, self.rng), query=question.gold_query)
        return [Example(seen, question.written, f"seen-{manner}"), Example(vain, question.written, "vain-settled")]

    def named_rewrites(self, question: Question, picture: int) -> list[Example]:
        """A question that tells what it is about, rewritten alike beside no hit, right ones and those of any others."""
        base = base_request(question, picture)
        examples: list[Example] = []
        for manner in ("none", "right", "wrong", "wrong"):
            seen = self._lines(question, manner)
            task = f"rewrite-{manner}-hit-told" if seen else "rewrite-told"
            examples.append(Example(replace(base, template="rewrite", seen=seen), question.gold_query, task))
        return examples

    def gold_rewriting(self, question: Question, drawn: Drawn) -> tuple[str | None, str]:
        """The rewriting that a prompt allows, and why: told, seen, recognised, helpless; None where that is open."""
        missing = missing_names(question)
        if not missing:
            return question.gold_query, "told"
        target = self.hits.target(question)
        if target is None:
            return None, "open"
        right = self.hits.targets(question, target)
        if not missing <= names(" ".join(f"it is {self.library.seen(thing)}" for thing in right)):
            return None, "open"
        if drawn.right:
            return question.gold_query, "seen"
        if not self.picture_stage:
            return (question.text, "helpless") if drawn.lines else (None, "open")
        if all(thing.recognised for thing in right):
            return question.gold_query, "recognised"
        return (question.text, "helpless") if len(right) == 1 else (None, "open")
