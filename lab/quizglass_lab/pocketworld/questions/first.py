"""The recipes of format 1: four planning groups, told apart by the wording more often than not."""

from quizglass_lab.pocketworld import families
from quizglass_lab.pocketworld.families.first import makers, naming, things
from quizglass_lab.pocketworld.questions.choosing import QuestionRecipe

FIRST: dict[str, tuple[QuestionRecipe, ...]] = {
    "none": (
        QuestionRecipe(0.45, "any", families.visible),
        QuestionRecipe(0.15, "any", families.printed),
        QuestionRecipe(0.12, "recognised", things.identity),
        QuestionRecipe(0.10, "recognised", things.fact_year),
        QuestionRecipe(0.08, "recognised", things.fact_maker),
        QuestionRecipe(0.07, "recognised", makers.maker_home),
        QuestionRecipe(0.03, "studied", things.fact_designer),
    ),
    "image": (
        QuestionRecipe(0.45, "unrecognised", things.identity),
        QuestionRecipe(0.25, "unrecognised", things.fact_maker),
        QuestionRecipe(0.30, "unrecognised", makers.maker_home),
    ),
    "text": (
        QuestionRecipe(0.35, "any", naming.named_thing),
        QuestionRecipe(0.20, "any", naming.printed_name),
        QuestionRecipe(0.16, "recognised", things.specific),
        QuestionRecipe(0.04, "recognised", makers.founder),
        QuestionRecipe(0.10, "any", makers.founder_named),
        QuestionRecipe(0.10, "any", naming.dialogue),
        QuestionRecipe(0.05, "any", naming.comparison),
    ),
    "both": (
        QuestionRecipe(0.60, "unrecognised", things.specific),
        QuestionRecipe(0.15, "unrecognised", things.fact_year),
        QuestionRecipe(0.20, "unrecognised", makers.founder),
        QuestionRecipe(0.05, "unrecognised", makers.founder_birthplace),
    ),
}
"""Where a recognised thing is needed and there is none, the other recipes of the group share its part."""

FIRST_UNKNOWABLE = (
    QuestionRecipe(0.40, "any", families.untold_fact),
    QuestionRecipe(0.35, "any", families.untold),
    QuestionRecipe(0.25, "any", families.nobody),
)
