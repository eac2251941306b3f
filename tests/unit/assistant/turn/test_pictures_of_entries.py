"""Prompts that show the pictures of entries beside the wearer's: which, brought when, and what goes on without them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from quizglass.values import Decided, Entry, Origin, SkippedStep, StepEnded, TurnEvent
from quizglass_bundle.inputs.prompts import EXAMPLE
from quizglass_server.assistant.turn.journal import Journal
from quizglass_server.assistant.turn.runner import StepRunner
from quizglass_server.assistant.turn.toolbox import LIST, Toolbox
from quizglass_server.domain.entries import ChunkHit, EntryHit
from quizglass_server.domain.state import State
from quizglass_server.domain.turns import Evidence, GenerationEnd, Picture, Token
from quizglass_server.errors import BudgetExceeded, InvalidInput, KnowledgeFailed, Overloaded
from quizglass_server.policies.core_mmrag import Entry as Choice
from quizglass_server.policies.tools import Tools
from quizglass_server.roles.generator import GenerationRequest
from quizglass_server.scheduling.time_left import Budget
from quizglass_server.steps.decide import ask_letter
from quizglass_server.steps.generate import write
from tests.support.turn_fakes import Models, World, done, picture, turn

FRAME = turn().picture


def digest(number: int) -> bytes:
    return bytes([number]) * 32


def entry(number: int, *, pictured: bool = True) -> EntryHit:
    shown = (digest(number), b"another view" + bytes(20)) if pictured else ()
    return EntryHit(Entry(f"e{number}", f"Entry {number}", "a thing", picture_sha256=shown), 0.9 - 0.01 * number)


class Shelf:
    """Pictures of entries, and which were asked for."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.missing: set[bytes] = set()
        self.fails: Exception | None = None

    async def picture(self, sha256: bytes) -> Picture | None:
        self.asked.append(sha256)
        if self.fails is not None:
            raise self.fails
        return None if sha256 in self.missing else replace(picture(sha256[0]), sha256=sha256)


class Shown(World):
    """Eight entries with pictures, and prompts that show them."""

    def __init__(self, *comparing: str, count: int = 8, **tuning: Any) -> None:
        super().__init__(image_candidates=count, **tuning)
        self.knowledge.entries = [entry(number) for number in range(count)]
        self.models.comparing = comparing
        self.shelf = Shelf()
        self.resources = replace(self.resources, pictures=self.shelf)
        self.assistant = type(self.assistant)(self.resources)

    def shown(self, task: str) -> list[bytes]:
        """Of the last prompt of that name: its pictures besides the wearer's, which comes first."""
        frame, *others = self.models.calls.of(task)[-1].pictures
        assert frame == FRAME
        return [other.sha256 for other in others]


def toolbox(world: Shown, budget_s: float = 60.0) -> tuple[Toolbox, Journal]:
    journal = Journal(lambda _: None)
    runner = StepRunner(Budget(budget_s), world.resources, journal, "a test")
    return Toolbox(turn(), runner, world.resources, journal), journal


async def test_select_looks_at_the_pictures_and_texts_of_the_five_best_together() -> None:
    world = Shown("select", seen=1)
    events = await world.ask(policy="core-mmrag+")
    (asked,) = world.models.calls.of("choose")
    assert [shown.sha256 for shown in asked.pictures[1:]] == [digest(number) for number in range(5)]
    assert asked.values["seen"] == [f"Entry {number}: a thing" for number in range(5)]
    stages = [timing.stage for timing in done(events).timings]
    assert stages.count("entry_pictures") == 1
    assert stages.index("entry_pictures") < stages.index("select")
    assert world.shown("answer") == []  # its prompt shows the wearer's picture alone


async def test_pictures_for_a_text_are_shown_behind_those_of_entries_seen_and_count_as_found_by_text() -> None:
    world = Shown("answer", seen=2)
    hits = [entry(7), entry(6, pictured=False), entry(7), entry(5), entry(4)]
    world.knowledge.chunks = [ChunkHit(hit.entry, f"passage {place}", 0.8) for place, hit in enumerate(hits)]
    tools, journal = toolbox(world)
    async with tools:
        state = tools.start().having(await tools.search_image())
        shown = await tools.search_pictures(["a boat"])
        await tools.answer(state.picturing(shown))
    assert [(item.entry_id, item.origin, item.text) for item in shown] == [
        ("e7", Origin.TEXT_SEARCH, "a thing"),
        ("e5", Origin.TEXT_SEARCH, "a thing"),
    ]
    assert world.shown("answer") == [digest(number) for number in (0, 1, 7, 5)]
    assert world.models.calls.of("answer")[-1].values["pictured"] == ["Entry 7: a thing", "Entry 5: a thing"]
    assert [timing.stage for timing in journal.timings].count("picture_by_text") == 1


