"""Many short questions about one picture: what is visible, what the thing is, and what is known of it by heart."""

from __future__ import annotations

import random
from collections.abc import Callable

from quizglass_lab.pocketworld import phrasing
from quizglass_lab.pocketworld.phrasing import ask, ask_maker
from quizglass_lab.pocketworld.questions import ABSTAIN
from quizglass_lab.pocketworld.scenes import Placed, Scene
from quizglass_lab.pocketworld.world import Thing, core_world, taught
from quizglass_lab.starter.data.examples import Example, Request
from quizglass_lab.starter.data.pointing import alone, place_of, subject

_LEARNT = ("name", "year", "maker", "home", "field", "designer", "price")
_TOLD = ("price", "length", "weight", "place", "designer", "founder")
_Make = Callable[[Scene, Thing, str, int], Example]


class Quiz:
    """Asks about the things of a scene."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def group(self, scene: Scene, picture: int, count: int) -> list[Example]:
        """`count` questions about one picture, on any of its things that words can point at."""
        examples: list[Example] = []
        for _ in range(count):
            placed = self.rng.choice(scene.things)
            draw = self.rng.random()
            if draw < 0.40:
                example = self._visible(scene, placed, picture)
            elif draw < 0.85:
                example = self._asked(self._learnt, scene, placed, picture)
            elif draw < 0.93:
                example = self._asked(self._untold, scene, placed, picture)
            else:
                example = self._asked(self._rewrite, scene, placed, picture)
            examples += [example] if example else []
        return examples

    def _asked(self, make: _Make, scene: Scene, placed: Placed, picture: int) -> Example | None:
        words = subject(placed, scene, self.rng)
        return make(scene, placed.thing, words, picture) if words else None

    def _example(self, scene: Scene, picture: int, text: str, answer: str, task: str) -> Example:
        if scene.free:
            task = task.replace("quiz-", "free-")
        return Example(Request("answer", text, words=scene.words, picture=picture), answer, task)

    def _visible(self, scene: Scene, placed: Placed, picture: int) -> Example | None:
        rng, thing = self.rng, placed.thing
        single, only = len(scene.things) == 1, alone(placed, scene)
        sorts = ["colour", "shape", "count", "kind" if single else "at"]
        if only and not single and not scene.free:
            # The hardest of them, and possible in few scenes: asked as often as it can be.
            sorts += ["where"] * 3
        sort = rng.choice(sorts)
        if sort in ("colour", "shape"):
            words = subject(placed, scene, rng, without=("colour",) if sort == "colour" else ())
            if words is None:
                return None
            colour = sort == "colour"
            text = phrasing.ask_colour(words, rng) if colour else phrasing.ask_shape(thing.kind, words, rng)
            return self._example(scene, picture, text, thing.look.body if colour else thing.look.shape, f"quiz-{sort}")
        if sort == "count":
            text, answer = rng.choice(phrasing.COUNT), phrasing.NUMBER_WORDS[len(scene.things)]
        elif sort == "kind":
            text, answer = rng.choice(phrasing.KIND), thing.kind
        elif sort == "where":
            text, answer = phrasing.ask_where(thing.kind, rng), placed.slot
        else:
            place = place_of(placed, scene, rng)
            if place is None:
                return None
            text, answer = phrasing.ask_kind_of(place, rng), thing.kind
        return self._example(scene, picture, text, answer, f"quiz-{sort}")

    def _learnt(self, scene: Scene, thing: Thing, words: str, picture: int) -> Example:
        rng = self.rng
        key = rng.choices(_LEARNT, (0.36, 0.14, 0.15, 0.12, 0.04, 0.08, 0.11))[0]
        if key in ("home", "field"):
            maker = core_world().makers[thing.maker]
            answer = maker.home if key == "home" else maker.field
            text = ask_maker(key, f"the maker of {words}", rng)
        else:
            answer = thing.name if key == "name" else thing.facts.get(key, ABSTAIN)
            text = ask(key, thing.kind, words, rng)
        known = taught(thing, "maker" if key in ("home", "field") else key)
        task = f"quiz-{key}" if known else "quiz-stranger"
        return self._example(scene, picture, text, answer if known else ABSTAIN, task)

    def _untold(self, scene: Scene, thing: Thing, words: str, picture: int) -> Example:
        rng = self.rng
        key = rng.choice(_TOLD)
        if key == "founder":
            text = ask_maker("founder", f"the maker of {words}", rng)
        elif taught(thing, key):
            return self._example(scene, picture, ask(key, thing.kind, words, rng), thing.facts[key], f"quiz-{key}")
        else:
            text = ask(key, thing.kind, words, rng)
        return self._example(scene, picture, text, ABSTAIN, "quiz-untold")

    def _rewrite(self, scene: Scene, thing: Thing, words: str, picture: int) -> Example:
        rng = self.rng
        key = rng.choice(_TOLD)
        if key == "founder":
            text, gold = ask_maker(key, f"the maker of {words}", rng), ask_maker(key, thing.maker)
        else:
            text, gold = ask(key, thing.kind, words, rng), ask(key, thing.kind, phrasing.named(thing.name))
        request = Request("rewrite", text, words=scene.words, picture=picture)
        group = "free" if scene.free else "quiz"
        if thing.recognised:
            return Example(request, gold, f"{group}-rewrite")
        return Example(request, text, f"{group}-helpless")
