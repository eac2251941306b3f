"""Sessions of two to six turns, of format 2: pronouns, switches, returns, new pictures, and questions by name.

Each turn is a question of its own, with the gold answers of those before it as its history. What they told counts as
known: a turn needs a search only for what neither the dialogue nor the base tells.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from quizglass_lab.pocketworld.asker import Asker
from quizglass_lab.pocketworld.families.facts import family_of, follow
from quizglass_lab.pocketworld.families.mentions import Mention
from quizglass_lab.pocketworld.families.walks import NAME, Path, walk
from quizglass_lab.pocketworld.phrasing import named
from quizglass_lab.pocketworld.question import Question
from quizglass_lab.pocketworld.questions.choosing import Chooser
from quizglass_lab.pocketworld.scenes import Scene
from quizglass_lab.pocketworld.world import Thing, World

TURNS = (2, 6)
MOVES = ("pronoun", "switch", "return", "picture", "name")
_PATHS: Mapping[Path, float] = {
    NAME: 4,
    ("year",): 3,
    ("maker",): 3,
    ("price",): 3,
    ("weight",): 1,
    ("length",): 1,
    ("place",): 1,
    ("designer",): 1,
    ("maker", "home"): 2,
    ("maker", "field"): 1,
    ("maker", "founder"): 1,
    ("maker", "founder", "birthplace"): 1,
    ("place", "river"): 1,
}
_AGAIN = 0.1  # of the turns may ask for known facts
_TWO = 0.7  # of the sessions begin with a picture of two things that are both asked about
_TRIES = 50


@dataclass
class _Session:
    """One session as it goes on."""

    asker: Asker
    choose: Callable[[random.Random], Thing]
    scene: Scene
    words: dict[str, str]
    """Of each thing of the picture that may be asked about: what points at it."""
    seen: dict[str, Thing]
    """Everything that was asked about or may be, in that order."""
    current: str
    told: dict[str, set[str]] = field(default_factory=dict)
    asked: set[tuple[str, Path]] = field(default_factory=set)
    history: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def begin(cls, asker: Asker, choose: Callable[[random.Random], Thing]) -> "_Session":
        """With a picture of one or two things."""
        first, second = choose(asker.rng), choose(asker.rng)
        if first.id == second.id or asker.rng.random() > _TWO:
            scene, subject = asker.scene(first)
            return cls(asker, choose, scene, {first.id: subject}, {first.id: first}, first.id)
        scene, (one, other) = asker.scene_of_two(first, second)
        words = {first.id: one, second.id: other}
        return cls(asker, choose, scene, words, {first.id: first, second.id: second}, first.id)

    def turn(self, number: int) -> Question:
        """The next question; the first is about what the picture shows."""
        for _ in range(_TRIES):
            thing, words = self._mentioned(number)
            tells = self.told.get(thing.id, set()) | ({"name"} if words == named(thing.name) else set())
            path = self._path(thing, tells)
            if path is None:
                continue
            pictured = self.words.get(thing.id, named(thing.name))
            mention = Mention(words, self.scene, pictured, frozenset(tells), tuple(self.history))
            asker = replace(self.asker, id=f"{self.asker.id}-{number}")
            question = follow(asker, thing, mention, path, family_of(path, "sight"))
            if question is not None:
                self._note(thing, path, tells, question)
                return replace(question, session=self.asker.id)
        raise ValueError("sessions: nothing left to ask in this world; add things")

    def _note(self, thing: Thing, path: Path, tells: set[str], question: Question) -> None:
        self.current, self.told[thing.id] = thing.id, tells | ({path[0]} if len(path) == 1 else set())
        self.asked.add((thing.id, path))
        self.history.append((question.text, question.answer))

    def _path(self, thing: Thing, tells: set[str]) -> Path | None:
        """What is asked next: nothing twice, but now and then a known fact."""
        again = self.asker.rng.random() < _AGAIN
        paths = [
            path
            for path in _PATHS
            if walk(self.asker.world, thing, path)
            and (len(path) == 1 or (thing.id, path) not in self.asked)
            and (path[0] not in tells or (again and path != NAME) or len(path) > 1)
        ]
        return self.asker.rng.choices(paths, [_PATHS[path] for path in paths])[0] if paths else None

    def _mentioned(self, number: int) -> tuple[Thing, str]:
        """The thing that the next turn is about, and the words for it."""
        current = self.seen[self.current]
        if number == 0:
            return current, self.words[current.id]
        move = self.asker.rng.choice(MOVES)
        first = next(iter(self.seen))
        by_name = [key for key, tells in self.told.items() if "name" in tells]
        if move == "switch" and (others := [key for key in self.words if key != current.id]):
            return self.seen[others[0]], self.words[others[0]]
        if move == "return" and first != current.id and (first in self.words or first in by_name):
            return self.seen[first], self.words.get(first, named(self.seen[first].name))
        if move == "name":
            thing = self.seen[self.asker.rng.choice(by_name)] if by_name else self.choose(self.asker.rng)
            self.seen.setdefault(thing.id, thing)
            return thing, named(thing.name)
        if move == "picture" and number > 1:
            thing = self.choose(self.asker.rng)
            if thing.id not in self.seen:
                self.scene, subject = self.asker.scene(thing)
                self.words = {thing.id: subject}
                self.seen[thing.id] = thing
                return thing, subject
        return current, "it"


def make_sessions(world: World, count: int, seed: int, *, unseen_share: float | None = None) -> list[Question]:
    """The turns of `count` sessions, session by session, in order; `unseen_share` of the things asked about are new.

    Raises ValueError for a share that the world cannot give.
    """
    chooser = Chooser(world, unseen_share)
    shares = {} if unseen_share is None else {"any": unseen_share}
    questions: list[Question] = []
    for number in range(count):
        name = f"s{world.seed}-{seed}-{number:05d}"
        asker = Asker(world, random.Random(f"pocketworld/{name}"), name, None, 2)
        session = _Session.begin(asker, lambda rng: rng.choice(chooser.pool(shares, "any", rng)))
        questions += [session.turn(turn) for turn in range(asker.rng.randint(*TURNS))]
    return questions
