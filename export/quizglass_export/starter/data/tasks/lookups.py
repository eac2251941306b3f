"""Rounds of lookups (CogPlanner, OmniSearch, retrieval that grades itself): what to look up next, and how to ask.

A question's hops are followed as far as the base does not know them, and a prompt is made of a moment in between.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from quizglass_export.pocketworld.question import ABSTAIN, Hop, Question
from quizglass_export.starter.data.examples import LETTERS, Example, Request
from quizglass_export.starter.data.hits import Hits
from quizglass_export.starter.data.knowing import Known, missing_names
from quizglass_export.starter.data.library import Library
from quizglass_export.starter.data.situations import base_request

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
    """Hops that can be looked up together; one that needs another's answer, or the picture's, comes after it."""
    rounds: list[list[Hop]] = []
    for hop in hops:
        alone = not rounds or "image" in (hop.action, rounds[-1][0].action)
        if alone or any(other.answer in hop.query for other in rounds[-1]) or rounds[-1][0].round != hop.round:
            rounds.append([hop])
        else:
            rounds[-1].append(hop)
    return rounds


def needed(question: Question, known: Known) -> list[list[Hop]]:
    """The rounds that somebody with this knowledge has to look up."""
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


class Lookups:
    """Makes moments, and examples of them."""

    def __init__(self, library: Library, rng: random.Random) -> None:
        self.library = library
        self.rng = rng
        self.hits = Hits(library, rng)

    def moment(self, question: Question, picture: int | None, known: Known) -> Moment:
        """Any moment of a question's turn."""
        rounds = needed(question, known)
        done = self.rng.randint(0, len(rounds))
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
        examples = [Example(replace(moment.request, template="reformulate"), asked, f"reformulate-{moment.action}")]
        letter = LETTERS[NEXT.index("answer" if moment.action == "none" else moment.action)]
        examples.append(Example(replace(moment.request, template="next"), letter, "next"))
        if moment.action != "none":
            values = {"tool": moment.action}
            examples.append(Example(replace(moment.request, template="ask", values=values), asked, "ask"))
        if question.claims:
            return examples
        if known.answer or (moment.complete and (question.conflict is None or question.conflict.right != "memory")):
            examples.append(Example(moment.reformulated, question.answer, "answer-rounds"))
        elif moment.action != "none" or question.answer == ABSTAIN:
            examples.append(Example(moment.reformulated, ABSTAIN, "answer-rounds-abstain"))
        return examples

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
