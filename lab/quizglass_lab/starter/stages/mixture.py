"""What the joint stage learns from: pools of quizzes about pictures, prompts in serving situations, and text alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from quizglass_lab.pocketworld.question import Question
from quizglass_lab.pocketworld.scenes import Scene
from quizglass_lab.starter.data.batches import Batch, bucketed, pool_size
from quizglass_lab.starter.data.examples import Encoder, Example
from quizglass_lab.starter.data.knowing import Known
from quizglass_lab.starter.data.quiz import Quiz
from quizglass_lab.starter.data.reading import TextSource, printed, repeating
from quizglass_lab.starter.data.renaming import Renaming
from quizglass_lab.starter.data.store import Asked
from quizglass_lab.starter.data.tasks.calculating import Calculating
from quizglass_lab.starter.data.tasks.comparing import Comparing
from quizglass_lab.starter.data.tasks.mixed import OFTENER_ASKED, SHARES, GeneratorTasks
from quizglass_lab.starter.data.tasks.portraits import Portraits
from quizglass_lab.starter.data.tasks.sorts import SORTS
from quizglass_lab.starter.stages.decider import Decisions

_POOL = 360
_RENAMED = 0.8
"""Share of the situations whose things get other names."""
MakeGroup = Callable[[GeneratorTasks, Question, int], list[Example]]
_ANY: MakeGroup = GeneratorTasks.group
_MAKERS: tuple[MakeGroup, ...] = (
    GeneratorTasks.beside_hits,
    GeneratorTasks.despite_hits,
    GeneratorTasks.named_rewrites,
    GeneratorTasks.conflict,
    GeneratorTasks.turn,
)
_ABOUT: Mapping[MakeGroup, str] = {
    GeneratorTasks.beside_hits: "pointing",
    GeneratorTasks.despite_hits: "recognised",
    GeneratorTasks.named_rewrites: "telling",
    GeneratorTasks.turn: "walking",
}


@dataclass(frozen=True)
class Mixture:
    """What a pool is made of: quizzes first, in a share that goes from `quizzes[0]` to `quizzes[1]` over the stage.

    Of the quizzes' pictures, `known` show at least one recognised thing; `questions` are asked about each. Of the
    others, `situations` are questions in serving situations, `comparisons` ask which of two is more, `sums` how
    much, `portraits` for all that passages tell of a thing, `decisions` are the decider's own questions, and the rest
    is text alone. Of the situations, `hits` are about hits for things that are not taught by heart, `recognised` about
    other things' hits for those that are, `named` rewrite questions that tell what they are about, `conflicts` set
    memory against evidence, `turns` are whole turns of several rounds; the rest is of any kind, in `shares`. Of the
    text alone, `abroad` is about makers, people and towns. Beside a pool stand `lists` as many rows of whose each of
    some numbers is.
    """

    quizzes: tuple[float, float]
    known: float
    questions: int
    situations: float
    hits: float
    comparisons: float
    tokens: int
    """Padded tokens of a batch."""
    sums: float = 0.0
    portraits: float = 0.0
    decisions: float = 0.0
    recognised: float = 0.0
    named: float = 0.0
    conflicts: float = 0.0
    turns: float = 0.0
    abroad: float = 0.0
    lists: float = 0.0
    shares: Sequence[float] = SHARES


GROUNDING = Mixture((0.9, 0.8), known=0.85, questions=8, situations=0.3, hits=0.0, comparisons=0.0, tokens=1700)
"""Small, frequent steps until words follow from what the picture shows; the long prompts come after."""
SERVING = Mixture(
    quizzes=(0.4, 0.34),
    known=0.6,
    questions=6,
    situations=0.62,
    comparisons=0.08,
    sums=0.05,
    portraits=0.1,
    decisions=0.06,
    hits=0.13,
    recognised=0.15,
    named=0.07,
    conflicts=0.1,
    turns=0.14,
    abroad=0.4,
    lists=0.12,
    shares=OFTENER_ASKED,
    tokens=3000,
)
"""The mixture of the last part of joint training: prompts as a server asks them, and quizzes."""
_WEIGHED = (0.4, 0.35, 0.25)
"""Of conflicts: about what is known by heart, what is not, and what the world's sources disagree on."""


