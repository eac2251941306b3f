"""Whole portraits: "Tell me about the Velmora.", answered with every claim that the passages tell, each once.

In the pools of questions one of seventy asks so, and a base that saw no more of it repeated its first sentence, or put
the number of one claim into another.
"""

from __future__ import annotations

import random

from quizglass_lab.pocketworld.families.telling import claims_of
from quizglass_lab.pocketworld.phrasing import ask_about, named
from quizglass_lab.pocketworld.world import Thing
from quizglass_lab.starter.data.examples import Example, Request
from quizglass_lab.starter.data.knowing import told_claims
from quizglass_lab.starter.data.library import Library, line

_SIDES = 4
"""Of one thing, from how many selections of its passages it is described at once."""
_PASSAGES = (0.2, 0.3, 0.5)
"""How often one, two or three passages are of the thing."""
_OTHERS = (0.4, 0.3, 0.3)
"""How often none, one or two are of others."""
_POINTED_AT = 0.5
"""How often the question points at a thing that an image search found."""


class Portraits:
    """Makes groups of questions for all that passages tell of one thing of a library."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def read(self, library: Library) -> list[Example]:
        """One thing, told about from several selections of its passages, among those of others."""
        things = [thing for thing in library.world.things if library.findable(thing) and len(claims_of(thing)) > 1]
        if not things:
            return []
        thing = self.rng.choice(things)
        return [self._side(library, thing) for _ in range(_SIDES)]

    def _side(self, library: Library, thing: Thing) -> Example:
        rng, article = self.rng, library.articles[thing.id]
        own = [line(article, text) for text in article.paragraphs]
        own = rng.sample(own, min(len(own), rng.choices((1, 2, 3), _PASSAGES)[0]))
        others = [
            library.rival(rng.choice(list(claims_of(thing))), thing.id, rng)
            for _ in range(rng.choices((0, 1, 2), _OTHERS)[0])
        ]
        query, text = ask_about(named(thing.name)), ask_about(named(thing.name), rng)
        seen: tuple[str, ...] = ()
        if rng.random() < _POINTED_AT:
            text, seen = ask_about(f"this {thing.kind}", rng), (library.seen(thing),)
        request = Request("answer", text, seen=seen, found=(*own, *others), query=query)
        return Example(request, told_claims(thing, (*own, *seen)), "portrait")
