"""Whole turns of published policies: the verbs add nothing that a paper does not have."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from quizglass.values import AnswerKind, Exchange, Plan, Verdict
from quizglass_bundle.tuning import Answers
from quizglass_server.assistant.assistant import Assistant
from quizglass_server.domain.entries import ChunkHit, EntryHit
from quizglass_server.domain.state import Draft
from quizglass_server.domain.turns import Picture
from quizglass_server.policies import POLICIES
from quizglass_server.policies.tools import Tools
from quizglass_server.roles.tagger import TAGGER
from tests.support.scripted_policy import Scripted, of
from tests.support.turn_fakes import TAGRIN, VELMORA, World, done, turn

PAIRS = [("always-both", "both"), ("planning-agent", "planning-agent+"), ("qa-dragon", "qa-dragon+")]
"""Published, and with what is added."""


class Cars:
    """A tagger that sees a car everywhere."""

    def __init__(self) -> None:
        self.asked = 0

    async def tags(self, picture: Picture) -> list[tuple[str, float]]:
        self.asked += 1
        return [("car", 0.8)]


@pytest.mark.parametrize(("published", "ours"), PAIRS)
async def test_a_thing_is_named_by_the_generator_and_not_by_the_title_of_its_entry(published: str, ours: str) -> None:
    answers = {}
    for policy in (published, ours):
        world = World()
        world.models.deciders.clear()
        world.models.deciders["planner"] = world.models  # type: ignore[assignment]
        answers[policy] = of(Verdict, await world.ask(turn("What is this?"), policy))[0].kind
    assert answers[ours] is AnswerKind.NAMED
    assert answers[published] is not AnswerKind.NAMED


@pytest.mark.parametrize("answers", Answers)
@pytest.mark.parametrize(("published", "ours"), PAIRS[:2])
async def test_no_quote_takes_the_place_of_an_answer(published: str, ours: str, answers: Answers) -> None:
    told = {}
    for policy in (published, ours):
        world = World(quote_accept=0.0, answers=answers)
        world.models.answer = ["I don't know"]
        told[policy] = done(await world.ask(policy=policy)).answer
    assert told[published] == "I don't know"
    assert told[ours] != "I don't know"


@pytest.mark.parametrize(("published", "ours"), PAIRS[:2])
async def test_nothing_is_tagged(published: str, ours: str) -> None:
    asked = {}
    for policy in (published, ours):
        world = World()
        tagger = world.models[TAGGER] = Cars()
        await world.ask(policy=policy)
        asked[policy] = tagger.asked
        assert bool(world.models.calls.of("answer")[0].values["tags"]) == (policy == ours)
    assert asked == {published: 0, ours: 1}


@pytest.mark.parametrize(("published", "ours"), PAIRS[:2])
async def test_a_question_is_rewritten_once(published: str, ours: str) -> None:
    written = {}
    for policy in (published, ours):
        world = World(memory_accept=0.6)
        world.models.query = [" How much does the", " Ozric cost?"]  # a name that nothing told
        await world.ask(policy=policy)
        written[policy] = len(world.models.calls.of("rewrite"))
    assert (written[published], written[ours] > 1) == (1, True)


async def test_names_are_not_followed_from_text_to_text() -> None:
    searches = {}
    for policy in ("always-text", "text"):
        world = World(links=2)
        world.models.scores = {}
        await world.ask(policy=policy)
        searches[policy] = len(world.knowledge.searches)
    assert (searches["always-text"], searches["text"] > 1) == (1, True)


async def test_an_answer_about_another_thing_is_written_with_the_picture() -> None:
    shown = {}
    for policy in ("always-both", "both"):
        world = World()
        world.knowledge.entries = [EntryHit(TAGRIN, 0.9)]
        world.knowledge.chunks = [ChunkHit(VELMORA, "The Velmora costs 45 crowns.", 0.8)]
        await world.ask(turn("What colour is the Velmora?"), policy)
        (request,) = world.models.calls.of("answer")
        shown[policy] = (bool(request.pictures), len(request.values["seen"]))
    assert shown == {"always-both": (True, 1), "both": (False, 0)}


async def test_memory_is_asked_once_and_with_the_picture() -> None:
    memories = {}
    for policy in ("core-mmrag", "core-mmrag+"):
        world = World()
        world.models.answer = ["I don't know"]
        await world.ask(turn("Who made the Velmora?"), policy)
        alone = [request for request in world.models.calls.of("answer") if not request.pictures]
        memories[policy] = len(alone)
    assert memories["core-mmrag"] == 0
    assert memories["core-mmrag+"] > 0


async def test_a_plan_is_the_likeliest_whatever_the_bundle_asks_of_memory() -> None:
    ran = {}
    for policy in ("planning-agent", "planning-agent+"):
        world = World(none_accept=0.9)
        world.models.deciders["planner"] = Unsure()
        ran[policy] = world.knowledge.searches
        await world.ask(policy=policy)
    assert ran["planning-agent"] == []
    assert ran["planning-agent+"] == ["text"]


class Unsure:
    """A planner that is a little surer of nothing than of text."""

    executor = "cpu"
    needs: frozenset[str] = frozenset()
    shows_several = False

    async def look_at(self, picture: Picture) -> None:
        """There is nothing to do."""

    async def probabilities(self, pictures: object, values: object) -> list[tuple[str, float]]:
        return [(Plan.NONE.value, 0.5), (Plan.TEXT.value, 0.4), (Plan.IMAGE.value, 0.05), (Plan.BOTH.value, 0.05)]


async def test_a_published_policy_is_told_the_dialogue_and_the_printed_words_like_any_other() -> None:
    world = World()
    world.models.lines = ["Bakery"]
    await world.ask(turn(history=[Exchange("What is this?", "Velmora")]), "planning-agent")
    (request,) = world.models.calls.of("answer")
    assert request.values["words"] == "Bakery"
    assert request.values["history"] == [{"question": "What is this?", "answer": "Velmora"}]


async def test_passages_of_several_queries_are_merged_by_score(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = {}
    for name, published in (("paper", True), ("ours", False)):
        world = World(found=1)
        found: list[str] = []

        async def run(tools: Tools, found: list[str] = found) -> Draft:
            found += [item.text for item in await tools.search_text(["one", "two"])]
            return Draft()

        async def search(vector: object, limit: int, words: str = "", finding: object = None) -> list[ChunkHit]:
            return [ChunkHit(VELMORA, f"{words} a", 0.9), ChunkHit(VELMORA, f"{words} b", 0.8)]

        async def score(query: str, passages: Sequence[str]) -> list[float]:
            return [0.9 if query == "one" else 0.5 for _ in passages]

        world.knowledge.search_texts = search  # type: ignore[method-assign]
        world.models.score = score  # type: ignore[method-assign]
        policy = Scripted(run)
        policy.published = published  # type: ignore[attr-defined]
        monkeypatch.setitem(POLICIES, name, policy)
        world.assistant = Assistant(world.resources)
        await world.ask(policy=name)
        shown[name] = found
    assert shown == {"paper": ["one a", "one b"], "ours": ["one a", "two a"]}
