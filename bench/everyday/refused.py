"""What is refused where no generator sees, by the words of questions: nothing that can be looked up may be among it.

Answerable are all facts of the sample knowledge, in every wording, by name and pointing, and of pocketworld's questions
those whose answer stands in a text. Seen are pocketworld's questions about colours, numbers and places in a picture;
none of them was written for this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bench.everyday.setup import Setup, between
from bench.results import Row
from bench.sections import Part
from quizglass_lab.everyday.facts import all_facts
from quizglass_lab.everyday.wording import pointing, questions
from quizglass_lab.pocketworld.dataset import build_world
from quizglass_lab.pocketworld.question import Question
from quizglass_lab.pocketworld.questions import make_questions
from quizglass_server.steps.language.appearance import asks_colour, asks_what_is_seen

_WORLDS = (1, 2)
"""Formats of pocketworld's questions."""
_SEEN = ("visible", "counting", "presence", "position", "neighbour")
"""Families whose answer the picture alone tells, as far as they ask for a colour, a number or a place."""
_COLOUR, _PLACE = "colours", "numbers and places"


def refused(setup: Setup) -> Part:
    """Shares of each set of questions that the words of a rule take."""
    drawn = list(_drawn(setup))
    sets = {
        "facts of the sample knowledge": [*_of_facts(setup)],
        "pocketworld, told by texts": [each.text for each in drawn if each.family not in _SEEN],
        "pocketworld, colours of named things": [each.text for each in drawn if each.family == "colour-named"],
    }
    asked = [each.text for each in drawn if each.family in _SEEN]
    pictured = {
        _COLOUR: [text for text in asked if "colour" in text],
        _PLACE: [text for text in asked if "how many" in text.casefold() or "where" in text.casefold()],
    }
    missed = [text for text in pictured[_COLOUR] if not asks_colour(text)]
    return Part(rows(sets, pictured), {"seed": setup.seed, "not taken": missed[:50]})


def rows(answerable: Mapping[str, Sequence[str]], pictured: Mapping[str, Sequence[str]]) -> list[Row]:
    """How many of each set are taken; of those that can be answered none may be."""
    table = []
    for name, texts in answerable.items():
        hits = sum(asks_colour(text) or asks_what_is_seen(text) for text in texts)
        title = f"refused by their words: {name} ({between(hits, len(texts))} questions)"
        table.append(Row(title, 100 * hits / len(texts), "%", bar="<= 0", ok=not hits))
    for name, texts in pictured.items():
        hits = sum(asks_colour(text) or asks_what_is_seen(text) for text in texts)
        title = f"refused by their words: pocketworld, {name} in the picture ({between(hits, len(texts))} questions)"
        table.append(Row(title, 100 * hits / len(texts), "%"))
    return table


def _of_facts(setup: Setup) -> Iterator[str]:
    for fact in all_facts(setup.workdir):
        for question in (*questions(fact), *questions(fact, held_out=True)):
            yield question
            yield pointing(fact, question)


def _drawn(setup: Setup) -> Iterator[Question]:
    for world_format in _WORLDS:
        world = build_world(setup.seed, setup.count(600, 60), format=world_format)
        yield from make_questions(world, setup.count(3000, 100), setup.seed, format=world_format)
