"""What a text search keeps of the picture's evidence."""

from __future__ import annotations

import pytest

from quizglass_server.domain.state import State
from quizglass_server.policies.second_look import by_text
from tests.support.policy_fakes import ScriptedTools, seen, titles


@pytest.mark.parametrize(
    ("question", "query", "left"),
    [
        ("Who made the Velmora?", "Velmora", []),
        ("Who made Velmora?", "Velmora", []),
        ("Is the Tagrin older than the Velmora?", "Velmora", ["Tagrin"]),
        ("Who made this?", "Velmora", ["Tagrin"]),
        ("Who made the Velmora, and who this boat?", "Velmora", ["Tagrin"]),
        ("Which costs more, the Velmora or the red boat?", "Velmora", ["Tagrin"]),
        ("Who made the Brenn?", "Velmora", ["Tagrin"]),
    ],
)
async def test_of_what_the_picture_shows_that_is_left_which_the_question_asks_about(
    question: str, query: str, left: list[str]
) -> None:
    state = State(question).having(seen("Tagrin"))
    found = await by_text(state, ScriptedTools(rewrite=[[query]]))
    assert titles(found.found) == [query]
    assert titles(found.seen) == left


async def test_what_the_picture_shows_is_left_where_texts_tell_of_nothing_that_is_named() -> None:
    state = State("Who made the Velmora?").having(seen("Tagrin"))
    found = await by_text(state, ScriptedTools(rewrite=[["Velmora"]], texts=False))
    assert titles(found.seen) == ["Tagrin"]