async def test_pictures_for_no_text_are_not_looked_up() -> None:
    tools, journal = toolbox(Shown("answer"))
    async with tools:
        assert await tools.search_pictures([]) == []
    assert journal.skipped == [SkippedStep("picture_by_text", "NO_QUERY")]


async def test_omnisearch_has_the_tool_only_where_a_prompt_shows_what_it_brings() -> None:
    offered = []
    for names in (frozenset(EXAMPLE), frozenset(EXAMPLE) - {"pictured"}):
        world = Shown("answer")
        world.models.needs = names
        events = await world.ask(policy="omnisearch")
        decided = next(event for event in events if isinstance(event, Decided) and event.by == "next")
        offered.append(list(decided.probabilities))
    assert offered == [["answer", "image", "text", "pictures"], ["answer", "image", "text"]]


class Chooser:
    """A decider that remembers the pictures that it was shown."""

    needs = frozenset[str]()

    def __init__(self, *, shows_several: bool) -> None:
        self.shows_several = shows_several
        self.asked: list[list[bytes]] = []
        self.says = [("2", 0.9), ("none", 0.1)]

    async def look_at(self, picture: Picture) -> None:
        """There is nothing to do."""

    async def probabilities(self, pictures: Sequence[Picture], values: object) -> list[tuple[str, float]]:
        frame, *others = pictures
        assert frame == FRAME
        self.asked.append([other.sha256 for other in others])
        return self.says


@pytest.mark.parametrize(("shows_several", "shown"), [(True, 5), (False, 0)])
async def test_a_decider_is_shown_the_pictures_of_entries_where_its_prompt_shows_them(
    shows_several: bool, shown: int
) -> None:
    world = Shown("select")
    world.models.deciders["select"] = chooser = Chooser(shows_several=shows_several)
    events = await world.ask(policy="core-mmrag+")
    assert chooser.asked == [[digest(number) for number in range(shown)]]
    assert [timing.stage for timing in done(events).timings].count("entry_pictures") == bool(shown)
    assert done(events).skipped == ()


async def test_entries_that_share_what_speaks_for_one_of_them_are_not_taken_for_none() -> None:
    world = Shown("select")
    world.models.deciders["select"] = chooser = Chooser(shows_several=False)
    chooser.says = [("1", 0.28), ("2", 0.3), ("none", 0.42)]
    events = await world.ask(policy="core-mmrag+")
    assert [each.label for each in events if isinstance(each, Decided)] == ["2"]


async def test_a_decider_goes_on_without_pictures_that_fail_and_says_how_many_it_was_shown() -> None:
    world, told = Shown(), list[TurnEvent]()
    world.models.deciders["select"] = chooser = Chooser(shows_several=True)
    journal = Journal(told.append, explains=True)
    runner = StepRunner(Budget(60.0), world.resources, journal, "a test")
    async with Toolbox(turn(), runner, world.resources, journal) as tools:
        state = tools.start().having(await tools.search_image(limit=3))
        await tools.decide(Choice, state, by="select", otherwise=Choice.NONE)
        world.shelf.fails = KnowledgeFailed("broken")
        unlike = replace(state, seen=state.seen[:2])
        await tools.decide(Choice, unlike, by="select", otherwise=Choice.NONE)
    assert (chooser.asked, journal.skipped) == (
        [[digest(0), digest(1), digest(2)], []],
        [SkippedStep("entry_pictures", "FAILED")],
    )
    first, second = [event for event in told if isinstance(event, StepEnded) and event.name == "select"]
    assert ("pictures of entries", "3") in [(each.label, each.text) for each in first.inputs]
    assert "pictures of entries" not in [each.label for each in second.inputs]


