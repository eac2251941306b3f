"""Rounds of lookups (CogPlanner, OmniSearch, retrieval that grades itself): what to look up next, and how to ask.

A question's hops are followed as far as the base does not know them, and a prompt is made of a moment in between.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from quizglass_lab.pocketworld.question import ABSTAIN, Hop, Question
from quizglass_lab.starter.data.examples import LETTERS, Example, Request
from quizglass_lab.starter.data.hits import Hits
from quizglass_lab.starter.data.knowing import Known, missing_names
from quizglass_lab.starter.data.library import Library
from quizglass_lab.starter.data.situations import base_request

ACTIONS = ("none", "text", "image")
"""In the order of `policies.cogplanner.Action`."""
NEXT = ("answer", "image", "text")
"""In the order of `policies.omnisearch.Next`."""
_VAIN = 0.1
"""Share of the last searches that brought nothing that helps."""


@dataclass(frozen=True)
class Moment:
    """A turn between two rounds."""

    request: Request
    """With what was found and the last reformulation."""
    asked: tuple[str, ...]
    """The reformulation that should follow."""
    action: str
    """What should be looked up for it."""
    complete: bool
    """Whether what was found, and what is known, leads to the answer."""

    @property
    def reformulated(self) -> Request:
        """The same, with the reformulation that should follow."""
        return replace(self.request, query="; ".join(self.asked))


def rounds_of(hops: Sequence[Hop]) -> list[list[Hop]]:
    """Hops that can be looked up together, the picture's first; one that needs another's answer comes after it.

    Two things that a question compares are found in one picture, and their numbers are searched for side by side.
    """
    images = [hop for hop in hops if hop.action == "image"]
    rounds = [images] if images else []
    for hop in hops:
        if hop.action == "image":
            continue
        if not rounds or rounds[-1] is images or any(other.answer in hop.query for other in rounds[-1]):
            rounds.append([hop])
        else:
            rounds[-1].append(hop)
    return rounds


def needed(question: Question, known: Known) -> list[list[Hop]]:
    """The rounds to look up with this knowledge."""
    if known.answer:
        return []
    hops = question.hops or _vain_hops(question)
    wanted = [hop for hop in hops if not (known.name if hop.action == "image" else known.rest)]
    return rounds_of(wanted)


def _vain_hops(question: Question) -> tuple[Hop, ...]:
    """What is looked up for a question that no article answers, as for one that some article does."""
    if question.answer != ABSTAIN or question.gold_attribute is None or question.image_answer == ABSTAIN:
        return ()
    text = Hop("text", question.gold_query, ABSTAIN, question.target or "")
    if not missing_names(question):
        return (text,)
    return (Hop("image", question.image_query, question.image_answer, question.target or ""), text)


def _reformulating(moment: Moment) -> Example:
    request = replace(moment.request, template="reformulate")
    return Example(request, "\n".join(moment.asked), f"reformulate-{moment.action}")


class Lookups:
    """Makes moments, and examples of them."""

    def __init__(self, library: Library, rng: random.Random) -> None:
        self.library = library
        self.rng = rng
        self.hits = Hits(library, rng)

    def moment(self, question: Question, picture: int | None, known: Known, done: int | None = None) -> Moment:
        """A moment of a question's turn: after `done` rounds, or any."""
        rounds = needed(question, known)
        done = self.rng.randint(0, len(rounds)) if done is None else done
        request, broken = self._after(question, picture, rounds[:done])
        before = self._asked(question, rounds, done - 1) if done else ()
        if broken:
            return Moment(replace(request, query="; ".join(before)), before, "none", False)
        asked = self._asked(question, rounds, done)
        action = rounds[done][0].action if done < len(rounds) else "none"
        complete = done == len(rounds) and question.answer != ABSTAIN
        return Moment(replace(request, query="; ".join(before) or None), asked, action, complete)

    def _asked(self, question: Question, rounds: Sequence[Sequence[Hop]], index: int) -> tuple[str, ...]:
        """The queries of a round; behind the last those of the last, and the question where there are none."""
        if not rounds:
            return (question.hops[-1].query if question.hops and not missing_names(question) else question.text,)
        return tuple(hop.query for hop in rounds[min(index, len(rounds) - 1)])

    def _after(self, question: Question, picture: int | None, rounds: Sequence[Sequence[Hop]]) -> tuple[Request, bool]:
        """What the rounds have brought, and whether the last of them was in vain."""
        request, broken = base_request(question, picture), False
        if not any(hop.action == "image" for hops in rounds for hop in hops) and self.rng.random() < 0.15:
            request = replace(request, seen=self.hits.draw(question).lines)
        for number, hops in enumerate(rounds, 1):
            vain = number == len(rounds) and self.rng.random() < _VAIN
            if hops[0].action == "image":
                drawn = self.hits.draw(question, "wrong" if vain else self.rng.choice(("right", "several", "several")))
                request = replace(request, seen=drawn.lines + request.seen)
                broken = not drawn.right
            else:
                passages = () if vain else self._passages(question, hops)
                found = (*self._beside(passages, question), *request.found)
                request = replace(request, found=tuple(dict.fromkeys(found)))
                broken = not passages
        return request, broken

    def _passages(self, question: Question, hops: Sequence[Hop]) -> tuple[str, ...]:
        if question.claims:
            return self.library.found(question, self.rng)
        return tuple(passage for hop in hops if (passage := self.library.told(hop)))

    def _beside(self, passages: tuple[str, ...], question: Question) -> list[str]:
        """Passages of one search, with what else it brings."""
        if not passages:
            return list(self.library.vain(question, self.rng))
        extra = self.rng.choices((0, 1, 2), (0.4, 0.4, 0.2))[0]
        mixed = [*passages, *(self.library.rival(question.gold_attribute, "", self.rng) for _ in range(extra))]
        return self.rng.sample(mixed, len(mixed)) if self.rng.random() < 0.4 else mixed

    def act(self, question: Question, picture: int | None, known: Known) -> Example:
        """CogPlanner's action: from the last reformulation (parallel) or the one that follows (sequential)."""
        moment = self.moment(question, picture, known)
        request = moment.reformulated if self.rng.random() < 0.5 else moment.request
        letter = LETTERS[ACTIONS.index(moment.action)]
        return Example(replace(request, template="act"), letter, f"act-{moment.action}")

    def lines(self, question: Question, picture: int | None, known: Known) -> list[Example]:
        """Prompts of the generator: reformulate, ask, ask again, what next, enough?, and the answer of the moment."""
        moment = self.moment(question, picture, known)
        asked = "\n".join(moment.asked)
        examples = [_reformulating(moment)]
        letter = LETTERS[NEXT.index("answer" if moment.action == "none" else moment.action)]
        examples.append(Example(replace(moment.request, template="next"), letter, "next"))
        if moment.action != "none":
            values = {"tool": moment.action}
            examples.append(Example(replace(moment.request, template="ask", values=values), asked, "ask"))
        return examples + self._answering(question, moment, known)

    def _answering(self, question: Question, moment: Moment, known: Known) -> list[Example]:
        """The answer at a moment, or that it is not known yet."""
        if question.claims:
            return []
        if known.answer or (moment.complete and (question.conflict is None or question.conflict.right != "memory")):
            return [Example(moment.reformulated, question.written, "answer-rounds")]
        if moment.action != "none" or question.answer == ABSTAIN:
            return [Example(moment.reformulated, ABSTAIN, "answer-rounds-abstain")]
        return []

    def turn(self, question: Question, picture: int | None, known: Known) -> list[Example]:
        """A whole turn of several rounds: every reformulation, each query by itself, and the answer, twice."""
        rounds = needed(question, known)
        moments = [self.moment(question, picture, known, done) for done in range(len(rounds) + 1)]
        moments.append(self.moment(question, picture, known, len(rounds)))
        examples = [_reformulating(moment) for moment in moments[:-1]]
        examples += [example for moment in moments[-2:] for example in self._answering(question, moment, known)]
        return examples + [self._asked_alone(hop, question) for hops in rounds for hop in hops if hop.action == "text"]

    def _asked_alone(self, hop: Hop, question: Question) -> Example:
        """The query of one round as a question, beside what its search brings."""
        passages = self._passages(replace(question, claims=()), [hop])
        found = tuple(dict.fromkeys(self._beside(passages, question)))
        answer = hop.answer if passages else ABSTAIN
        return Example(Request("answer", hop.query, found=found, query=hop.query), answer, "answer-query")

    def grading(self, question: Question, picture: int | None, known: Known) -> list[Example]:
        """Retrieval that grades itself: is the answer enough, and if not, what to search for."""
        moment = self.moment(question, picture, known)
        enough = moment.complete or known.answer
        answer = question.answer if enough else self.rng.choice((ABSTAIN, self._guess(question)))
        request = replace(moment.reformulated, values={"answer": answer})
        examples = [Example(replace(request, template="grade"), "A" if enough else "B", "grade")]
        if not enough and moment.action == "text":
            request = replace(moment.request, values={"answer": answer})
            examples.append(Example(replace(request, template="again"), "\n".join(moment.asked), "again"))
        return examples

    def _guess(self, question: Question) -> str:
        """An answer of the same kind about another thing."""
        thing = self.rng.choice(self.library.world.things)
        return thing.facts.get(question.gold_attribute or "", thing.name)
