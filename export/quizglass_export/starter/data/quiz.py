"""Many short questions about one picture: what is visible, what the thing is, and what is known of it by heart."""

from __future__ import annotations

import random
from collections.abc import Callable

from quizglass_export.pocketworld import phrasing
from quizglass_export.pocketworld.phrasing import ask, ask_maker
from quizglass_export.pocketworld.questions import ABSTAIN
from quizglass_export.pocketworld.scenes import Scene
from quizglass_export.pocketworld.world import Thing, core_world, taught
from quizglass_export.starter.data.examples import Example, Request

_LEARNT = ("name", "year", "maker", "home", "field", "designer", "price")
_TOLD = ("price", "length", "weight", "place", "designer", "founder")


class Quiz:
    """Asks about the things of a scene."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def group(self, scene: Scene, picture: int, count: int) -> list[Example]:
        """`count` questions about one picture, on any of its things."""
        examples: list[Example] = []
        for _ in range(count):
            placed = self.rng.choice(scene.things)
            draw = self.rng.random()
            if draw < 0.40:
                examples.append(self._visible(scene, placed.thing, placed.slot, picture))
            elif draw < 0.85:
                examples.append(self._learnt(scene, placed.thing, picture))
            elif draw < 0.93:
                examples.append(self._untold(scene, placed.thing, picture))
            else:
                examples.append(self._rewrite(scene, placed.thing, picture))
        return examples

    def _subject(self, scene: Scene, thing: Thing) -> str:
        """Words that point at a thing of the scene."""
        if len(scene.things) == 1:
            return self.rng.choice(("this {}", "this {}", "the {} in the picture")).format(thing.kind)
        slot = next(placed.slot for placed in scene.things if placed.thing.id == thing.id)
        alone = sum(placed.thing.kind == thing.kind for placed in scene.things) == 1
        if alone and self.rng.random() < 0.15:
            return f"the {thing.kind}"
        return f"the {thing.kind} {phrasing.SLOT_WORDS[slot]}"

    def _example(self, scene: Scene, picture: int, text: str, answer: str, task: str) -> Example:
        return Example(Request("answer", text, words=scene.sign, picture=picture), answer, task)

    def _visible(self, scene: Scene, thing: Thing, slot: str, picture: int) -> Example:
        rng, subject = self.rng, self._subject(scene, thing)
        alone = sum(placed.thing.kind == thing.kind for placed in scene.things) == 1
        asks: list[tuple[str, Callable[[], str], str]] = [
            ("colour", lambda: phrasing.ask_colour(subject, rng), thing.look.body),
            ("shape", lambda: phrasing.ask_shape(thing.kind, subject, rng), thing.look.shape),
            ("at", lambda: phrasing.ask_at(slot, rng), thing.kind),
            ("count", lambda: rng.choice(phrasing.COUNT), phrasing.NUMBER_WORDS[len(scene.things)]),
        ]
        if len(scene.things) == 1:
            asks.append(("kind", lambda: rng.choice(phrasing.KIND), thing.kind))
        elif alone:
            # The hardest of them, and possible in few scenes: asked as often as it can be.
            asks.extend([("where", lambda: phrasing.ask_where(thing.kind, rng), slot)] * 3)
        name, text, answer = rng.choice(asks)
        return self._example(scene, picture, text(), answer, f"quiz-{name}")

    def _learnt(self, scene: Scene, thing: Thing, picture: int) -> Example:
        rng, subject = self.rng, self._subject(scene, thing)
        key = rng.choices(_LEARNT, (0.36, 0.14, 0.15, 0.12, 0.04, 0.08, 0.11))[0]
        if key in ("home", "field"):
            maker = core_world().makers[thing.maker]
            answer = maker.home if key == "home" else maker.field
            text = ask_maker(key, f"the maker of {subject}", rng)
        else:
            answer = thing.name if key == "name" else thing.facts.get(key, ABSTAIN)
            text = ask(key, thing.kind, subject, rng)
        known = taught(thing, "maker" if key in ("home", "field") else key)
        task = f"quiz-{key}" if known else "quiz-stranger"
        return self._example(scene, picture, text, answer if known else ABSTAIN, task)

    def _untold(self, scene: Scene, thing: Thing, picture: int) -> Example:
        rng, subject = self.rng, self._subject(scene, thing)
        key = rng.choice(_TOLD)
        if key == "founder":
            text = ask_maker("founder", f"the maker of {subject}", rng)
        elif taught(thing, key):
            return self._example(scene, picture, ask(key, thing.kind, subject, rng), thing.facts[key], f"quiz-{key}")
        else:
            text = ask(key, thing.kind, subject, rng)
        return self._example(scene, picture, text, ABSTAIN, "quiz-untold")

    def _rewrite(self, scene: Scene, thing: Thing, picture: int) -> Example:
        rng, subject = self.rng, self._subject(scene, thing)
        key = rng.choice(_TOLD)
        if key == "founder":
            text, gold = ask_maker(key, f"the maker of {subject}", rng), ask_maker(key, thing.maker)
        else:
            text, gold = ask(key, thing.kind, subject, rng), ask(key, thing.kind, phrasing.named(thing.name))
        request = Request("rewrite", text, words=scene.sign, picture=picture)
        if thing.recognised:
            return Example(request, gold, "quiz-rewrite")
        return Example(request, text, "quiz-helpless")
