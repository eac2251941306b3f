"""The recipes of format 2: four planning groups, and wording that does not tell them apart.

The same words are asked in two or more groups in about equal parts, so that only what is known, printed, told before or
seen decides where to look. `wording.best_rule` measures it.
"""

from collections.abc import Mapping
from itertools import product

from quizglass_lab.pocketworld import families
from quizglass_lab.pocketworld.families.comparing import comparison, difference
from quizglass_lab.pocketworld.families.facts import facts
from quizglass_lab.pocketworld.families.telling import colour, portrait, several
from quizglass_lab.pocketworld.families.walks import NAME, Path
from quizglass_lab.pocketworld.questions.choosing import QuestionRecipe
from quizglass_lab.pocketworld.questions.pictured import PICTURED, UNSHOWN

SIGHT: Mapping[str, float] = {"sight": 8, "after-talk": 1, "wrong-sign": 1}
"""Ways in which nothing but the picture tells what a thing is called."""
HOME: Mapping[Path, float] = {("maker", "home"): 3, ("maker", "field"): 1}
FOUNDER: Path = ("maker", "founder")
DETAILS: Mapping[Path, float] = {("price",): 4, ("weight",): 2, ("length",): 2, ("place",): 2, ("designer",): 1}
"""What articles tell; the price is known by heart of some things, the designer of a few."""
NAMED: Mapping[Path, float] = {
    ("year",): 6,
    ("maker",): 4,
    ("price",): 3,
    ("designer",): 0.6,
    ("weight",): 0.6,
    ("length",): 0.6,
    ("place",): 0.6,
    **HOME,
}
"""Of things that are named, mostly what is known of some and not of others."""
_TOWNS = (("place",), ("maker", "home"), ("maker", "founder", "birthplace"), ("designer", "birthplace"))
PEOPLE: Mapping[Path, float] = {
    (*person, fact): 1 for person, fact in product((("maker", "founder"), ("designer",)), ("birthplace", "birthyear"))
}
TOWNS: Mapping[Path, float] = {(*town, fact): 1 for town, fact in product(_TOWNS, ("river", "craft", "people"))}
NUMBERS: Mapping[str, float] = {"year": 2, "price": 2, "weight": 1, "length": 1}

BALANCED: dict[str, tuple[QuestionRecipe, ...]] = {
    "none": (
        *PICTURED["none"],
        QuestionRecipe(0.02, "any", families.printed),
        QuestionRecipe(0.03, "recognised", colour),
        QuestionRecipe(0.14, "recognised", facts(SIGHT, {NAME: 1})),
        QuestionRecipe(0.16, "any", facts({"sign": 1}, {NAME: 1})),
        QuestionRecipe(0.08, "recognised", facts(SIGHT, {("year",): 1})),
        QuestionRecipe(0.04, "recognised", facts(SIGHT, {("maker",): 1})),
        QuestionRecipe(0.02, "studied", facts(SIGHT, {("designer",): 1})),
        QuestionRecipe(0.03, "recognised", facts(SIGHT, {("price",): 1})),
        QuestionRecipe(0.06, "any", facts({"tag": 1}, {("price",): 1})),
        QuestionRecipe(0.09, "any", facts({"brand": 1}, {("maker",): 1})),
        QuestionRecipe(0.09, "any", facts({"brand": 1}, HOME)),
        QuestionRecipe(0.04, "recognised", facts(SIGHT, HOME)),
        QuestionRecipe(0.09, "recognised", facts({"name": 1}, {("year",): 6, ("maker",): 4, ("price",): 5, **HOME})),
        QuestionRecipe(0.08, "any", facts({"talk": 1}, {("year",): 2, ("maker",): 1, ("price",): 2, **HOME})),
        QuestionRecipe(0.06, "recognised", facts({"talk": 1}, {NAME: 3, ("year",): 1, ("maker",): 1})),
        QuestionRecipe(0.02, "recognised", comparison({0: 1, 1: 1, 2: 1}, {"year": 1})),
        QuestionRecipe(0.02, "any", several({"tag": 1})),
    ),
    "image": (
        QuestionRecipe(0.37, "unrecognised", facts(SIGHT, {NAME: 1})),
        QuestionRecipe(0.29, "unrecognised", facts(SIGHT, HOME)),
        QuestionRecipe(0.22, "unrecognised", facts(SIGHT, {("maker",): 1})),
        QuestionRecipe(0.12, "unrecognised", facts({"talk": 1}, {NAME: 1, ("maker",): 1, **HOME})),
    ),
    "text": (
        QuestionRecipe(0.14, "any", facts({"name": 1}, NAMED)),
        *PICTURED["text"],
        QuestionRecipe(0.26, "any", facts({"sign": 1}, {("year",): 4, ("maker",): 2, **DETAILS, **HOME})),
        QuestionRecipe(0.12, "recognised", facts(SIGHT, DETAILS)),
        QuestionRecipe(0.03, "recognised", facts(SIGHT, {("maker",): 3, **HOME})),
        QuestionRecipe(0.15, "any", facts({"talk": 1}, {("year",): 1, ("maker",): 1, **DETAILS, **HOME})),
        QuestionRecipe(0.05, "any", facts({"brand": 3, "sign": 2, "name": 1}, {FOUNDER: 1})),
        QuestionRecipe(0.05, "any", facts({"sign": 3, "name": 1}, {**PEOPLE, **TOWNS})),
        QuestionRecipe(0.03, "recognised", facts(SIGHT, {FOUNDER: 6, **PEOPLE, **TOWNS})),
        QuestionRecipe(0.04, "any", comparison({0: 1}, NUMBERS)),
        QuestionRecipe(0.02, "recognised", comparison({1: 1, 2: 1}, NUMBERS)),
        QuestionRecipe(0.02, "any", difference({0: 1}, NUMBERS)),
        QuestionRecipe(0.02, "any", several({"sign": 2, "name": 1})),
        QuestionRecipe(0.03, "any", portrait({"sign": 3, "name": 1})),
        QuestionRecipe(0.03, "any", colour),
    ),
    "both": (
        QuestionRecipe(0.44, "unrecognised", facts(SIGHT, {**DETAILS, ("price",): 5, ("designer",): 2})),
        QuestionRecipe(0.16, "unrecognised", facts(SIGHT, {("year",): 1})),
        QuestionRecipe(0.06, "unrecognised", facts(SIGHT, {FOUNDER: 1})),
        QuestionRecipe(0.07, "unrecognised", facts(SIGHT, {**PEOPLE, **TOWNS})),
        QuestionRecipe(0.13, "unrecognised", facts({"talk": 1}, {("year",): 2, **DETAILS})),
        QuestionRecipe(0.06, "unrecognised", comparison({1: 2, 2: 1}, NUMBERS)),
        QuestionRecipe(0.02, "unrecognised", difference({1: 2, 2: 1}, NUMBERS)),
        QuestionRecipe(0.03, "unrecognised", several({"sight": 1})),
        QuestionRecipe(0.03, "unrecognised", portrait(SIGHT)),
    ),
}
"""A recipe's share is of its group. What needs a recognised thing is left out where there is none."""

UNKNOWABLE = (
    QuestionRecipe(0.30, "any", families.untold_fact),
    QuestionRecipe(0.20, "any", families.untold),
    QuestionRecipe(0.20, "any", families.nobody),
    QuestionRecipe(0.30, "any", families.stranger),
    *UNSHOWN,
)
