"""Recipes of questions, and which things they are asked about.

Deterministic by the world and the seed; each question has a random source of its own.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from quizglass_lab.pocketworld.asker import Asker, ThingPool
from quizglass_lab.pocketworld.question import Question
from quizglass_lab.pocketworld.world import Thing, World

_THINGS = 60
"""Things that a recipe is tried with before another one takes its place."""
_RECIPES = 40


@dataclass(frozen=True)
class QuestionRecipe:
    """A share of a group's questions: what things they need, and how they are made."""

    share: float
    need: str  # any, recognised, studied, unrecognised: see ThingPool.having
    make: Callable[[Asker, Thing], Question | None]
    """None where a thing does not lead to a question of the group."""


@dataclass(frozen=True)
class RecipeGroup:
    """A share of all questions. `name` is the planning group that they must have; None: whichever follows.

    `hops` is how many lookups they must have; None: as many as follow.
    """

    name: str | None
    share: float
    recipes: tuple[QuestionRecipe, ...]
    hops: range | None = None


class Chooser:
    """Chooses things so that a share of the targets is not core, whatever the recipes need.

    `lean` is how much more often a recipe for any thing takes a new one than a recipe for unrecognised things does:
    what needs a recognised thing never can, and without leaning nearly all questions about new things would need the
    picture.
    """

    def __init__(self, world: World, unseen_share: float | None, *, lean: float = 1.0) -> None:
        if unseen_share is not None and not 0 <= unseen_share <= 1:
            raise ValueError(f"unseen_share: expected 0 to 1, not {unseen_share}")
        self.lean = lean
        self.all = ThingPool.of(world)
        self.core = ThingPool.of(world, core=True)
        self.unseen = ThingPool.of(world, core=False)
        self.unseen_share = unseen_share
        if unseen_share and not self.unseen.all:
            raise ValueError("unseen_share: the world holds only core things; mix the core into another seed's")
        if unseen_share is not None and unseen_share < 1 and not self.core.all:
            raise ValueError("unseen_share: the world holds no core things; mix in the core, or leave the share out")

    def usable(self, recipes: Sequence[QuestionRecipe]) -> tuple[QuestionRecipe, ...]:
        """Recipes for which there are things; the others' shares go to them."""
        whole = self.unseen if self.unseen_share == 1 else self.all
        return tuple(recipe for recipe in recipes if whole.having(recipe.need))

    def new_shares(self, groups: Sequence[tuple[float, Sequence[QuestionRecipe]]]) -> dict[str, float]:
        """How many of the recipes that may use either need a new thing, by what else they need; empty: as they come.

        `groups` are each group's share of all questions and its usable recipes.
        """
        if self.unseen_share is None:
            return {}
        shares: dict[str, float] = {}
        for share, recipes in groups:
            total = sum(recipe.share for recipe in recipes)
            for recipe in recipes:
                shares[recipe.need] = shares.get(recipe.need, 0.0) + share * recipe.share / total
        free, unrecognised = shares.get("any", 0.0), shares.get("unrecognised", 0.0)
        part = self.unseen_share / (self.lean * free + unrecognised)
        if self.lean * part > 1:
            part = (self.unseen_share - free) / unrecognised if unrecognised else 1.0
        return {"any": min(1.0, self.lean * part), "unrecognised": min(1.0, part)}

    def pool(self, new_shares: Mapping[str, float], need: str, rng: random.Random) -> tuple[Thing, ...]:
        """The things that a question may be about."""
        if need not in new_shares:
            return self.all.having(need)
        wanted, instead = (self.unseen, self.core) if rng.random() < new_shares[need] else (self.core, self.unseen)
        return wanted.having(need) or instead.having(need)


def make_all(
    world: World, count: int, label: str, groups: Sequence[RecipeGroup], chooser: Chooser, *, format: int = 1
) -> Iterator[Question]:
    """`count` questions, each of the group that is furthest behind its share, the first of them at a tie.

    `format` is that of the scenes. Raises ValueError where a group has nothing to ask.
    """
    usable = [(group.share, chooser.usable(group.recipes)) for group in groups]
    for group, (_, recipes) in zip(groups, usable, strict=True):
        if not recipes:
            raise ValueError(f"groups: nothing to ask for {group.name!r}: every thing of this world is recognised")
    new_shares = chooser.new_shares(usable)
    counts = [0] * len(groups)
    for i in range(count):
        which = max(range(len(groups)), key=lambda g: round(groups[g].share * (i + 1) - counts[g], 9))
        counts[which] += 1
        rng = random.Random(f"pocketworld/{label}/{i}")
        asker = Asker(world, rng, f"{label}-{i:05d}", groups[which].name, format)
        _, recipes = usable[which]
        yield _make_one(asker, recipes, groups[which].hops, partial(chooser.pool, new_shares))


def _make_one(
    asker: Asker,
    recipes: Sequence[QuestionRecipe],
    hops: range | None,
    choose: Callable[[str, random.Random], tuple[Thing, ...]],
) -> Question:
    for _ in range(_RECIPES):
        recipe = asker.rng.choices(recipes, [recipe.share for recipe in recipes])[0]
        things = choose(recipe.need, asker.rng)
        for _ in range(_THINGS):
            question = recipe.make(asker, asker.rng.choice(things))
            if question is not None and (hops is None or len(question.hops) in hops):
                return question
    raise ValueError(f"groups: nothing to ask for {asker.group!r} in this world; add things")