async def test_evidence_names_the_first_picture_of_its_entry() -> None:
    world = Shown()
    world.knowledge.chunks = [replace(chunk, entry=entry(3).entry) for chunk in world.knowledge.chunks]
    world.knowledge.entries = [entry(1), entry(2, pictured=False)]
    seen, found = [], []
    tools, _ = toolbox(world)
    async with tools:
        seen = await tools.search_image(limit=2)
        found = await tools.search_text(["q"])
    assert [item.picture for item in seen] == [digest(1), b""]
    assert {item.picture for item in found} == {digest(3)}


async def test_prompts_that_show_the_wearers_picture_alone_cost_no_more() -> None:
    world = Shown("select")
    tools, journal = toolbox(world)
    async with tools:
        state = tools.start().having(await tools.search_image(limit=5))
        await tools.answer(state)
    assert (world.shelf.asked, world.shown("answer")) == ([], [])
    assert "entry_pictures" not in [timing.stage for timing in journal.timings]


async def test_at_most_six_are_shown_and_brought_once_for_all_prompts_of_a_turn() -> None:
    world = Shown("answer", "reformulate", "act")
    tools, journal = toolbox(world)
    async with tools:
        state = tools.start().having(await tools.search_image(limit=8))
        await tools.together(
            tools.lines("reformulate", state), tools.decide(Choice, state, by="act", otherwise=Choice.NONE)
        )
        await tools.answer(state)
        wanted = [digest(number) for number in range(6)]
        assert world.shown("answer") == world.shown("reformulate") == world.shown("choose") == wanted
        assert world.shelf.asked == wanted
        await tools.answer(tools.start())
        assert world.shown("answer") == []
    assert [timing.stage for timing in journal.timings].count("entry_pictures") == 1


async def test_pictures_stay_with_their_lines_up_to_the_first_that_cannot_be_shown() -> None:
    world = Shown("answer")
    world.shelf.missing = {digest(2)}
    world.knowledge.entries[4] = entry(4, pictured=False)
    tools, _ = toolbox(world)
    async with tools:
        state = tools.start().having(await tools.search_image(limit=8))
        await tools.answer(state)
        assert (world.shown("answer"), world.shelf.asked) == ([digest(0), digest(1)], [digest(at) for at in range(4)])
        unseen = replace(state, seen=tuple(item for item in state.seen if not item.picture))
        await tools.answer(unseen)
        assert world.shown("answer") == []


@pytest.mark.parametrize(
    ("error", "reason"),
    [(Overloaded("full", 1.0), "BUDGET"), (BudgetExceeded("late"), "BUDGET"), (KnowledgeFailed("broken"), "FAILED")],
)
async def test_without_the_pictures_a_prompt_goes_on_with_captions(error: Exception, reason: str) -> None:
    world = Shown("answer")
    world.shelf.fails = error
    tools, journal = toolbox(world)
    async with tools:
        await tools.answer(tools.start().having(await tools.search_image(limit=3)))
    assert (world.shown("answer"), journal.skipped) == ([], [SkippedStep("entry_pictures", reason)])
    assert len(world.models.calls.of("answer")[-1].values["seen"]) == 3


async def test_a_turn_that_is_explained_says_how_many_pictures_were_shown() -> None:
    world, told = Shown("answer"), list[TurnEvent]()
    world.shelf.missing = {digest(2)}
    journal = Journal(told.append, explains=True)
    runner = StepRunner(Budget(60.0), world.resources, journal, "a test")
    async with Toolbox(turn(), runner, world.resources, journal) as tools:
        await tools.answer(tools.start().having(await tools.search_image(limit=3)))
    steps = {event.name: event for event in told if isinstance(event, StepEnded)}
    brought = steps["entry_pictures"]
    assert [(each.label, each.text) for each in (*brought.inputs, *brought.outputs)] == [
        ("wanted", "3"),
        ("shown", "2"),
    ]
    assert ("pictures of entries", "2") in [(each.label, each.text) for each in steps["generate"].inputs]


async def test_pictures_that_leave_no_time_for_the_answer_are_not_brought() -> None:
    world = Shown("answer")
    world.resources.costs.took("entry_pictures", 100.0)
    tools, journal = toolbox(world)
    async with tools:
        await tools.answer(tools.start().having(await tools.search_image(limit=3)))
    assert (world.shelf.asked, journal.skipped) == ([], [SkippedStep("entry_pictures", "BUDGET")])


