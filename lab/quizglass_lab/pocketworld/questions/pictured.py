"""Recipes of format 2 about the picture itself: what it shows, and what it does not. Joined to those of `balanced`."""

from quizglass_lab.pocketworld import families
from quizglass_lab.pocketworld.families.absence import absent, false_premise, presence, unreadable
from quizglass_lab.pocketworld.families.facts import facts
from quizglass_lab.pocketworld.families.places import counting, neighbour, position
from quizglass_lab.pocketworld.families.signs import today_price
from quizglass_lab.pocketworld.questions.choosing import QuestionRecipe

PICTURED: dict[str, tuple[QuestionRecipe, ...]] = {
    "none": (
        QuestionRecipe(0.02, "any", families.visible),
        QuestionRecipe(0.015, "any", counting),
        QuestionRecipe(0.015, "any", position),
        QuestionRecipe(0.01, "any", neighbour),
        QuestionRecipe(0.01, "any", presence),
        QuestionRecipe(0.01, "any", today_price),
        QuestionRecipe(0.01, "recognised", facts({"other-sign": 1}, {("year",): 2, ("maker",): 1})),
    ),
    "text": (
        QuestionRecipe(
            0.03, "any", facts({"other-sign": 1}, {("year",): 2, ("maker",): 1, ("price",): 2, ("weight",): 1})
        ),
    ),
}
"""A recipe's share is of its group, as in `balanced`."""

UNSHOWN = (
    QuestionRecipe(0.15, "any", absent),
    QuestionRecipe(0.20, "any", false_premise),
    QuestionRecipe(0.10, "any", unreadable),
)
"""Only "I don't know" answers them; shares as in `balanced.UNKNOWABLE`."""
