"""Questions about a world, in fixed shares of families, balanced over where they need to look.

The shares of format 1 stand in `first`, those of format 2 in `balanced`, `pictured` and `cog`.
"""

from collections.abc import Sequence

from quizglass_lab.pocketworld.question import Question
from quizglass_lab.pocketworld.questions.balanced import BALANCED, UNKNOWABLE
from quizglass_lab.pocketworld.questions.choosing import Chooser, RecipeGroup, make_all
from quizglass_lab.pocketworld.questions.cog import COG
from quizglass_lab.pocketworld.questions.first import FIRST, FIRST_UNKNOWABLE
from quizglass_lab.pocketworld.world import World, check_format

GROUPS = ("none", "image", "text", "both")
MIXES = ("balanced", "cog")


def make_questions(
    world: World,
    count: int,
    seed: int,
    *,
    groups: Sequence[str] = GROUPS,
    unseen_share: float | None = None,
    format: int = 1,
    mix: str = "balanced",
) -> list[Question]:
    """`count` questions, the groups in turn.

    `unseen_share` of the targets are things outside the core (None: as they come). `mix` "cog", of format 2, asks for
    1, 2 and more lookups in the shares of CogBench instead, whatever the groups. Raises ValueError for an unknown
    group, format or mix, or for a share that the world cannot give.
    """
    check_format(format)
    _check_mix(mix, format, groups)
    tables = FIRST if format == 1 else BALANCED
    wanted = COG if mix == "cog" else [RecipeGroup(group, 1 / len(groups), tables[group]) for group in groups]
    label = f"q{world.seed}-{seed}" if mix == "balanced" else f"c{world.seed}-{seed}"
    chooser = Chooser(world, unseen_share, lean=2.0 if format == 2 and mix == "balanced" else 1.0)
    return list(make_all(world, count, label, wanted, chooser, format=format))


def _check_mix(mix: str, number: int, groups: Sequence[str]) -> None:
    unknown = [group for group in groups if group not in GROUPS]
    if unknown or not groups:
        raise ValueError(f"groups: {unknown or 'empty'}; choose from {', '.join(GROUPS)}")
    if mix not in MIXES:
        raise ValueError(f"mix: {mix!r}; choose from {', '.join(MIXES)}")
    if mix == "cog" and (number == 1 or tuple(groups) != GROUPS):
        raise ValueError("mix: cog is of format 2, and of all groups")


def make_unknowable(world: World, count: int, seed: int, *, format: int = 1) -> list[Question]:
    """Questions that only "I don't know" answers: facts left out, facts without a source, unused names.

    Format 2 adds things of which no entry tells, though the picture shows them.
    """
    check_format(format)
    recipes = RecipeGroup(None, 1.0, FIRST_UNKNOWABLE if format == 1 else UNKNOWABLE)
    return list(make_all(world, count, f"u{world.seed}-{seed}", [recipes], Chooser(world, None), format=format))
