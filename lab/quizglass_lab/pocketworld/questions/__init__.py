"""Questions about a world: which families, in which shares, about which things.

Stands above the families and below the files of a world.
"""

from quizglass_lab.pocketworld.question import ABSTAIN, Question
from quizglass_lab.pocketworld.questions.conflicts import make_conflicts
from quizglass_lab.pocketworld.questions.recipes import GROUPS, MIXES, make_questions, make_unknowable
from quizglass_lab.pocketworld.questions.sessions import make_sessions

__all__ = [
    "ABSTAIN",
    "GROUPS",
    "MIXES",
    "Question",
    "make_conflicts",
    "make_questions",
    "make_sessions",
    "make_unknowable",
]
