"""What an image search may bring for a question: the right entry, others, both, or nothing.

Whether a line is the right one can always be told from the words: a wrong one is of another kind than what the question
points at. Where a task is to look closely (`sees`), it may be of the same kind and another colour. Entries that look
alike in both come behind the right one only.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from quizglass_lab.pocketworld.question import Question
from quizglass_lab.pocketworld.world import Thing
from quizglass_lab.starter.data.library import Library

MANNERS = ("none", "right", "wrong", "several")
_SHARES = (0.12, 0.5, 0.16, 0.22)
"""Of `MANNERS`: more wrong ones than searches bring, and still mostly right ones. With as many of both a base learned
to distrust every hit."""
_FIRST = 0.7
"""How often the right one of several is the first: searches put it there more often than elsewhere."""
_MOST = 5
_TRIES = 30


@dataclass(frozen=True)
class Drawn:
    """Lines of an image search; `place` is that of the right one, None where it is not among them."""

    manner: str
    lines: tuple[str, ...] = ()
    place: int | None = None
    things: tuple[Thing, ...] = ()

    @property
    def right(self) -> bool:
        """Whether the right entry is among them."""
        return self.place is not None


class Hits:
    """Draws the hits of image searches in one library."""

    def __init__(self, library: Library, rng: random.Random, *, sees: bool = False) -> None:
        """`sees`: whether colours, which the picture shows, are to tell entries apart.

        Taught so in every prompt, a base of this size came to distrust the hits of all that it does not know by heart.
        """
        self.library = library
        self.rng = rng
        self.sees = sees
        self._all = [thing for thing in library.world.things if library.findable(thing)]

    def target(self, question: Question) -> Thing | None:
        """The thing that the question is about, if the picture shows it."""
        shown = [placed.thing for placed in question.scene.things]
        return next((thing for thing in shown if thing.id == question.target), None)

    def targets(self, question: Question, target: Thing) -> list[Thing]:
        """The target, and what else of the picture has to be looked up."""
        asked = {hop.entry for hop in question.hops if hop.action == "image"} - {target.id}
        return [target, *(placed.thing for placed in question.scene.things if placed.thing.id in asked)]

    def draw(self, question: Question, manner: str | None = None) -> Drawn:
        """Hits in one of `MANNERS`, any by default; "right" and "several" hold the target if the picture shows it."""
        manner = manner or self.rng.choices(MANNERS, _SHARES)[0]
        target = self.target(question)
        if manner == "none":
            return Drawn(manner)
        if target is None:
            return self._unrelated(question, 1 if manner == "right" else self._few())
        right = self.targets(question, target)
        beside = self._beside(question, right)
        if manner == "wrong" or not all(self.library.findable(thing) for thing in right):
            return self._as_drawn("wrong", self.rivals(right, self._few(), beside), None)
        if manner == "right":
            return self._as_drawn(manner, right, 0)
        rivals = self.rivals(right, self.rng.randint(1, _MOST - len(right)), beside)
        mixed = self.ordered([*right, *rivals])
        alike = [self._alike(target)] if self.rng.random() < 0.3 and len(mixed) < _MOST else []
        return self._as_drawn(manner, [*mixed, *alike], mixed.index(target))

    def ordered(self, things: Sequence[Thing]) -> list[Thing]:
        """Things, the right one first, in an order in which a search might bring them."""
        return list(things) if self.rng.random() < _FIRST else self.rng.sample(things, len(things))

    def strangers(self, question: Question, kin: float) -> list[Thing]:
        """One to three findable things besides those asked about, the first of the same kind in a share of `kin`.

        Only for prompts whose right answer is given, or known by heart, whatever a search brings.
        """
        asked = {question.target, *question.gold_entries, *(hop.entry for hop in question.hops)}
        kinds = {self.library.things[entry].kind for entry in asked if entry in self.library.things}
        others = {thing.id: thing for thing in self._all if thing.id not in asked}
        alike = self.rng.random() < kin
        first = [each for each, thing in others.items() if (thing.kind in kinds) == alike] or list(others)
        count = self.rng.choices((1, 2, 3), (0.6, 0.25, 0.15))[0]
        chosen = [self.rng.choice(first), *(self.rng.choice(list(others) if kin else first) for _ in range(count - 1))]
        return [others[each] for each in dict.fromkeys(chosen)]

    def rivals(self, right: Sequence[Thing], count: int, first: Sequence[Thing] = ()) -> list[Thing]:
        """Things that none of the right ones can be taken for; half of the target's kind where colours can be seen."""
        chosen = [thing for thing in first if self._differs(thing, right)][:count]
        for _ in range(_TRIES):
            if len(chosen) >= count:
                break
            rival = self._rival(right)
            if rival is not None and rival not in chosen:
                chosen.append(rival)
        return chosen

    def _rival(self, right: Sequence[Thing]) -> Thing | None:
        same_kind = self.sees and self.rng.random() < 0.5
        for _ in range(_TRIES):
            thing = self.rng.choice(self._all)
            if self._differs(thing, right) and (thing.kind == right[0].kind) == same_kind:
                return thing
        return None

    def _differs(self, thing: Thing, right: Sequence[Thing]) -> bool:
        return all(thing.kind != one.kind or (self.sees and thing.look.body != one.look.body) for one in right)

    def _alike(self, target: Thing) -> Thing:
        """A thing of the same kind and, if there is one, the same colour."""
        kind = [thing for thing in self._all if thing.kind == target.kind and thing.id != target.id]
        return self.rng.choice([thing for thing in kind if thing.look.body == target.look.body] or kind or [target])

    def _unrelated(self, question: Question, count: int) -> Drawn:
        """The picture's own things, or any: the question is not about what the picture shows."""
        shown = [placed.thing for placed in question.scene.things if self.library.findable(placed.thing)]
        shown = shown if self.rng.random() < 0.6 else []
        others = [self.rng.choice(self._all) for _ in range(count)]
        return self._as_drawn("wrong", [*shown[:1], *others][:count], None)

    def _beside(self, question: Question, right: Sequence[Thing]) -> list[Thing]:
        """Other things of the scene, which searches for its parts bring."""
        others = [placed.thing for placed in question.scene.things if placed.thing not in right]
        return [thing for thing in others if self.library.findable(thing)] if self.rng.random() < 0.5 else []

    def _few(self) -> int:
        return self.rng.choices((1, 2, 3, 5), (0.6, 0.2, 0.12, 0.08))[0]

    def _as_drawn(self, manner: str, things: Sequence[Thing], place: int | None) -> Drawn:
        return Drawn(manner, tuple(self.library.seen(thing) for thing in things), place, tuple(things))