async def test_a_question_without_a_picture_shows_none() -> None:
    world = Shown("answer")
    journal = Journal(lambda _: None)
    runner = StepRunner(Budget(60.0), world.resources, journal, "a test")
    async with Toolbox(turn(shown=False), runner, world.resources, journal) as tools:
        seen = Evidence("1", Origin.IMAGE_SEARCH, "e", "E", "text", picture=digest(1))
        await tools.answer(tools.start().having([seen]))
    assert (world.models.calls.of("answer")[-1].pictures, world.shelf.asked) == ((), [])


async def test_lists_are_written_as_lines_and_a_rewriting_as_it_comes() -> None:
    world = Shown()
    tools, _ = toolbox(world)
    async with tools:
        await tools.lines("split", tools.start())
        await tools.rewrite(tools.start())
        await tools.write("reason", tools.start())
    asked = {task: world.models.calls.of(task)[-1].constraint for task in ("split", "rewrite", "reason")}
    assert asked == {"split": LIST, "rewrite": None, "reason": None}


async def test_everything_that_models_read_is_counted() -> None:
    world = World()
    world.models.reads = {"planner": 30, "reranker": 400, "choose": 7}
    assert done(await world.ask()).all_prompt_tokens == 30 + 400 + 2 * 20  # rewriting and answer
    assert done(await world.ask(policy="prompt-based+")).all_prompt_tokens == 7 + 400 + 2 * 20


class Small(Models):
    """Refuses prompts with more than `most` pictures or any dialogue."""

    def __init__(self, most: int, error: Exception, *, dialogue: bool = True) -> None:
        super().__init__()
        self.most, self.error, self.dialogue = most, error, dialogue
        self.tried: list[tuple[int, int]] = []

    def _check(self, request: GenerationRequest) -> None:
        history: Any = request.values.get("history") or ()
        self.tried.append((len(request.pictures), len(history)))
        if len(request.pictures) > self.most or (history and not self.dialogue):
            raise self.error

    async def choose(self, request: GenerationRequest, labels: Sequence[str]) -> list[float]:
        self._check(request)
        return await super().choose(request, labels)

    async def generate(self, request: GenerationRequest) -> AsyncIterator[Token | GenerationEnd]:
        self._check(request)
        async with aclosing(super().generate(request)) as pieces:
            async for piece in pieces:
                yield piece


REQUEST = GenerationRequest("answer", {"history": [{"question": "q", "answer": "a"}]}, (picture(), picture(1)))


@pytest.mark.parametrize("error", [InvalidInput("question", "too long"), BudgetExceeded("late"), Overloaded("busy", 1)])
async def test_a_prompt_that_is_too_much_with_the_pictures_of_entries_goes_without(error: Exception) -> None:
    for step in (lambda models: write(models, REQUEST), lambda models: ask_letter(models, REQUEST, ["a", "b"])):
        models = Small(1, error)
        await step(models)
        assert models.tried == [(2, 1), (1, 1)]
        models = Small(0, error)
        with pytest.raises(type(error)):
            await step(models)
        assert models.tried == [(2, 1), (1, 1), (1, 0)] if isinstance(error, InvalidInput) else [(2, 1), (1, 1)]


async def test_a_grammar_that_cannot_be_used_is_not_tried_with_a_shorter_prompt() -> None:
    models = Small(0, InvalidInput("answer_grammar", "no grammar"))
    with pytest.raises(InvalidInput, match="no grammar"):
        await write(models, REQUEST)
    assert models.tried == [(2, 1)]


async def test_a_decision_that_does_not_fit_loses_its_older_dialogue_too() -> None:
    models = Small(1, InvalidInput("question", "too long"), dialogue=False)
    assert len(await ask_letter(models, REQUEST, ["a", "b"])) == 2
    assert models.tried == [(2, 1), (1, 1), (1, 0)]


async def test_leaving_a_turn_ends_what_brings_pictures() -> None:
    world = Shown("answer")
    begun, ended = asyncio.Event(), asyncio.Event()

    async def waits(sha256: bytes) -> Picture | None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return None

    world.shelf.picture = waits  # type: ignore[method-assign]
    tools, _ = toolbox(world)

    async def run(tools: Tools, state: State) -> None:
        await tools.answer(state)

    async with tools:
        state = tools.start().having(await tools.search_image(limit=1))
        task = asyncio.create_task(run(tools, state))
        await begun.wait()
        task.cancel()
        await asyncio.wait({task})
    assert ended.is_set()
