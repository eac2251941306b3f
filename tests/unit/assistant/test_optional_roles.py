"""Roles that no policy needs: what a turn does with them, and that it goes on without them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass.values import (
    AbstainReason,
    AnswerDelta,
    Done,
    EvidenceFound,
    Exchange,
    Origin,
    Plan,
    PlanMade,
    Region,
    Verdict,
    VerdictOutcome,
)
from quizglass_bundle.inputs.prompts import Values
from quizglass_bundle.tuning import Tuning
from quizglass_server.domain.regions import Detection
from quizglass_server.domain.turns import Evidence, Picture
from quizglass_server.errors import Overloaded, RoleMissing
from quizglass_server.roles.coarse_reranker import COARSE_RERANKER
from quizglass_server.roles.detector import DETECTOR
from quizglass_server.roles.domain_router import DOMAIN_ROUTER
from quizglass_server.steps.language.phrases import ANYTHING, phrases_of
from quizglass_server.steps.lookup.parts.crop import LEFT, crop
from quizglass_server.steps.lookup.parts.detect import around, chosen, find_regions
from quizglass_server.steps.lookup.rerank import rerank, rerank_coarsely
from tests.support.turn_fakes import World, done, picture, turn


class Coarse:
    """Scores passages by the first word that it knows."""

    def __init__(self, **scores: float) -> None:
        self.scores = scores
        self.asked: list[str] = []

    async def compare(self, picture: Picture, question: str, passages: Sequence[str]) -> list[float]:
        self.asked.append(question)
        return [next(score for word, score in self.scores.items() if word in passage) for passage in passages]


class Domains:
    async def domains(self, picture: Picture, question: str) -> list[tuple[str, float]]:
        return [("food", 0.2), ("vehicles", 0.7), ("plants", 0.1)]


class Judge:
    """A verifier with a scripted answer, which remembers what it was asked."""

    needs: frozenset[str] = frozenset()
    shows_several = False

    def __init__(self, word: str) -> None:
        self.word = word
        self.asked: list[Values] = []

    async def look_at(self, picture: object) -> None:
        """There is nothing to do."""

    async def probabilities(self, pictures: Sequence[Picture], values: Values) -> list[tuple[str, float]]:
        self.asked.append(values)
        return [(name, 0.6 if name == self.word else 0.2) for name in ("supported", "contradicted", "incomplete")]


class Boxes:
    def __init__(self, *found: Detection) -> None:
        self.found = list(found)
        self.asked: list[list[str]] = []

    async def detect(self, picture: Picture, phrases: Sequence[str], least_score: float) -> list[Detection]:
        self.asked.append(list(phrases))
        return [each for each in self.found if each.score >= least_score]


class Router:
    """A tool router that has decided already."""

    needs: frozenset[str] = frozenset()
    shows_several = False

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.asked: list[object] = []

    async def look_at(self, picture: object) -> None:
        """There is nothing to do."""

    async def probabilities(self, pictures: Sequence[Picture], values: Values) -> list[tuple[str, float]]:
        self.asked.append(values["draft"])
        return [(self.plan.value, 1.0)]


class Broken:
    """Any role, failing."""

    needs: frozenset[str] = frozenset()
    shows_several = False

    def __getattr__(self, name: str) -> Any:
        async def fail(*_: object) -> None:
            raise ValueError("broken")

        return fail


def texts(events: Sequence[object]) -> list[tuple[str, bool]]:
    found = [event.items for event in events if isinstance(event, EvidenceFound)]
    return [(item.text, item.used) for items in found for item in items if item.origin is Origin.TEXT_SEARCH]


def verdict(events: Sequence[object]) -> VerdictOutcome:
    (found,) = [event for event in events if isinstance(event, Verdict)]
    return found.outcome


async def test_passages_that_do_not_go_with_the_picture_are_told_of_and_neither_reranked_nor_shown() -> None:
    world = World(coarse_accept=0.1, coarse_candidates=1, found=2)
    world.models.decision = Plan.TEXT
    coarse = world.models[COARSE_RERANKER] = Coarse(costs=0.3, Brenn=0.5, **{"1974": 0.0})
    events = await world.ask()
    assert coarse.asked == ["".join(world.models.query).strip()], "the query that they were searched for"
    assert world.models.calls.of("reranker") == [["Tagrin: The Tagrin lies in Brenn."]]
    assert texts(events) == [
        ("The Tagrin lies in Brenn.", True),
        ("The Velmora costs 45 crowns.", False),
        ("The Velmora was first made in 1974.", False),
    ]
    assert "coarse_rerank" in [timing.stage for timing in done(events).timings]


async def test_fine_times_coarse_decides_where_there_is_a_coarse_reranker() -> None:
    passages = [Evidence("", Origin.TEXT_SEARCH, "e", "", text, search_score=0.5) for text in ("one", "two")]
    kept, dropped = await rerank_coarsely(Coarse(one=0.2, two=0.9), picture(), "What?", passages, Tuning())
    assert ([item.text for item in kept], dropped) == (["two", "one"], [])

    class Fine:
        async def score(self, query: str, passages: Sequence[str]) -> list[float]:
            return [0.3 if passage == "two" else 0.8 for passage in passages]

    assert [item.text for item in await rerank(Fine(), "q", kept)] == ["two", "one"]  # 0.27 before 0.16
    assert [item.text for item in await rerank(Fine(), "q", passages)] == ["one", "two"]
    line = Tuning(rerank_accept=0.5, coarse_accept=0.6)  # no relevance lifts 0.2 over 0.3
    near, far = await rerank_coarsely(Coarse(one=0.2, two=0.4), picture(), "What?", passages, line)
    assert ([item.text for item in near], [item.text for item in far]) == (["two"], ["one"])


async def test_without_a_picture_passages_are_ranked_by_the_search_alone() -> None:
    world = World()
    world.models.decision = Plan.TEXT
    world.models[COARSE_RERANKER] = Broken()
    events = await world.ask(turn(shown=False))
    assert len(world.models.calls.of("reranker")[0]) == 3
    assert done(events).skipped == ()


async def test_the_domain_reaches_the_prompts() -> None:
    world = World()
    world.models[DOMAIN_ROUTER] = Domains()
    await world.ask()
    requests = [*world.models.calls.of("rewrite"), *world.models.calls.of("answer")]
    assert [request.values["domain"] for request in requests] == ["vehicles", "vehicles"]
    assert [r.values["domain"] for r in (await plain()).models.calls.of("answer")] == [""]


async def test_the_domain_is_found_out_once_and_only_for_prompts_that_name_it() -> None:
    world, asked = World(), list[str]()

    class Asked(Domains):
        async def domains(self, picture: Picture, question: str) -> list[tuple[str, float]]:
            asked.append(question)
            return await super().domains(picture, question)

    world.models[DOMAIN_ROUTER] = Asked()
    world.models.needs = frozenset({"question"})
    await world.ask()
    assert asked == []
    world.models.needs = frozenset({"question", "domain"})
    await world.ask()
    assert asked == [turn().question]
    await world.ask(policy="qa-dragon-no-domain-router+")
    assert len(asked) == 1


async def plain() -> World:
    world = World()
    await world.ask()
    return world


@pytest.mark.parametrize(
    ("word", "outcome"),
    [("supported", VerdictOutcome.SUPPORTED), ("contradicted", VerdictOutcome.UNSUPPORTED)],
)
async def test_a_verifier_has_the_last_word_on_evidence(word: str, outcome: VerdictOutcome) -> None:
    world = World()
    judge = world.models.deciders["verifier"] = Judge(word)
    events = await world.ask()
    assert verdict(events) is outcome
    assert judge.asked[0]["answer"] == "45 crowns"
    assert "Velmora: The Velmora costs 45 crowns." in judge.asked[0]["evidence"]
    assert done(events).citations


async def test_a_verifier_that_is_not_to_judge_leaves_the_verdict_to_words() -> None:
    world = World(judged=False)
    judge = world.models.deciders["verifier"] = Judge("contradicted")
    assert verdict(await world.ask()) is VerdictOutcome.SUPPORTED
    assert judge.asked == []


async def test_a_verifier_is_not_asked_about_nothing() -> None:
    world = World()
    world.models.decision = Plan.NONE
    judge = world.models.deciders["verifier"] = Judge("contradicted")
    assert verdict(await world.ask()) is VerdictOutcome.UNCHECKED
    world.models.decision, world.models.answer = Plan.BOTH, [" I don't", " know"]
    assert verdict(await world.ask()) is VerdictOutcome.ABSTAINED
    assert judge.asked == []


async def test_what_a_detector_finds_is_looked_up_instead_of_the_views() -> None:
    world = World(boxes=1)
    world.models.decision = Plan.IMAGE
    boxes = world.models[DETECTOR] = Boxes(
        Detection(Region(0.5, 0.0, 1.0, 0.5), 0.9, "red car"),
        Detection(Region(0.0, 0.0, 0.5, 0.5), 0.8, "red car"),
    )
    await world.ask(turn("How much does the red car cost?"))
    assert boxes.asked == [["red car"]]
    assert [shape for shapes in world.models.calls.of("image_encoder") for shape in shapes] == [(4, 5, 3)]


def test_of_several_things_each_has_its_box_before_any_has_two() -> None:
    left, middle, right = Region(0, 0, 0.3, 1), Region(0.35, 0, 0.65, 1), Region(0.7, 0, 1, 1)
    bird, other, book = (
        Detection(region, score, phrase)
        for region, score, phrase in ((left, 0.9, "bird"), (middle, 0.8, "bird"), (right, 0.5, "book"))
    )
    assert chosen([bird, other, book], None, Tuning(boxes=2)) == [left, right]
    assert chosen([bird, other, book], None, Tuning(boxes=3)) == [left, right, middle]
    assert chosen([bird, other], None, Tuning(boxes=2)) == [left, middle]


@pytest.mark.parametrize(("place", "first"), [("left", 0.4), ("middle", 0.45), ("right", 0.5), (None, 0.45)])
def test_of_things_that_are_not_at_the_place_the_nearest_to_it_comes_first(place: str | None, first: float) -> None:
    found = [
        Detection(Region(at - 0.1, 0, at + 0.1, 1), score, "book")
        for at, score in ((0.45, 0.9), (0.4, 0.8), (0.5, 0.7))
    ]
    (region,) = chosen(found, place, Tuning(boxes=1))
    assert (region.left + region.right) / 2 == pytest.approx(first)


def test_what_is_at_the_place_comes_before_what_is_nearer_to_its_edge() -> None:
    likely, edge = (Detection(Region(at, 0, at + 0.1, 1), score, "book") for at, score in ((0.2, 0.9), (0.0, 0.8)))
    assert chosen([likely, edge], "left", Tuning(boxes=1)) == [likely.region]


async def test_a_turn_goes_on_without_a_role_that_fails() -> None:
    world = World()
    for role in ("domain_router", "coarse_reranker", "detector"):
        world.models.put(role, Broken())
    world.models.deciders["verifier"] = Broken()
    events = await world.ask()
    assert done(events).answer == "45 crowns"
    assert {(skipped.step, skipped.reason) for skipped in done(events).skipped} == {
        (step, "FAILED") for step in ("domain", "coarse_rerank", "detect", "judge")
    }


@pytest.mark.parametrize(
    ("question", "phrases"),
    [
        ("How much does this red car cost?", ["red car"]),
        ("What is the tower on the left called?", ["tower"]),
        ("Is the boat older than my blue bicycle?", ["boat", "blue bicycle"]),
        ("Is the taller boat older than this car?", ["taller boat", "car"]),
        ("Which has the higher price, this bird or that one?", ["bird", ANYTHING]),
        ("Is the red one older than the one at the top?", ["red object", "object at the top"]),
        ("What is the price of two of the blue boat?", ["blue boat"]),
        ("Which colour has the bird right of the packet?", ["bird right of the packet"]),
        ("What is the small boat at the top called?", ["small boat at the top"]),
        ("Is this boat next to my car older?", ["boat next to my car"]),
        ("Who founded the maker of the car on the left?", ["car"]),
        ("What is the name of this?", [ANYTHING]),
        ("Tell me the name of it.", [ANYTHING]),
        ("How warm is this cup of tea?", ["cup"]),
        ("How much more does the red car weigh than the tower?", ["red car", "tower"]),
        ("When was the boat at the top first built?", ["boat at the top"]),
        ("When was the boat first built?", ["boat"]),
        ("Where is my blue car parked?", ["blue car"]),
        ("What does the maker of this work with?", [ANYTHING]),
        ("Which is newer, this dish or the Terbindor?", ["dish"]),
        ("How much does the Terbindor cost?", ["terbindor"]),
        ("When was the person who designed the small car born?", ["small car"]),
        ("Which river runs through the town that the yellow car is parked in?", ["yellow car"]),
        ("Which of the two is newer, the boat or this car?", ["boat", "car"]),
        ("What is the colour of the bird that sits?", ["bird"]),
        ("In which year was the designer of the boat in the picture born?", ["boat"]),
        ("Where was the founder of Limawex born?", [ANYTHING]),
        ("Is the founder of Limawex older than the boat?", ["boat"]),
        ("Who designed the Tower of London?", ["tower"]),
        ("\u0130\u0130\u0130, how old is the car", ["car"]),  # capitals that are two small letters
        ("What is at the top?", [ANYTHING]),
        ("Who drives the baker\u2019s van?", ["baker\u2019s van"]),
        ("Who made it?", [ANYTHING]),
        ("What is this?", [ANYTHING]),
    ],
)
def test_what_a_question_names_is_looked_for(question: str, phrases: list[str]) -> None:
    assert phrases_of(question) == phrases


async def test_boxes_of_the_place_that_a_question_names_go_before_likelier_ones_elsewhere() -> None:
    left, right, speck = Region(0, 0, 0.3, 1), Region(0.7, 0, 1, 1), Region(0, 0, 0.05, 0.05)
    found = [Detection(right, 0.9, "x"), Detection(speck, 0.8, "x"), Detection(left, 0.5, "x")]
    assert chosen(found, None, Tuning()) == [right, left]
    assert chosen(found, LEFT, Tuning()) == [left]
    assert chosen(found[:2], LEFT, Tuning()) == [right]
    question, wanted = "What does this cost?", Tuning(detect_accept=0.6)
    assert await find_regions(Boxes(*found), picture(), question, wanted) == [right]


@given(*(st.tuples(st.floats(0, 0.9), st.floats(0.01, 1)),) * 2, st.integers(1, 400), st.integers(1, 400))
def test_a_box_is_looked_up_with_room_around_it(
    across: tuple[float, float], down: tuple[float, float], width: int, height: int
) -> None:
    seen = Picture(b"p" * 32, np.zeros((height, width, 3), np.uint8))
    box = Region(across[0], down[0], min(sum(across), 1.0), min(sum(down), 1.0))
    part = around(box, seen)
    assert 0 <= part.left <= box.left < box.right <= part.right <= 1
    assert 0 <= part.top <= box.top < box.bottom <= part.bottom <= 1
    wide, high = (part.right - part.left) * width, (part.bottom - part.top) * height
    cut = 0 in (part.left, part.top) or 1 in (part.right, part.bottom)
    assert cut or wide == pytest.approx(high)


def test_a_region_is_cut_to_whole_pixels_and_is_never_empty() -> None:
    pixels = np.arange(6 * 8 * 3, dtype=np.uint8).reshape(6, 8, 3)
    whole = Picture(b"p" * 32, pixels)
    assert crop(whole, Region(0.25, 0.5, 0.5, 1.0)).pixels.tolist() == pixels[3:, 2:4].tolist()
    assert crop(whole, Region(1.0, 1.0, 1.0, 1.0)).pixels.shape == (1, 1, 3)
    assert crop(whole, Region(0.0, 0.0, 1.0, 1.0)) is whole


async def test_a_draft_that_lacks_nothing_is_the_answer() -> None:
    world = World()
    router = world.models.deciders["tool_router"] = Router(Plan.NONE)
    events = await world.ask(policy="draft-first")
    assert [type(event) for event in events] == [PlanMade, AnswerDelta, Verdict, Done]
    assert router.asked == ["45 crowns"]
    assert (done(events).answer, done(events).answer_tokens) == ("45 crowns", 2)
    assert len(world.models.calls.of("answer")) == 1
    assert world.knowledge.searches == []


async def test_what_a_draft_lacks_is_looked_up() -> None:
    world = World()
    world.models.deciders["tool_router"] = Router(Plan.BOTH)
    events = await world.ask(policy="draft-first")
    assert world.knowledge.searches == ["image", "text"]
    first, second = world.models.calls.of("answer")
    assert (first.values["found"], bool(second.values["found"])) == ([], True)
    assert "".join(event.text for event in events if isinstance(event, AnswerDelta)) == "45 crowns"
    del world.models.deciders["tool_router"]
    with pytest.raises(RoleMissing, match="tool_router"):
        await world.ask(policy="draft-first")


@pytest.mark.parametrize(("accept", "searches"), [(0.4, []), (0.6, ["image", "text"])])
async def test_a_draft_that_lacks_nothing_but_is_a_guess_is_looked_up(accept: float, searches: list[str]) -> None:
    world = World(memory_accept=accept)  # the least probable token of a draft has 0.5
    world.models.deciders["tool_router"] = Router(Plan.NONE)
    assert done(await world.ask(policy="draft-first")).answer == "45 crowns"
    assert world.knowledge.searches == searches


async def test_a_draft_is_told_where_the_engine_has_no_room_for_the_answer_after_a_search() -> None:
    world = World()
    world.models.deciders["tool_router"] = Router(Plan.BOTH)
    asked = count()

    async def first_alone() -> None:
        if next(asked):
            raise Overloaded("no room", 1.5)

    world.models.before["answer"] = first_alone
    ended = done(await world.ask(policy="draft-first"))
    assert (ended.answer, ended.abstain_reason) == ("45 crowns", AbstainReason.NONE)
    assert "generate" in [skipped.step for skipped in ended.skipped]


async def test_an_empty_draft_is_no_answer() -> None:
    world = World()
    world.models.deciders["tool_router"] = Router(Plan.NONE)
    world.models.answer = []
    events = await world.ask(policy="draft-first")
    assert done(events).answer == "I don't know"
    assert len(world.models.calls.of("answer")) == 2


async def test_what_can_only_be_seen_is_refused_at_once_where_the_generator_does_not_see() -> None:
    world = World()
    world.models.sees = False
    events = await world.ask(turn("How many people do you see?"))
    ended = done(events)
    assert (ended.answer, ended.abstain_reason) == ("I don't know", AbstainReason.NO_EVIDENCE)
    assert world.models.calls.made == []
    (verdict,) = (event for event in events if isinstance(event, Verdict))
    assert verdict.outcome is VerdictOutcome.ABSTAINED
    assert "sees" in verdict.notes["unseen"]


@pytest.mark.parametrize("policy", ["none", "text"])
async def test_a_colour_is_refused_where_nothing_that_was_looked_up_tells_one(policy: str) -> None:
    world = World()
    world.models.sees = False
    events = await world.ask(turn("What colour is this cup?"), policy=policy)
    ended = done(events)
    assert (ended.answer, ended.abstain_reason) == ("I don't know", AbstainReason.NO_EVIDENCE)
    assert world.models.calls.of("answer") == []
    assert world.knowledge.searches == (["text"] if policy == "text" else [])
    (verdict,) = (event for event in events if isinstance(event, Verdict))
    assert "sees" in verdict.notes["unseen"]
    (said,) = (event for event in events if isinstance(event, AnswerDelta))
    assert said.text == "I don't know"


@pytest.mark.parametrize("policy", ["core-mmrag+", "self-reflective+", "planning-agent-reconciled"])
async def test_a_guess_of_a_colour_is_no_evidence_of_it(policy: str) -> None:
    world = World()
    world.models.sees, world.models.answer = False, ["It", " is red."]
    world.knowledge.entries.clear()
    world.knowledge.chunks.clear()
    ended = done(await world.ask(turn("What colour is this cup?"), policy=policy))
    assert (ended.answer, ended.abstain_reason) == ("I don't know", AbstainReason.NO_EVIDENCE)


@pytest.mark.parametrize(
    ("sees", "question", "history"),
    [
        (True, "What colour is this cup?", ()),
        (False, "What colour is a ruby?", ()),
        (False, "What colour is this cup?", (Exchange("What have I?", "A red cup."),)),
    ],
)
async def test_a_colour_that_may_be_known_is_asked_of_the_generator(
    sees: bool, question: str, history: tuple[Exchange, ...]
) -> None:
    world = World()
    world.models.sees = sees
    events = await world.ask(turn(question, history=history), policy="none")
    assert done(events).answer == "45 crowns"


@pytest.mark.parametrize("policy", ["image", "both", "planning-agent+"])
async def test_a_colour_that_a_recognised_entry_tells_is_asked_of_the_generator(policy: str) -> None:
    world = World()
    world.models.sees = False
    world.models.decision = Plan.NONE  # of the planning agent, which then looks up what it left out
    events = await world.ask(turn("What colour is this car?"), policy=policy)
    assert done(events).answer == "45 crowns"
    assert len(world.models.calls.of("answer")) == 1


@pytest.mark.parametrize(
    ("question", "sees", "shown"),
    [
        ("How many people do you see?", True, True),
        ("How many people do you see?", False, False),
        ("How much does this cost?", False, True),
    ],
    ids=["the generator sees", "no picture", "notes may tell"],
)
async def test_all_else_is_answered(question: str, sees: bool, shown: bool) -> None:
    world = World()
    world.models.sees = sees
    events = await world.ask(turn(question, shown=shown))
    assert done(events).answer == "45 crowns"
