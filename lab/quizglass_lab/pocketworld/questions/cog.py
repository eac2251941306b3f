"""The mix of CogPlanner's benchmark: questions of one lookup, two and more, in the shares of CogBench."""

from quizglass_lab.pocketworld.families.comparing import comparison, difference
from quizglass_lab.pocketworld.families.facts import facts
from quizglass_lab.pocketworld.families.telling import portrait, several
from quizglass_lab.pocketworld.families.walks import NAME
from quizglass_lab.pocketworld.questions.balanced import DETAILS, FOUNDER, HOME, NUMBERS, PEOPLE, SIGHT, TOWNS
from quizglass_lab.pocketworld.questions.choosing import QuestionRecipe, RecipeGroup

_ONE = (
    QuestionRecipe(0.25, "any", facts(SIGHT, {NAME: 2, ("maker",): 1})),
    QuestionRecipe(0.40, "any", facts({"name": 2, "sign": 1, "talk": 1}, {("year",): 3, ("maker",): 2, **DETAILS})),
    QuestionRecipe(0.15, "any", facts({"brand": 1}, {FOUNDER: 1, **HOME})),
    QuestionRecipe(0.10, "any", several({"name": 1, "sign": 1})),
    QuestionRecipe(0.10, "any", portrait({"name": 1, "sign": 1})),
)
_TWO = (
    QuestionRecipe(0.45, "any", facts(SIGHT, {("year",): 2, **DETAILS})),
    QuestionRecipe(0.20, "any", facts(SIGHT, {FOUNDER: 2, **HOME})),
    QuestionRecipe(0.15, "any", facts({"name": 1, "sign": 1}, {FOUNDER: 1, **HOME, **TOWNS})),
    QuestionRecipe(0.10, "any", comparison({0: 1}, NUMBERS)),
    QuestionRecipe(0.05, "any", difference({0: 1}, NUMBERS)),
    QuestionRecipe(0.05, "any", portrait(SIGHT)),
)
_MORE = (
    QuestionRecipe(0.30, "any", facts(SIGHT, PEOPLE)),
    QuestionRecipe(0.30, "any", facts(SIGHT, TOWNS)),
    QuestionRecipe(0.15, "any", facts({"name": 1, "sign": 1, "talk": 1}, {**PEOPLE, **TOWNS})),
    QuestionRecipe(0.20, "any", comparison({1: 2, 2: 1}, NUMBERS)),
    QuestionRecipe(0.05, "any", difference({1: 2, 2: 1}, NUMBERS)),
)
COG = (
    RecipeGroup(None, 0.20, _ONE, range(1, 2)),
    RecipeGroup(None, 0.33, _TWO, range(2, 3)),
    RecipeGroup(None, 0.47, _MORE, range(3, 9)),
)
"""Shares by the number of lookups, without any knowledge from memory."""
