"""Groups of examples about one question, over all that policies ask of the generator."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from quizglass_lab.pocketworld.question import Question
from quizglass_lab.starter.data.examples import Example
from quizglass_lab.starter.data.knowing import Known
from quizglass_lab.starter.data.library import Library
from quizglass_lab.starter.data.situations import Situations
from quizglass_lab.starter.data.tasks.conflicts import Conflicts
from quizglass_lab.starter.data.tasks.drafts import Drafts
from quizglass_lab.starter.data.tasks.lookups import Lookups

SHARES = (0.5, 0.18, 0.06, 0.16, 0.1)
"""Of situations, lookups, grading, drafts and conflicts."""
OFTENER_ASKED = (0.22, 0.28, 0.1, 0.4, 0.0)
"""Of a mixture that has most situations, and conflicts, on their own: more examples for several rounds and drafts."""
_OF_CONFLICTS = (0.35, 0.0, 0.0, 0.0, 0.65)
Maker = Callable[[Question, int, Known], list[Example]]


class GeneratorTasks:
    """What the generator is asked in one library; knowledge is that by construction."""

    def __init__(self, library: Library, rng: random.Random, shares: Sequence[float] = SHARES) -> None:
        """`shares` of the kinds of prompts, in the order of `SHARES`."""
        self.shares = shares
        self.library = library
        self.rng = rng
        self.situations = Situations(library, rng, picture_stage=True)
        self.lookups, drafts, self.conflicts = Lookups(library, rng), Drafts(library, rng), Conflicts(library, rng)
        self._makers: tuple[Maker, ...] = (
            lambda question, picture, known: self.situations.examples(question, picture),
            lambda *about: self.lookups.lines(*about) + self.lookups.lines(*about),  # two moments of its rounds
            lambda *about: self.lookups.grading(*about) + self.lookups.grading(*about),
            drafts.lines,
            self.conflicts.lines,
        )

    def group(self, question: Question, picture: int) -> list[Example]:
        """Examples of one kind of prompt about a question; all share the picture."""
        shares = self.shares if question.conflict is None else _OF_CONFLICTS
        (make,) = self.rng.choices(self._makers, shares)
        return make(question, picture, Known.taught(question, self.library))

    def beside_hits(self, question: Question, picture: int) -> list[Example]:
        """What an image search brought, believed where it is right and not where it is of another kind."""
        return self.situations.beside_hits(question, picture)

    def despite_hits(self, question: Question, picture: int) -> list[Example]:
        """A recognised thing beside other things' hits."""
        return self.situations.despite_hits(question, picture)

    def named_rewrites(self, question: Question, picture: int) -> list[Example]:
        """A question that tells what it is about, rewritten beside hits of all kinds."""
        return self.situations.named_rewrites(question, picture)

    def turn(self, question: Question, picture: int) -> list[Example]:
        """All rounds of a question that needs several lookups, and its answer."""
        return self.lookups.turn(question, picture, Known.taught(question, self.library))

    def conflict(self, question: Question, picture: int) -> list[Example]:
        """Memory against evidence."""
        return self.conflicts.lines(question, picture, Known.taught(question, self.library))

    def every(self, question: Question, picture: int) -> list[list[Example]]:
        """Groups of every kind of prompt."""
        known = Known.taught(question, self.library)
        return [make(question, picture, known) for make in self._makers]
