"""One function per question family: from a thing to a question about it.

Each takes the asker and the thing asked about (already chosen to be recognised or not) and returns the question.
"""

from quizglass_export.pocketworld.families.looks import printed, visible
from quizglass_export.pocketworld.families.makers import founder, founder_birthplace, founder_named, maker_home
from quizglass_export.pocketworld.families.naming import comparison, dialogue, named_thing, printed_name
from quizglass_export.pocketworld.families.things import fact_designer, fact_maker, fact_year, identity, specific
from quizglass_export.pocketworld.families.unknowable import nobody, stranger, untold, untold_fact

__all__ = [
    "comparison",
    "dialogue",
    "fact_designer",
    "fact_maker",
    "fact_year",
    "founder",
    "founder_birthplace",
    "founder_named",
    "identity",
    "maker_home",
    "named_thing",
    "nobody",
    "printed",
    "printed_name",
    "specific",
    "stranger",
    "untold",
    "untold_fact",
    "visible",
]
