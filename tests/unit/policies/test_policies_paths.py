"""Each plan walks the paper's path: the right lookups, in the right order, and what the generator is shown."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

import pytest

from quizglass.values import (
    AbstainReason,
    AnswerDelta,
    Done,
    EvidenceFound,
    Exchange,
    Origin,
    Plan,
    PlanMade,
    QueryRewritten,
    Verdict,
)
from quizglass_bundle.inputs.prompts import Values
from quizglass_bundle.tuning import Views
from quizglass_server.domain.entries import ChunkHit
from quizglass_server.domain.turns import GenerationEnd, Picture, Token
from quizglass_server.errors import InvalidInput
from quizglass_server.roles.decider import Decider
from quizglass_server.roles.generator import GenerationRequest
from tests.support.turn_fakes import VELMORA, World, done, picture, turn

SEEN = ["Velmora: Velmora is a red car made by Tandric."]
FOUND = ["Velmora: The Velmora costs 45 crowns.", "Velmora: The Velmora was first made in 1974."]
QUERY = "How much does the Velmora cost?"
PATHS = {
    Plan.NONE: ([], [PlanMade, AnswerDelta, AnswerDelta, Verdict, Done], [], [], None),
    Plan.IMAGE: (["image"], [PlanMade, EvidenceFound, AnswerDelta, AnswerDelta, Verdict, Done], SEEN, [], None),
    Plan.TEXT: (
        ["text"],
        [PlanMade, QueryRewritten, EvidenceFound, AnswerDelta, AnswerDelta, Verdict, Done],
        [],
        FOUND,
        QUERY,
    ),
    Plan.BOTH: (
        ["image", "text"],
        [PlanMade, EvidenceFound, QueryRewritten, EvidenceFound, AnswerDelta, AnswerDelta, Verdict, Done],
        SEEN,
        FOUND,
        QUERY,
    ),
}


@pytest.mark.parametrize("plan", Plan)
@pytest.mark.parametrize("policy", ["planning-agent+", "prompt-based+", "fixed"])
async def test_every_policy_follows_the_figure(plan: Plan, policy: str) -> None:
    world = World()
    world.models.decision = plan
    events = await world.ask(policy=plan.value if policy == "fixed" else policy)
    searches, kinds, seen, found, query = PATHS[plan]
    assert world.knowledge.searches == searches
    assert [type(event) for event in events] == kinds
    (request,) = world.models.calls.of("answer")
    assert (request.values["seen"], request.values["found"], request.values["query"]) == (seen, found, query)
    assert isinstance(events[0], PlanMade)
    assert events[0].plan is plan
    assert events[0].decided_by == {"planning-agent+": "planner", "prompt-based+": "prompt"}.get(policy, "fixed")
    executed = [timing.stage for timing in done(events).timings if timing.stage.endswith("_search")]
    assert executed == [f"{search}_search" for search in searches]


@pytest.mark.parametrize(
    ("plan", "accept", "searches"),
    [
        (Plan.NONE, 0.4, []),
        (Plan.NONE, 0.6, ["image", "text"]),
        (Plan.IMAGE, 0.4, ["image"]),
        (Plan.IMAGE, 0.6, ["image", "text"]),
        (Plan.TEXT, 0.4, ["text"]),
        (Plan.TEXT, 0.6, ["image", "text"]),  # for the name in its query
    ],
)
async def test_an_answer_from_memory_that_is_unsure_is_told_after_a_lookup(
    plan: Plan, accept: float, searches: list[str]
) -> None:
    world = World(memory_accept=accept)  # the least probable token of an answer has 0.5
    world.models.decision = plan
    events = await world.ask()
    assert world.knowledge.searches == searches
    assert "".join(event.text for event in events if isinstance(event, AnswerDelta)).strip() == "45 crowns"
    assert len(world.models.calls.of("answer")) == (2 if plan is not Plan.TEXT and accept > 0.5 else 1)
    assert [event.plan for event in events if isinstance(event, PlanMade)] == [plan]


async def test_an_unsure_answer_is_told_where_nothing_is_found() -> None:
    world = World(memory_accept=0.6, image_accept=0.9, rerank_accept=0.95)
    world.models.decision = Plan.NONE
    events = await world.ask()
    assert world.knowledge.searches == ["image", "text"]
    assert done(events).answer == "45 crowns"


async def test_the_rewriter_sees_k_i_only_when_there_is_one() -> None:
    world = World()
    text, both = await world.ask(policy="text"), await world.ask(policy="both")
    assert [request.values["seen"] for request in world.models.calls.of("rewrite")] == [[], SEEN]
    rewritten = [event for event in [*text, *both] if isinstance(event, QueryRewritten)]
    assert [event.used_image_evidence for event in rewritten] == [False, True]
    assert world.models.calls.of("text_encoder") == [[QUERY], [QUERY]]


async def test_a_rewritten_query_is_one_clean_line() -> None:
    world = World()
    world.models.query = ["\n How much", " does\nit\x07 cost? ", ""]
    events = await world.ask(policy="text")
    (rewritten,) = [event for event in events if isinstance(event, QueryRewritten)]
    assert rewritten.text == "How much does it cost?"
    assert world.models.calls.of("text_encoder") == [["How much does it cost?"]]


async def test_prompt_based_asks_for_the_letter_in_the_order_of_the_plans() -> None:
    world = World()
    world.models.decision = Plan.TEXT
    events = await world.ask(policy="prompt-based+")
    assert isinstance(events[0], PlanMade)
    assert dict(events[0].probabilities)[Plan.TEXT] == 0.7
    assert world.models.calls.of("choose")[0].task == "plan"
    assert world.models.calls.of("planner") == []


async def test_evidence_is_numbered_through_the_turn_and_says_what_was_shown() -> None:
    world = World()
    world.models.lines = ["Bakery"]
    events = await world.ask(policy="both")
    items = [item for event in events if isinstance(event, EvidenceFound) for item in event.items]
    assert [item.id for item in items] == ["1", "2", "3", "4", "5", "6"]
    assert [item.origin for item in items[:3]] == [Origin.READ_TEXT, Origin.IMAGE_SEARCH, Origin.IMAGE_SEARCH]
    assert [item.used for item in items] == [True, True, False, True, True, False]
    assert [item.rerank_score for item in items[3:]] == [0.9, 0.6, 0.1]


async def test_words_in_the_picture_reach_planner_rewriter_and_generator_once_read() -> None:
    world = World()
    world.models.lines = ["Velmora", " 1974 "]
    first = await world.ask()
    await world.ask()
    assert len(world.models.calls.of("reader")) == 1
    assert world.models.calls.of("planner") == ["", "Velmora 1974", "Velmora 1974"]
    assert world.models.calls.of("rewrite")[0].values["words"] == "Velmora 1974"
    assert world.models.calls.of("answer")[0].values["words"] == "Velmora 1974"
    assert isinstance(first[0], PlanMade)
    assert isinstance(first[1], EvidenceFound)
    assert first[1].items[0].text == "Velmora 1974"


async def test_the_dialogue_reaches_every_prompt() -> None:
    world = World()
    await world.ask(turn(history=[Exchange("What is this?", "Velmora")]), policy="both")
    expected = [{"question": "What is this?", "answer": "Velmora"}]
    assert [world.models.calls.of(task)[0].values["history"] for task in ("rewrite", "answer")] == [expected] * 2


async def test_done_says_how_much_of_the_dialogue_the_answer_had_no_room_for() -> None:
    world = World()
    whole = world.models.generate

    async def short_of_room(request: GenerationRequest) -> AsyncIterator[Token | GenerationEnd]:
        if request.values["history"]:
            raise InvalidInput("question", "the prompt is too long")
        async with aclosing(whole(request)) as pieces:
            async for piece in pieces:
                yield piece

    asked = turn(history=[Exchange("What is this?", "Velmora")] * 8)
    assert done(await world.ask(asked, policy="none")).history_left_out == 0
    world.models.generate = short_of_room  # type: ignore[method-assign]
    for policy in ("none", "both"):
        assert done(await world.ask(asked, policy=policy)).history_left_out == 8


async def test_a_question_without_a_picture_skips_the_image_search_and_still_searches_text() -> None:
    world = World()
    events = await world.ask(turn("Who founded Tandric?", shown=False))
    assert world.knowledge.searches == ["text"]
    assert [(skipped.step, skipped.reason) for skipped in done(events).skipped] == [("image_search", "NO_PICTURE")]
    assert world.models.calls.of("reader") == world.models.calls.of("image_encoder") == []


async def test_the_picture_is_embedded_once_for_each_view() -> None:
    world = World()
    for question in ("What is this?", "Who made this?", "Who made the car on the left?"):
        await world.ask(turn(question), policy="image")
    assert world.models.calls.of("image_encoder") == [[(6, 8, 3)], [(6, 4, 3)]]


async def test_an_embedding_begun_early_is_no_search_when_the_plan_needs_none() -> None:
    world = World()
    world.models.decision = Plan.NONE
    events = await world.ask()
    assert world.knowledge.searches == []
    assert not any(isinstance(event, EvidenceFound) for event in events)
    assert "image_search" not in [timing.stage for timing in done(events).timings]


async def test_an_expensive_embedding_waits_for_the_plan() -> None:
    world = World()
    world.resources.costs.took("embed", 1.0)
    world.models.decision = Plan.NONE
    await world.ask()
    assert world.models.calls.of("image_encoder") == []


@pytest.mark.parametrize("policy", ["planning-agent+", "prompt-based+"])
async def test_the_generator_looks_at_the_picture_while_the_plan_is_made(policy: str) -> None:
    world = World()
    await world.ask(policy=policy)
    (ahead,) = world.models.calls.of("read ahead")
    assert [shown.sha256 for shown in ahead.pictures] == [picture().sha256]
    assert len(world.models.calls.of("answer")) == 1


async def test_the_planner_looks_at_the_picture_while_words_that_are_asked_about_are_read() -> None:
    world = World()
    await world.ask(turn("What does the sign say?"))
    roles = [role for role, _ in world.models.calls.made]
    assert world.models.calls.of("planner looks") == [picture().sha256]
    assert roles.index("planner looks") < roles.index("planner")


@pytest.mark.parametrize("policy", ["image", "both"])
async def test_the_generator_looks_at_the_picture_while_that_is_looked_up(policy: str) -> None:
    world = World()
    await world.ask(policy=policy)
    roles = [role for role, _ in world.models.calls.made]
    assert roles.count("read ahead") == 1
    assert roles.index("read ahead") < roles.index("answer")


@pytest.mark.parametrize("policy", ["none", "text"])
async def test_a_policy_that_asks_the_generator_first_has_nothing_to_prepare(policy: str) -> None:
    world = World()
    await world.ask(policy=policy)
    assert world.models.calls.of("prepare") == world.models.calls.of("read ahead") == []


async def test_without_a_picture_there_is_nothing_to_prepare() -> None:
    world = World()
    await world.ask(turn(shown=False))
    assert world.models.calls.of("prepare") == world.models.calls.of("read ahead") == []


async def test_preparing_holds_nothing_up_and_ends_with_the_turn() -> None:
    world = World()
    world.models.before["read ahead"] = asyncio.Event().wait
    assert done(await world.ask()).answer == "45 crowns"
    assert world.models.cancelled == ["read ahead"]


async def test_several_views_are_embedded_in_one_batch_and_only_those_that_are_missing() -> None:
    world = World(views=Views(placed=(0.5, 0.4), unplaced=(1.0, 0.5)))
    await world.ask(turn("What does the car on the left cost?"), policy="image")
    await world.ask(turn("What does the car cost?"), policy="image")
    await world.ask(turn("What does the car cost?"), policy="image")
    assert world.models.calls.of("image_encoder") == [[(6, 4, 3), (6, 3, 3)], [(6, 8, 3), (6, 4, 3), (6, 4, 3)]]
    assert world.knowledge.searches == ["image"] * 3


async def test_a_search_beside_the_turns_uses_the_same_vectors() -> None:
    world = World()
    await world.ask(turn("What is this?"), policy="image")
    await world.assistant.search("", picture(), 5)
    assert world.models.calls.of("image_encoder") == [[(6, 8, 3)]]


async def test_a_search_without_reranking_keeps_its_own_order() -> None:
    world = World()
    world.models.decision = Plan.TEXT
    for policy, reranked in (("qa-dragon+", True), ("qa-dragon-no-reranking+", False)):
        world.models.calls.made.clear()
        events = await world.ask(policy=policy)
        assert bool(world.models.calls.of("reranker")) == reranked
        found = [item for event in events if isinstance(event, EvidenceFound) for item in event.items]
        assert (found[0].search_score == 0.9) != reranked


@pytest.mark.parametrize("name", ["text", "both"])
async def test_without_a_reranker_passages_stand_as_they_were_found(name: str) -> None:
    world = World()
    world.models.put("reranker", None)
    events = await world.ask(policy=name)
    passages = [item for event in events if isinstance(event, EvidenceFound) for item in event.items if item.used]
    scores = [item.search_score for item in passages if item.origin is Origin.TEXT_SEARCH]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == 0.9


@pytest.mark.parametrize("policy", ["core-mmrag+", "core-two-stage+", "qa-dragon-image-only+"])
async def test_entries_that_a_policy_did_not_choose_back_no_answer(policy: str) -> None:
    world = World(image_accept=0.1)
    world.models.decision = Plan.IMAGE  # the second label of every decision: the second entry; no entity at all
    world.models.query = [" How much does the", " Tagrin cost?"]
    world.models.answer = [" Velmora"]
    events = await world.ask(policy=policy)
    items = [item for event in events if isinstance(event, EvidenceFound) for item in event.items]
    chosen = [] if policy == "qa-dragon-image-only+" else [("2", "Tagrin", True), ("3", "Tagrin", True)]  # and its text
    assert [(item.id, item.title, item.used) for item in items] == [
        ("1", "Velmora", False),
        ("2", "Tagrin", False),
        *chosen,
    ]
    assert done(events).citations == ()


async def test_an_answer_that_its_policy_refuses_is_not_given() -> None:
    world = World()
    world.models.decision = Plan.TEXT  # the third label of every decision: of the verifier, that it is contradicted
    events = await world.ask(policy="qa-dragon+")
    assert done(events).abstain_reason is AbstainReason.CONTRADICTED
    assert "45 crowns" not in "".join(event.text for event in events if isinstance(event, AnswerDelta))
    (verdict,) = (event for event in events if isinstance(event, Verdict))
    assert verdict.notes == {"why": "45 crowns"}


async def test_what_rounds_of_searching_bring_beyond_the_models_context_is_left_out_from_its_end() -> None:
    world = World()
    shown, searched = list[list[str]](), list[str]()

    async def search_texts(vector: object, limit: int, words: str = "", finding: object = None) -> list[ChunkHit]:
        searched.append(words)
        return [ChunkHit(VELMORA, f"{len(searched)}.{place} of it.", 0.9) for place in range(limit)]

    async def short_of_room(request: GenerationRequest) -> AsyncIterator[Token | GenerationEnd]:
        found = request.values["found"]
        assert isinstance(found, list)
        if len(found) > 6:
            raise InvalidInput("question", "the prompt is too long")
        shown.append(found)
        pieces = [f" Which is number {len(searched)}?"] if request.task == "reformulate" else [" 45", " crowns"]
        for piece in pieces:
            yield Token(piece, 0.9)
        yield GenerationEnd("stop", 20, len(pieces))

    async def more(request: GenerationRequest, labels: Sequence[str]) -> list[float]:
        return [float(label == " B") for label in labels]

    world.knowledge.search_texts = search_texts  # type: ignore[method-assign]
    world.models.generate, world.models.choose = short_of_room, more  # type: ignore[method-assign]
    assert done(await world.ask(policy="cogplanner-sequential+")).answer == "45 crowns"
    assert len(searched) == 3
    assert [line.partition(": ")[2] for line in shown[-1]] == ["3.0 of it.", "3.1 of it.", "3.2 of it.", "3.3 of it."]


class Weighing:
    """A decider that says the same whatever it is asked."""

    executor = "cpu"
    needs: frozenset[str] = frozenset()
    shows_several = False

    def __init__(self, **weighed: float) -> None:
        self._weighed = list(weighed.items())

    async def look_at(self, picture: Picture) -> None:
        """There is nothing to do."""

    async def probabilities(self, pictures: Sequence[Picture], values: Values) -> list[tuple[str, float]]:
        return self._weighed


def searching_text(verifier: Decider) -> dict[str, Decider]:
    """Deciders that have QA-Dragon search by text, and this verifier."""
    return {
        "search_router": Weighing(rag=1.0),
        "tool_router": Weighing(text=1.0),
        "subject": Weighing(other=1.0),
        "verifier": verifier,
    }


@pytest.mark.parametrize(("supported", "reason"), [(0.3, AbstainReason.UNSUPPORTED), (0.7, AbstainReason.NONE)])
async def test_a_verifier_may_say_in_words_of_its_own_what_is_wrong(supported: float, reason: AbstainReason) -> None:
    world = World()
    world.models.deciders.update(searching_text(Weighing(supported=supported, made_up=1 - supported)))
    assert done(await world.ask(policy="qa-dragon-no-second-look")).abstain_reason is reason


async def test_an_answer_is_held_against_the_verifier_with_its_own_probability_and_no_percentage_of_it() -> None:
    """In percent 0.9951 is 100: an answer was as good as certain, and what spoke against it did not count."""
    world = World(support_accept=0.5, support_certainty=0.5)
    doubting = Weighing(supported=0.002, contradicted=0.998)  # log odds -6.2; the tokens' are 5.3, of 100 % 9.2
    world.models.deciders.update(searching_text(doubting))

    async def generate(request: GenerationRequest) -> AsyncIterator[Token | GenerationEnd]:
        yield Token("45 crowns", 0.9951)
        yield GenerationEnd("stop", 20, 1)

    world.models.generate = generate  # type: ignore[method-assign]
    assert done(await world.ask(policy="qa-dragon-no-second-look")).abstain_reason is AbstainReason.CONTRADICTED


@pytest.mark.parametrize("policy", ["core-mmrag+", "planning-agent-reconciled"])
async def test_the_time_that_is_kept_for_an_answer_is_used_where_no_draft_fits_before_it(policy: str) -> None:
    world = World()
    for step in ("draft", "generate"):
        world.resources.costs.took(step, 1.0)
    end = done(await world.ask(policy=policy, budget_s=1.5, now=lambda: 0.0))
    assert (end.answer, end.abstain_reason) == ("45 crowns", AbstainReason.NONE)
    assert "draft" in [skipped.step for skipped in end.skipped]
