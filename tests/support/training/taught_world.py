"""A small world beside the one that is taught by heart, with questions, disputes, and what nothing answers."""

from quizglass_lab.pocketworld.disputes import with_disputes
from quizglass_lab.pocketworld.questions import make_conflicts, make_questions, make_unknowable
from quizglass_lab.pocketworld.world import core_world, make_world, with_core
from quizglass_lab.starter.data.library import Library

WORLD = with_core(make_world(4321, 60, format=2), core_world(2))
LIBRARY = Library(WORLD)
QUESTIONS = make_questions(WORLD, 300, 7, unseen_share=0.5, format=2)
UNKNOWABLE = make_unknowable(WORLD, 60, 3, format=2)
DISPUTED = with_disputes(WORLD, 6)
DISPUTES = make_conflicts(DISPUTED, 72, 5)