class JointBatches:
    """Pools of batches: quizzes about pretraining scenes, questions in serving situations, and text alone."""

    def __init__(
        self,
        encoder: Encoder,
        scenes: Sequence[Scene],
        asked: Asked,
        seed: int,
        mixture: Mixture = SERVING,
        scale: int = 1,
    ) -> None:
        """`scenes` are the first rows of the picture store, the pictures of `asked` follow.

        `scale`: how many times larger than on a CPU batches are.
        """
        self.encoder = encoder
        self.scenes = scenes
        self.asked = asked
        self.mixture = mixture
        self.rng = random.Random(seed)
        self._seed = seed
        self._scale = scale
        self.quiz = Quiz(self.rng)
        self.text = TextSource(seed)
        self._known = [row for row, scene in enumerate(scenes) if any(p.thing.recognised for p in scene.things)]
        self.comparing = Comparing(self.rng)
        self.calculating = Calculating(self.rng)
        self.portraits = Portraits(self.rng)
        self._tasks = {id(library): GeneratorTasks(library, self.rng, mixture.shares) for library in asked.worlds}
        self._rows = {sort: self._asked_so(sort) for sort in SORTS}
        self._renaming = {id(library): Renaming(library, self.rng) for library in asked.worlds}
        self._decisions = Decisions(asked, self.rng)

    def _asked_so(self, sort: str) -> list[int]:
        asked = enumerate(zip(self.asked.questions, self.asked.libraries, strict=True))
        return [row for row, (question, library) in asked if SORTS[sort](question, library)]

    def reseed(self, number: int) -> None:
        """Draw differently from here on than with another number."""
        self.rng.seed(self._seed + 1000 * number)
        self.text = TextSource(self._seed + 1000 * number)

    def __call__(self, part: float, copied: float) -> Iterator[Batch]:
        """The next pool, for the share of the budget already spent."""
        first, last = self.mixture.quizzes
        quizzes, count = first + (last - first) * part, pool_size(_POOL, self._scale)
        groups = [self.encoder.encode_all(self._group(quizzes)) for _ in range(count)]
        groups += [repeating(self.encoder, self.text.passage()) for _ in range(count // 7)]
        groups += [self.encoder.encode_all(printed(self.rng)) for _ in range(count // 9)]
        groups += [self.comparing.listed(self.encoder) for _ in range(int(count * self.mixture.lists))]
        batches = bucketed([group for group in groups if group], self.encoder, self.mixture.tokens * self._scale)
        return iter(self.rng.sample(batches, len(batches)))

    def _group(self, quizzes: float) -> Sequence[Example]:
        draw = self.rng.random()
        if draw < quizzes:
            known = self.rng.random() < self.mixture.known
            row = self.rng.choice(self._known) if known else self.rng.randrange(len(self.scenes))
            return self.quiz.group(self.scenes[row], row, self.mixture.questions)
        mixed = self.mixture
        shares = (mixed.situations, mixed.comparisons, mixed.sums, mixed.portraits, mixed.decisions)
        makers = (self.situation, self.comparison, self.calculation, self.portrait, self.decision, self.reading)
        (make,) = self.rng.choices(makers, (*shares, max(0.0, 1 - sum(shares))))
        return make()

    def reading(self) -> Sequence[Example]:
        """A group of questions about passages, without any picture."""
        return self.text.abroad() if self.rng.random() < self.mixture.abroad else self.text.group()

    def situation(self) -> Sequence[Example]:
        """Prompts of one kind about one stored question."""
        mixed = self.mixture
        shares = (mixed.hits, mixed.recognised, mixed.named, mixed.conflicts, mixed.turns)
        (make,) = self.rng.choices((*_MAKERS, _ANY), (*shares, max(0.0, 1 - sum(shares))))
        row = self._row(make)
        question, library = self.asked.questions[row], id(self.asked.libraries[row])
        examples = make(self._tasks[library], question, len(self.scenes) + row)
        return self._renamed(examples, row)

    def _row(self, make: MakeGroup) -> int:
        """A question that a kind of prompts is made about; any, where there is none."""
        rows = self._rows[_ABOUT.get(make, "any")]
        if make is GeneratorTasks.conflict:
            (sort,) = self.rng.choices(("known", "unknown", "disputed"), _WEIGHED)
            rows = self._rows[sort]
        return self.rng.choice(rows) if rows else self.rng.randrange(len(self.asked.questions))

    def _renamed(self, examples: Sequence[Example], row: int) -> Sequence[Example]:
        if self.asked.questions[row].conflict is not None or self.rng.random() >= _RENAMED:
            return examples
        return self._renaming[id(self.asked.libraries[row])].renamed(examples)

    def calculation(self) -> Sequence[Example]:
        """Differences and multiples: of plain numbers, of short passages and signs, of passages of a world."""
        draw = self.rng.random()
        if draw < 0.1:
            return self.calculating.plain(6)
        return self.calculating.told() if draw < 0.6 else self.calculating.read(self.rng.choice(self.asked.libraries))

    def portrait(self) -> Sequence[Example]:
        """All that passages tell of a thing of a world."""
        library = self.rng.choice(self.asked.libraries)
        examples = self.portraits.read(library)
        return self._renaming[id(library)].renamed(examples) if self.rng.random() < _RENAMED else examples

    def decision(self) -> Sequence[Example]:
        """What the decider is asked about a stored question, answered with its letter."""
        row = self.rng.randrange(len(self.asked.questions))
        known = Known.taught(self.asked.questions[row], self.asked.libraries[row])
        examples = [_moved(example, len(self.scenes)) for example in self._decisions.others(row, known)]
        return self._renamed(examples, row)

    def comparison(self) -> Sequence[Example]:
        """Which of some is more: of short passages, or of two of a world."""
        if self.rng.random() < 0.5:
            return self.comparing.told()
        return self.comparing.read(self.rng.choice(self.asked.libraries))


def _moved(example: Example, offset: int) -> Example:
    """The same example with its picture behind `offset` others."""
    request = example.request
    if request.picture is None:
        return example
    return replace(example, request=replace(request, picture=offset + request.picture))
