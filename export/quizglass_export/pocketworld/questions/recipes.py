"""Questions about a world, in fixed shares of families, balanced over where they need to look.

Deterministic by the world and the seed; each question has a random source of its own.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from quizglass_export.pocketworld import families
from quizglass_export.pocketworld.asker import Asker, ThingPool
from quizglass_export.pocketworld.question import Question
from quizglass_export.pocketworld.world import Thing, World

GROUPS = ("none", "image", "text", "both")


@dataclass(frozen=True)
class QuestionRecipe:
    """A share of a group's questions: what things they need, and how they are made."""

    share: float
    need: str  # any, recognised, studied, unrecognised: see Pool.having
    make: Callable[[Asker, Thing], Question]


Groups = Sequence[tuple[str | None, Sequence[QuestionRecipe]]]

# Where a recognised thing is needed and there is none, the other recipes of the group share its part.
_RECIPES: dict[str, tuple[QuestionRecipe, ...]] = {
    "none": (
        QuestionRecipe(0.45, "any", families.visible),
        QuestionRecipe(0.15, "any", families.printed),
        QuestionRecipe(0.12, "recognised", families.identity),
        QuestionRecipe(0.10, "recognised", families.fact_year),
        QuestionRecipe(0.08, "recognised", families.fact_maker),
        QuestionRecipe(0.07, "recognised", families.maker_home),
        QuestionRecipe(0.03, "studied", families.fact_designer),
    ),
    "image": (
        QuestionRecipe(0.45, "unrecognised", families.identity),
        QuestionRecipe(0.25, "unrecognised", families.fact_maker),
        QuestionRecipe(0.30, "unrecognised", families.maker_home),
    ),
    "text": (
        QuestionRecipe(0.35, "any", families.named_thing),
        QuestionRecipe(0.20, "any", families.printed_name),
        QuestionRecipe(0.16, "recognised", families.specific),
        QuestionRecipe(0.04, "recognised", families.founder),
        QuestionRecipe(0.10, "any", families.founder_named),
        QuestionRecipe(0.10, "any", families.dialogue),
        QuestionRecipe(0.05, "any", families.comparison),
    ),
    "both": (
        QuestionRecipe(0.60, "unrecognised", families.specific),
        QuestionRecipe(0.15, "unrecognised", families.fact_year),
        QuestionRecipe(0.20, "unrecognised", families.founder),
        QuestionRecipe(0.05, "unrecognised", families.founder_birthplace),
    ),
}
_UNKNOWABLE = (
    QuestionRecipe(0.40, "any", families.untold_fact),
    QuestionRecipe(0.35, "any", families.untold),
    QuestionRecipe(0.25, "any", families.nobody),
)


class _Chooser:
    """Chooses things so that a share of the targets is not core, whatever the recipes need."""

    def __init__(self, world: World, unseen_share: float | None) -> None:
        self.all = ThingPool.of(world)
        self.core = ThingPool.of(world, core=True)
        self.unseen = ThingPool.of(world, core=False)
        self.unseen_share = unseen_share
        if unseen_share and not self.unseen.all:
            raise ValueError("unseen_share: the world holds only core things; mix it with make_world of another seed")
        if unseen_share is not None and unseen_share < 1 and not self.core.all:
            raise ValueError("unseen_share: the world holds no core things; pass 1 or None, or use with_core")

    def usable(self, recipes: Sequence[QuestionRecipe]) -> tuple[QuestionRecipe, ...]:
        whole = self.unseen if self.unseen_share == 1 else self.all
        return tuple(recipe for recipe in recipes if whole.having(recipe.need))

    def free_share(self, groups: Sequence[Sequence[QuestionRecipe]]) -> float | None:
        """How many of the recipes that may use either need a new thing, to reach the share asked for."""
        if self.unseen_share is None:
            return None
        forced = 0.0
        for recipes in groups:
            total = sum(recipe.share for recipe in recipes)
            forced += sum(r.share for r in recipes if r.need in ("recognised", "studied")) / total / len(groups)
        return min(1.0, self.unseen_share / (1 - forced))

    def choose(self, need: str, free_share: float | None, rng: random.Random) -> Thing:
        if free_share is None or need in ("recognised", "studied"):
            return rng.choice(self.all.having(need))
        wanted, instead = (self.unseen, self.core) if rng.random() < free_share else (self.core, self.unseen)
        return rng.choice(wanted.having(need) or instead.having(need))


def _make(world: World, count: int, label: str, groups: Groups, chooser: _Chooser) -> Iterator[Question]:
    usable = [(group, chooser.usable(recipes)) for group, recipes in groups]
    for group, recipes in usable:
        if not recipes:
            raise ValueError(f"groups: nothing to ask for {group!r}: every thing of this world is recognised")
    free_share = chooser.free_share([recipes for _, recipes in usable])
    shares = [[recipe.share for recipe in recipes] for _, recipes in usable]
    for i in range(count):
        which = i % len(usable)
        group, recipes = usable[which]
        rng = random.Random(f"pocketworld/{label}/{i}")
        recipe = rng.choices(recipes, shares[which])[0]
        thing = chooser.choose(recipe.need, free_share, rng)
        yield recipe.make(Asker(world, rng, f"{label}-{i:05d}", group), thing)


def make_questions(
    world: World,
    count: int,
    seed: int,
    *,
    groups: Sequence[str] = GROUPS,
    unseen_share: float | None = None,
) -> list[Question]:
    """`count` questions, the groups in turn.

    `unseen_share` of the targets are things outside the core (None: as they come). Raises ValueError for an unknown
    group, or for a share that the world cannot give.
    """
    unknown = [group for group in groups if group not in _RECIPES]
    if unknown or not groups:
        raise ValueError(f"groups: {unknown or 'empty'}; choose from {', '.join(GROUPS)}")
    chooser = _Chooser(world, unseen_share)
    label = f"q{world.seed}-{seed}"
    return list(_make(world, count, label, [(group, _RECIPES[group]) for group in groups], chooser))


def make_unknowable(world: World, count: int, seed: int) -> list[Question]:
    """Questions that only "I don't know" answers: facts left out, facts nobody tells, names nothing bears."""
    return list(_make(world, count, f"u{world.seed}-{seed}", [(None, _UNKNOWABLE)], _Chooser(world, None)))
