"""What a question asks about by name is answered without a picture that is not known to show it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from quizglass.values import Origin, Verdict
from quizglass_server.domain.entries import EntryHit
from quizglass_server.domain.turns import GenerationEnd, Token
from quizglass_server.roles.generator import GenerationRequest
from quizglass_server.steps.language.phrases import asks_by_its_names, asks_by_name
from tests.support.turn_fakes import TAGRIN, World, turn


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What colour is the Velmora?", True),
        ("Which is older, the Velmora or the Tagrin?", True),
        ("Who designed Velmora?", True),
        ("Where was the founder of Velmora born?", True),
        ("Which is older, the Velmora or the boat?", False),
        ("Which is older, the Velmora or the one on the left?", False),
        ("Is the Velmora as red as this?", False),
        ("Is that the Velmora in the picture?", False),
        ("Can you see the Velmora here?", False),
        ("Is that the Velmora?", False),
        ("Is the Velmora older than that?", False),
        ("What is the town that the Velmora stands in?", True),
        ("What stands beside the Velmora?", False),
        ("What does the Velmora look like?", False),
        ("What colour is the Brenn?", False),
        ("What colour is the boat?", False),
    ],
)
def test_a_question_asks_by_name_where_it_points_at_nothing_that_is_seen(question: str, named: bool) -> None:
    assert asks_by_name(question, {"Velmora", "Tagrin"}) == named


@pytest.mark.parametrize(
    ("policy", "question", "shown"),
    [
        ("text", "What colour is the Velmora?", False),
        ("both", "What colour is the Velmora?", False),
        ("planning-agent+", "What colour is the Velmora?", False),
        ("both", "What colour is the boat?", True),
        ("text", "Is that the Velmora in the picture?", True),
        ("image", "What colour is the Velmora?", True),
        ("none", "What colour is the Velmora?", True),
    ],
)
async def test_passages_about_what_is_named_are_read_without_the_picture(
    policy: str, question: str, shown: bool
) -> None:
    world = World()
    world.knowledge.entries = [EntryHit(TAGRIN, 0.9)]
    await world.ask(turn(question), policy)
    (request,) = world.models.calls.of("answer")
    assert bool(request.pictures) == shown
    assert bool(world.models.calls.of("rewrite")) == (policy not in ("none", "image")), "which sees the picture"
    assert all(each.pictures for each in world.models.calls.of("rewrite"))


async def test_a_picture_that_shows_what_is_named_stays() -> None:
    world = World()
    events = await world.ask(turn("What colour is the Velmora?"), "both")
    (request,) = world.models.calls.of("answer")
    assert request.pictures
    assert [line.partition(":")[0] for line in request.values["seen"]] == ["Velmora"]
    assert {item.origin for event in events for item in getattr(event, "items", ())} >= {Origin.IMAGE_SEARCH}


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Who made the Velmora?", True),
        ("Which is older, the Velmora or the Tagrin?", True),
        ("Who made this?", False),
        ("Who made the red car?", False),
        ("Which is older, the Velmora or the boat?", False),
        ("What stands beside the Velmora?", False),
        ("How much does it cost?", False),
    ],
)
def test_a_question_may_ask_about_nothing_but_what_it_names(question: str, named: bool) -> None:
    assert asks_by_its_names(question) == named


@pytest.mark.parametrize("policy", ["core-mmrag+", "planning-agent-reconciled"])
@pytest.mark.parametrize(
    ("question", "memory_accept", "recalled"),
    [
        ("Who made the Velmora?", 0.5, "Tandric"),
        ("Who made the Velmora?", None, "Tandric"),
        ("Who made the Velmora?", 0.6, "I don't know"),
        ("Who made the red car?", 0.5, "I don't know"),
    ],
)
async def test_memory_that_knows_nothing_beside_a_picture_is_asked_without_it(
    policy: str, question: str, memory_accept: float | None, recalled: str
) -> None:
    world = World(memory_accept=memory_accept)
    world.models.generate = _distracted  # type: ignore[method-assign]
    events = await world.ask(turn(question), policy)
    (verdict,) = (event for event in events if isinstance(event, Verdict))
    assert verdict.notes["memory"] == recalled


async def _distracted(request: GenerationRequest) -> AsyncIterator[Token | GenerationEnd]:
    """Knows by heart who made what is asked about, with nothing to see; else what is found alone."""
    answer = "45 crowns" if request.values.get("found") else "I don't know" if request.pictures else "Tandric"
    yield Token("Velmora" if request.task == "rewrite" else answer, 0.5)
    yield GenerationEnd("stop", prompt_tokens=20, answer_tokens=1)
