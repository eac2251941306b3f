"""What every question family needs: things to ask about, a scene to show them in, and the words that point at them."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from quizglass_lab.pocketworld import phrasing
from quizglass_lab.pocketworld.layout import MOST_THINGS, free_scene
from quizglass_lab.pocketworld.question import Hop, Question
from quizglass_lab.pocketworld.referring import choose, pointed_at, references
from quizglass_lab.pocketworld.scenes import Scene, make_scene
from quizglass_lab.pocketworld.words import DOMAINS
from quizglass_lab.pocketworld.world import Thing, World, is_core

ONE_THING, TWO_THINGS = 0.68, 0.21  # the rest shows three; families that need one thing raise the first to 0.7
POSITION_WORDS = 0.88  # of the questions about one of several things; the others say only "the car"
COUNTS = (45, 18, 14, 10, 7, 6)  # of format 2: how many scenes show one thing, two, …
SAME_KIND = (50, 28, 14, 8)  # and how many others of the kind of the one asked about, where there is room
BARE_THIS = 0.3  # of its one-thing scenes are asked about with "this" alone
TRIES = 24  # scenes drawn up until one lets the words wanted point at one thing
STRAY_SIGN = 0.06  # of the one-thing scenes show a sign that has nothing to do with the question


@dataclass(frozen=True)
class ThingPool:
    """The things of a world by what the base model was taught about them."""

    world: World
    all: tuple[Thing, ...]
    recognised: tuple[Thing, ...]
    studied: tuple[Thing, ...]
    unrecognised: tuple[Thing, ...]

    @classmethod
    def of(cls, world: World, *, core: bool | None = None) -> "ThingPool":
        """The whole world but for what is in dispute, or only its core (`core=True`), or only what is not core."""
        touched = world.disputes.touched
        things = tuple(t for t in world.things if t.id not in touched and (core is None or is_core(t) == core))
        return cls(
            world,
            things,
            tuple(t for t in things if t.recognised),
            tuple(t for t in things if t.studied),
            tuple(t for t in things if not t.recognised),
        )

    def having(self, need: str) -> tuple[Thing, ...]:
        """`need`: any, recognised, studied or unrecognised."""
        pools = {"any": self.all, "recognised": self.recognised, "studied": self.studied}
        return pools.get(need, self.unrecognised)


@dataclass(frozen=True)
class Pointed:
    """What a question is about: a thing, the scene that shows it, and words that point at it there."""

    thing: Thing
    scene: Scene
    words: str


@dataclass(frozen=True)
class Asker:
    """Builds the scene and the words of one question; `rng` is the question's own.

    In format 2 scenes are free, and a question says which objects it may be about and which one is meant.
    """

    world: World
    rng: random.Random
    id: str
    group: str | None
    format: int = 1

    def other(self, things: Sequence[Thing], *avoid: Thing, kinds: bool = False) -> Thing:
        """Any thing that is not one of `avoid` and, with `kinds`, of another kind than theirs, if there is one."""
        ids, taken = {t.id for t in avoid}, {t.kind for t in avoid} if kinds else set()
        for _ in range(50):
            thing = self.rng.choice(things)
            if thing.id not in ids and thing.kind not in taken:
                return thing
        return next((t for t in things if t.id not in ids), things[0])

    def scene(
        self,
        thing: Thing,
        *,
        count: int | None = None,
        sign: str | None = None,
        by: Sequence[str] = (),
        without: Sequence[str] = (),
        spoiled: bool = False,
    ) -> tuple[Scene, str]:
        """A scene with `thing` in it, and the words that point at it alone ("this car", "the car on the left").

        `count` things are shown, fewer where the world has no more; by default mostly one, and one only beside a sign.
        Format 2 alone: `by` asks for words that use these ("size", "colour", "place", "relation") where some scene of
        a few lets them, `without` for words that use none of these; `spoiled` makes the sign unreadable.
        """
        if self.format == 2:
            return self._free_scene(thing, count, sign, by=by, without=without, spoiled=spoiled)
        if count is None:
            draw = self.rng.random()
            count = 1 if sign or draw < ONE_THING else 2 if draw < ONE_THING + TWO_THINGS else 3
        if count == 1:
            if sign is None and self.rng.random() < STRAY_SIGN:
                sign = phrasing.sign_phrase(self.rng)
            subject = self.rng.choice(("this {}", "this {}", "the {} in the picture")).format(thing.kind)
            return make_scene((thing,), self.rng, sign=sign), subject
        positioned = self.rng.random() < POSITION_WORDS
        shown = [thing]
        while len(shown) < count:
            shown.append(self.other(self.world.things, *shown, kinds=not positioned or self.rng.random() < 0.7))
        self.rng.shuffle(shown)
        scene = make_scene(shown, self.rng, sign=sign)
        slot = next(placed.slot for placed in scene.things if placed.thing.id == thing.id)
        if not positioned and sum(t.kind == thing.kind for t in shown) == 1:
            return scene, f"the {thing.kind}"
        return scene, f"the {thing.kind} {phrasing.SLOT_WORDS[slot]}"

    def scene_of_two(self, thing: Thing, other: Thing) -> tuple[Scene, tuple[str, str]]:
        """A scene with both, and the words that point at each of them."""
        if self.format == 2:
            return self._free_scene_of_two(thing, other)
        shown = self.rng.sample((thing, other), 2)
        scene = make_scene(shown, self.rng)
        slots = {placed.thing.id: placed.slot for placed in scene.things}
        first, second = (f"the {one.kind} {phrasing.SLOT_WORDS[slots[one.id]]}" for one in (thing, other))
        return scene, (first, second)

    def _free_scene(
        self,
        thing: Thing,
        count: int | None,
        sign: str | None,
        *,
        by: Sequence[str],
        without: Sequence[str],
        spoiled: bool,
    ) -> tuple[Scene, str]:
        rng = self.rng
        if count is None:
            count = 1 if sign else rng.choices(range(1, MOST_THINGS + 1), COUNTS)[0]
        if count == 1 and sign is None and rng.random() < STRAY_SIGN:
            sign = phrasing.sign_phrase(rng)
        for attempt in range(TRIES):
            scene = free_scene(self.company(count, thing), rng, asked={thing.id}, sign=sign, spoiled=spoiled)
            if count == 1 and not by:
                return scene, self._of_one(thing, without)
            if options := references(thing, scene, by=by if attempt < TRIES - 1 else (), without=without):
                return scene, f"the {choose(options, rng).words}"
        return free_scene([thing], rng, asked={thing.id}, sign=sign, spoiled=spoiled), self._of_one(thing, without)

    def _free_scene_of_two(self, thing: Thing, other: Thing) -> tuple[Scene, tuple[str, str]]:
        count = self.rng.choices((2, 3, 4), (6, 3, 1))[0]
        while True:
            shown = self.company(count, thing, other)
            scene = free_scene(shown, self.rng, asked={thing.id, other.id})
            first, second = (references(one, scene) for one in (thing, other))
            if first and second:
                return scene, (f"the {choose(first, self.rng).words}", f"the {choose(second, self.rng).words}")
            count = max(2, count - 1)

    def company(self, count: int, *things: Thing, same: int | None = None) -> list[Thing]:
        """`things`, and others up to `count`: `same` of the first one's kind (by default 0 to 3), then others."""
        shown, supply = list(things), self.world.things
        if same is None:
            same = self.rng.choices((0, 1, 2, 3), SAME_KIND)[0]
        for place in range(min(count, len(supply)) - len(things)):
            if place < same:
                ids = {thing.id for thing in shown}
                pool = [thing for thing in supply if thing.kind == things[0].kind and thing.id not in ids]
                shown += self.rng.sample(pool, min(1, len(pool)))
            else:
                shown.append(self.other(supply, *shown, kinds=self.rng.random() < 0.7))
        self.rng.shuffle(shown)
        return shown

    def _of_one(self, thing: Thing, without: Sequence[str]) -> str:
        """Words for the only thing: often they do not even say its kind."""
        if self.rng.random() < BARE_THIS:
            return "this"
        subjects = ["this {k}", "this {k}", "this {k}", "the {k}", "the {k} in the picture", "the {c} {k}"]
        subject = self.rng.choice(subjects[:-1] if "colour" in without else subjects)
        return subject.format(k=thing.kind, c=thing.look.body)

    def build(
        self,
        family: str,
        about: Pointed,
        text: str,
        answer: str,
        gold_query: str,
        *,
        entries: tuple[str, ...] = (),
        attribute: str | None = None,
        aliases: tuple[str, ...] = (),
        history: tuple[tuple[str, str], ...] = (),
        target: bool = True,
        hops: tuple[Hop, ...] = (),
        domain: str = "",
        working: str = "",
    ) -> Question:
        """The question; its image query asks about what is pointed at."""
        thing, scene, subject = about.thing, about.scene, about.words
        objects, meant = pointed_at(thing, scene, subject) if self.format == 2 else ((), "")
        return Question(
            id=self.id,
            family=family,
            group=self.group,
            text=text,
            answer=answer,
            aliases=aliases,
            scene=scene,
            gold_query=gold_query,
            image_query=phrasing.ask("name", thing.kind, subject),
            image_answer=thing.name,
            gold_entries=entries,
            gold_attribute=attribute,
            history=history,
            target=thing.id if target else None,
            words=scene.words,
            hops=hops,
            domain=domain or DOMAINS[thing.kind],
            objects=objects,
            meant=meant,
            working=working,
        )


def look_up(thing: Thing, subject: str) -> Hop:
    """The hop from the picture to a thing: its name, and with its caption its maker."""
    return Hop("image", phrasing.ask("name", thing.kind, subject), thing.name, thing.id)
