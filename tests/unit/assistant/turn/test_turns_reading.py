"""Words are looked for where the gate says that there may be some, and everywhere when a question is about them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from quizglass.values import EvidenceFound, Origin, Plan, PlanMade, Region, StepEnded, TurnEvent
from quizglass_server.errors import EngineFailed
from quizglass_server.scheduling.time_left import Budget
from quizglass_server.steps.language.appearance import asks_looks
from quizglass_server.steps.read import asks_to_read, words_may_tell
from tests.support.turn_fakes import World, done, turn


def failing(error: Exception):
    async def fail() -> None:
        raise error

    return fail


PART = Region(0.1, 0.2, 0.5, 0.4)


def stages(events: list) -> set[str]:
    return {timing.stage for timing in done(events).timings}


async def test_a_picture_without_words_is_not_read_and_the_timings_say_so() -> None:
    world = World()
    world.models.lettered, world.models.lines = None, ["Velmora"]
    events = await world.ask(turn("How much does this cost?"))
    assert world.models.calls.of("reader") == []
    assert world.models.calls.of("planner") == [""]
    assert "gate" in stages(events)
    assert "read" not in stages(events)
    assert done(events).skipped == ()


@pytest.mark.parametrize(("always", "read"), [(False, []), (True, [PART])])
async def test_a_reader_of_every_picture_reads_where_no_question_asks_for_words(always: bool, read: list) -> None:
    world = World()
    world.models.lettered, world.models.lines, world.models.reads_all = PART, ["Velmora"], always
    await world.ask(turn("What colour is this?"))
    assert world.models.read_parts == read


async def test_only_the_part_that_may_show_words_is_read() -> None:
    world = World()
    world.models.lettered, world.models.lines = PART, ["Velmora"]
    events = await world.ask(turn("How much does this cost?"))
    assert world.models.read_parts == [PART]
    assert world.models.calls.of("planner") == ["", "Velmora"]
    assert {"gate", "read"} <= stages(events)


async def test_a_question_about_words_has_the_whole_picture_read_whatever_the_gate_would_say() -> None:
    world = World()
    world.models.lettered, world.models.lines = None, ["Velmora"]
    await world.ask(turn("How much does this cost?"))
    events = await world.ask(turn("Which words are on the sign?"))
    assert world.models.read_parts == [None]
    assert world.models.calls.of("planner") == ["", "Velmora"]
    assert "gate" not in stages(events)


async def test_a_question_about_words_has_the_whole_read_of_which_a_part_was_read_before_and_once() -> None:
    world = World()
    world.models.lettered, world.models.lines = PART, ["Velmora"]
    await world.ask(turn("How much does this cost?"))
    world.models.lines = ["Velmora", "closed"]
    await world.ask(turn("Which words are on the sign?"))
    await world.ask(turn("Which words are on the sign?"))
    await world.ask(turn("How much does this cost?"))
    assert world.models.read_parts == [PART, None]
    assert world.models.calls.of("planner") == ["", "Velmora", *["Velmora closed"] * 3]


async def test_words_of_a_part_stay_where_the_whole_cannot_be_read() -> None:
    world = World()
    world.models.lettered, world.models.lines = PART, ["Velmora"]
    await world.ask(turn("How much does this cost?"))
    world.models.before["reader"] = failing(EngineFailed("the reader hangs"))
    await world.ask(turn("Which words are on the sign?"))
    assert world.models.calls.of("planner")[-1] == "Velmora"


async def test_the_plan_is_made_again_when_words_come_and_is_told_of_once() -> None:
    world = World()
    world.models.lines = ["Velmora"]
    events = await world.ask(replace(turn(), explain=True))
    plans = [event for event in events if isinstance(event, StepEnded) and event.name == "plan"]
    words = [[detail.text for detail in plan.inputs if detail.label == "words"] for plan in plans]
    assert words == [[], ["Velmora"]]
    assert [type(event) for event in events if not isinstance(event, StepEnded)][:2] == [PlanMade, EvidenceFound]
    assert sum(isinstance(event, PlanMade) for event in events) == 1


async def test_the_plan_stands_where_words_were_looked_for_and_none_were_read() -> None:
    world = World()
    world.models.lettered, world.models.lines = PART, []
    await world.ask()
    assert world.models.read_parts == [PART]
    assert world.models.calls.of("planner") == [""]


async def test_an_embedding_begun_while_words_are_read_ends_where_no_picture_is_searched_by() -> None:
    world = World()
    world.models.lines, world.models.decision = ["Velmora"], Plan.NONE
    begun, ended = asyncio.Event(), asyncio.Event()

    async def embed() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def answer() -> None:
        async with asyncio.timeout(30):
            await ended.wait()

    world.models.before |= {"image_encoder": embed, "reader": begun.wait, "answer": answer}  # type: ignore[dict-item]
    events = await world.ask()
    assert world.models.cancelled == ["image_encoder"]
    assert world.knowledge.searches == []
    assert done(events).answer == "45 crowns"
    assert done(events).skipped == ()


async def test_an_embedding_begun_while_words_are_read_stays_where_the_plan_searches_by_it() -> None:
    world = World()
    world.models.lines = ["Velmora"]
    begun, planned = asyncio.Event(), asyncio.Event()

    async def embed() -> None:
        begun.set()
        await planned.wait()

    async def plan() -> None:
        if begun.is_set():
            planned.set()

    world.models.before |= {"image_encoder": embed, "reader": begun.wait, "planner": plan}  # type: ignore[dict-item]
    await world.ask()
    assert len(world.models.calls.of("image_encoder")) == 1
    assert world.models.cancelled == []
    assert "image" in world.knowledge.searches


async def test_a_decider_that_does_not_read_the_words_is_asked_once() -> None:
    world = World()
    world.models.lines, world.models.needs = ["Velmora"], frozenset({"question"})
    await world.ask()
    assert world.models.calls.of("planner") == [""]


async def test_a_plan_that_fails_early_does_not_matter_where_words_come() -> None:
    world = World()
    world.models.lines = ["Velmora"]
    errors: list[Exception] = [EngineFailed("broken")]

    async def fail_once() -> None:
        if errors:
            raise errors.pop()

    world.models.before["planner"] = fail_once
    assert done(await world.ask()).answer == "45 crowns"


async def test_nothing_is_said_while_it_is_not_known_whether_there_are_words() -> None:
    world = World()
    judged, planned = asyncio.Event(), asyncio.Event()
    world.models.lettered = None
    world.models.before["gate"] = judged.wait

    async def plan() -> None:
        planned.set()

    world.models.before["planner"] = plan
    events: list[TurnEvent] = []
    answering = asyncio.create_task(world.assistant.run(turn(), "planning-agent+", Budget(60), events.append))
    await planned.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    assert events == []
    judged.set()
    await answering
    assert isinstance(events[0], PlanMade)
    assert world.models.calls.of("planner") == [""]


async def test_an_early_plan_ends_with_its_turn() -> None:
    world = World()
    planning = asyncio.Event()

    async def plan() -> None:
        planning.set()
        await asyncio.Event().wait()

    world.models.before["planner"] = plan
    world.models.before["gate"] = asyncio.Event().wait
    answering = asyncio.create_task(world.assistant.run(turn(), "planning-agent+", Budget(60), lambda _: None))
    await planning.wait()
    answering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answering
    assert {"planner", "gate"} <= set(world.models.cancelled)


@pytest.mark.parametrize("error", [EngineFailed("broken"), ValueError("bug")])
async def test_a_gate_that_fails_lets_everything_through(error: Exception) -> None:
    world = World()
    world.models.lines = ["Velmora"]
    world.models.before["gate"] = failing(error)
    events = await world.ask(turn("How much does this cost?"))
    assert world.models.read_parts == [None]
    assert [(skipped.step, skipped.reason) for skipped in done(events).skipped] == [("gate", "FAILED")]


@pytest.mark.parametrize(
    ("question", "reads"),
    [
        ("What does the sign say?", True),
        ("What is written on this box?", True),
        ("Read this to me", True),
        ("Which words are printed in the picture?", True),
        ("Who designed this car?", False),
        ("Is this bread already baked?", False),
        ("How tall is the building on the left?", False),
    ],
)
def test_questions_about_words_are_told_from_others(question: str, reads: bool) -> None:
    assert asks_to_read(question) is reads


async def test_the_generator_looks_at_the_picture_when_the_gate_is_through_with_it() -> None:
    world, judged, asked = World(), asyncio.Event(), asyncio.Event()

    async def asking() -> None:
        asked.set()

    world.models.lettered = None
    world.models.before |= {"gate": judged.wait, "planner": asking}
    running = asyncio.create_task(world.ask(turn("How much does this cost?")))
    await asked.wait()
    assert world.models.calls.of("read ahead") == []
    judged.set()
    await running
    assert len(world.models.calls.of("read ahead")) == 1


async def test_words_are_left_unread_where_a_question_is_not_about_them_and_the_answer_is_sure() -> None:
    world = World()
    world.models.lines = ["Velmora"]
    world.models.decision = Plan.NONE
    events = await world.ask(turn("Which shape is it?"))
    assert not {"gate", "read"} & stages(events)
    assert done(events).answer == "45 crowns"


async def test_words_are_read_and_the_question_planned_anew_before_not_knowing_is_told() -> None:
    world = World()
    world.models.lines = ["Velmora"]
    world.models.decision = Plan.NONE
    world.models.answer = ["I don't know"]
    events = await world.ask(turn("Which shape is it?"))
    assert world.models.calls.of("planner") == ["", "Velmora"]
    first, *later = world.models.calls.of("answer")
    assert (first.values["words"], {request.values["words"] for request in later}) == ("", {"Velmora"})
    assert sum(item.text == "Velmora" for event in events if isinstance(event, EvidenceFound) for item in event.items)


async def test_words_are_read_where_nothing_is_recognised() -> None:
    world = World()
    world.models.lines = ["Velmora"]
    world.resources.knowledge.entries.clear()
    await world.ask(turn("Which shape is it?"))
    assert [request.values["words"] for request in world.models.calls.of("rewrite")] == ["Velmora"]


async def test_words_that_are_known_are_shown_whatever_is_asked() -> None:
    world = World()
    world.models.lines = ["Velmora"]
    await world.ask(turn("What does the sign say?"))
    await world.ask(turn("Which shape is it?"))
    assert world.models.calls.of("planner") == ["Velmora", "Velmora"]


@pytest.mark.parametrize("policy", ["both", "omnisearch+"])
async def test_a_policy_that_does_not_ask_for_words_has_them_read_at_once(policy: str) -> None:
    world = World()
    world.models.lines = ["Velmora"]
    await world.ask(turn("Which shape is it?"), policy)
    assert world.models.calls.of("reader")


@pytest.mark.parametrize(
    ("plan", "question", "read"),
    [
        (Plan.NONE, "Can I park here?", True),
        (Plan.TEXT, "Which floor is the dentist on?", True),
        (Plan.BOTH, "Who designed this?", False),  # it was recognised
        (Plan.NONE, "What colour is it?", False),
        (Plan.NONE, "How many things are there?", False),
        (Plan.TEXT, "Who made the Velmora?", False),
    ],
)
async def test_what_may_stand_in_the_picture_is_read_unless_that_is_looked_up(
    plan: Plan, question: str, read: bool
) -> None:
    world = World()
    world.models.lines, world.models.decision = ["Velmora"], plan
    events = await world.ask(turn(question))
    assert ("read" in stages(events)) is read
    assert world.models.calls.of("planner") == (["", "Velmora"] if read else [""])
    assert sum(isinstance(event, PlanMade) for event in events) == 1


@pytest.mark.parametrize(
    ("question", "looks"),
    [
        ("What colour is the sign?", True),
        ("How many people are there?", True),
        ("What is on the left?", True),
        ("What kind of animal is this?", True),
        ("Is it left, right or in the middle?", True),
        ("What is the man holding?", True),
        ("How many calories are in it?", False),
        ("Where is the exit?", False),
        ("Which animals have to stay outside?", False),
        ("What is this?", False),
    ],
)
def test_questions_about_looks_are_told_from_those_that_words_may_tell(question: str, looks: bool) -> None:
    assert asks_looks(question) is looks
    assert words_may_tell(question) is not looks


@pytest.mark.parametrize(("question", "embedded"), [("What does the sign say?", 0), ("How much does this cost?", 1)])
async def test_nothing_is_embedded_beside_words_that_a_question_asks_for(question: str, embedded: int) -> None:
    world = World()
    world.models.lines, world.models.decision = ["Velmora"], Plan.NONE
    await world.ask(turn(question))
    assert len(world.models.calls.of("image_encoder")) == embedded


@pytest.mark.parametrize(("lines", "plans"), [(["NO ENTRY", "after 6 pm"], [Plan.NONE]), ([], [Plan.NONE, Plan.BOTH])])
async def test_words_that_are_asked_for_are_the_answer_of_quotes_and_cited(lines: list[str], plans: list[Plan]) -> None:
    world = World()
    world.models.lines, world.models.scores = lines, {}
    events = await world.ask(turn("What does this sign say?"), "quote")
    assert [event.plan for event in events if isinstance(event, PlanMade)] == plans
    found = [item for event in events if isinstance(event, EvidenceFound) for item in event.items]
    cited = [item.origin for item in found if item.id in {each.evidence_id for each in done(events).citations}]
    assert (cited == [Origin.READ_TEXT]) is bool(lines)
    assert (done(events).answer == " ".join(lines)) is bool(lines)
