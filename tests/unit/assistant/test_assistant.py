"""Whole turns on dummy models: verdicts, abstention, budgets, failures, cancellation."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from itertools import count
from time import monotonic

import pytest

from quizglass.values import (
    AbstainReason,
    AnswerDelta,
    AnswerKind,
    Entry,
    EvidenceFound,
    FinishReason,
    Plan,
    PlanMade,
    QueryRewritten,
    TurnEvent,
    Verdict,
    VerdictOutcome,
)
from quizglass_server.domain.entries import ChunkHit
from quizglass_server.domain.turns import Turn
from quizglass_server.errors import BudgetExceeded, EngineFailed, EngineLost, InvalidInput, Overloaded, RoleMissing
from quizglass_server.roles.reader import READER
from quizglass_server.roles.text_encoder import TEXT_ENCODER
from quizglass_server.scheduling.deadline import deadline
from quizglass_server.scheduling.time_left import Budget
from tests.support.gate import Gate
from tests.support.turn_fakes import World, done, picture, turn


class Clock:
    """Stands still until a step is reached, however slow the machine is: what hangs behind it has little time left."""

    def __init__(self) -> None:
        self._now = 0.0

    def __call__(self) -> float:
        return self._now

    def at(self, seconds: float) -> Callable[[], Awaitable[None]]:
        """What sets it."""

        async def set_it() -> None:
            self._now = seconds

        return set_it


def verdict(events: list[TurnEvent]) -> Verdict:
    return next(event for event in events if isinstance(event, Verdict))


def answer_deltas(events: list[TurnEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, AnswerDelta)]


def failing(error: Exception):
    async def fail() -> None:
        raise error

    return fail


@pytest.mark.parametrize("policy", ["text", "both", "planning-agent+", "planning-agent-reconciled", "core-mmrag+"])
async def test_a_source_that_states_otherwise_is_named_under_every_policy(policy: str) -> None:
    world = World()
    other = Entry("report", "Velmora", "A report on the Velmora.")
    world.knowledge.chunks.append(ChunkHit(other, "The price of the Velmora is 3 crowns.", 0.6))
    world.knowledge.chunks.append(ChunkHit(replace(other, id="copy"), "The Velmora costs 3 crowns.", 0.6))
    events = await world.ask(policy=policy)
    end, checked = done(events), verdict(events)
    found = {item.id: item for event in events if isinstance(event, EvidenceFound) for item in event.items}
    assert (end.answer, checked.outcome) == ("45 crowns", VerdictOutcome.SUPPORTED)
    value, _, numbers = checked.notes["disputed"].partition(" [")
    assert (value, {found[number].entry_id for number in numbers.strip("]").split(", ")}) == (
        "3 crowns",
        {"report", "copy"},
    )


async def test_what_was_found_out_about_a_picture_is_kept_for_its_owner_alone() -> None:
    world = World()
    world.models.lines = ["Bakery"]

    def work() -> dict[str, int]:
        return {role: len(world.models.calls.of(role)) for role in ("gate", "reader", "image_encoder")}

    def shown_by(owner: str) -> Turn:
        asked = turn()
        assert asked.picture is not None
        return replace(asked, picture=replace(asked.picture, owner=owner))

    await world.ask(shown_by("192.0.2.1"))
    once = work()
    assert all(once.values())
    await world.ask(shown_by("192.0.2.1"))
    assert work() == once
    await world.ask(shown_by("192.0.2.2"))
    assert work() == {role: 2 * count for role, count in once.items()}


async def test_printed_words_that_an_entry_contradicts_support_no_answer() -> None:
    world = World()
    world.models.lines = ["The Velmora", "costs 3 crowns"]
    world.models.answer = [" 3", " crowns"]
    checked = verdict(await world.ask())
    assert (checked.outcome, checked.notes["disputed"]) == (VerdictOutcome.UNSUPPORTED, "45 crowns [4]")


async def test_an_answer_streams_and_is_cited() -> None:
    events = await World().ask()
    end = done(events)
    assert answer_deltas(events) == ["45", " crowns"]
    assert (end.answer, end.finish_reason, end.abstain_reason) == (
        "45 crowns",
        FinishReason.COMPLETE,
        AbstainReason.NONE,
    )
    assert verdict(events) == Verdict(VerdictOutcome.SUPPORTED, 0.5, 0.7, kind=AnswerKind.WRITTEN)
    assert [(c.evidence_id, c.entry_id, c.title, c.start, c.end) for c in end.citations] == [
        ("3", "velmora", "Velmora", 0, 9)
    ]
    assert (end.prompt_tokens, end.answer_tokens) == (20, 2)
    stages = {timing.stage: timing for timing in end.timings}
    assert {"read", "embed", "plan", "image_search", "rewrite", "text_search", "rerank", "generate"} <= set(stages)
    assert all(0 <= timing.engine <= timing.duration for timing in end.timings)


async def test_what_the_generator_leaves_to_the_calculator_is_worked_out_as_it_streams() -> None:
    world = World()
    world.models.answer = [" Three", " cost <", "<3", "*45", ">", "> crowns"]
    asked = turn("What do three of them cost?")
    events = await world.ask(asked)
    assert answer_deltas(events) == ["Three", " cost ", "135 crowns"]
    assert done(events).answer == "Three cost 135 crowns"
    assert verdict(events).outcome is VerdictOutcome.SUPPORTED
    assert verdict(events).notes == {"calculated": "3*45 = 135"}
    assert [(c.entry_id, c.start, c.end) for c in done(events).citations] == [("velmora", 11, 14)]


async def test_a_calculation_with_a_number_that_nothing_tells_is_unsupported() -> None:
    world = World()
    world.models.answer = [" <<3*46>> crowns"]
    events = await world.ask(turn("What do three of them cost?"))
    assert done(events).answer == "138 crowns"
    assert verdict(events).outcome is VerdictOutcome.UNSUPPORTED


async def test_a_working_that_never_ends_is_shown_as_it_was_written() -> None:
    world = World()
    world.models.answer = [" 45", " <<", "1 + "]
    events = await world.ask()
    assert done(events).answer == "45 <<1 +"
    assert "".join(answer_deltas(events)) == "45 <<1 + "


@pytest.mark.parametrize(("reason", "finish"), [("length", FinishReason.LENGTH), ("stop", FinishReason.COMPLETE)])
async def test_the_generators_end_is_the_turns_end(reason: str, finish: FinishReason) -> None:
    world = World()
    world.models.end = reason
    assert done(await world.ask(policy="none")).finish_reason is finish


async def test_an_answer_that_no_evidence_holds_is_unsupported_and_one_without_evidence_unchecked() -> None:
    world = World()
    world.models.answer = [" 99 crowns"]
    assert verdict(await world.ask(policy="text")).outcome is VerdictOutcome.UNSUPPORTED
    assert verdict(await world.ask(policy="none")).outcome is VerdictOutcome.UNCHECKED


@pytest.mark.parametrize("words", [["I don't know"], [" I don’t", " know."], [" i DON'T know "]])
async def test_abstaining_is_recognised_however_it_is_spelt(words: list[str]) -> None:
    world = World()
    world.models.answer = words
    events = await world.ask(policy="both")
    end = done(events)
    assert (end.answer, end.abstain_reason, end.citations) == ("I don't know", AbstainReason.MODEL, ())
    assert verdict(events).outcome is VerdictOutcome.ABSTAINED
    assert "".join(answer_deltas(events)) == "".join(words).lstrip()


async def test_abstaining_after_searches_that_brought_nothing_says_so() -> None:
    world = World(image_accept=0.95, rerank_accept=0.95)
    world.models.answer = [" I don't know"]
    assert done(await world.ask(policy="both")).abstain_reason is AbstainReason.NO_EVIDENCE
    assert world.models.calls.of("answer")[0].values["seen"] == []
    assert world.models.calls.of("answer")[0].values["found"] == []
    assert done(await world.ask(policy="none")).abstain_reason is AbstainReason.MODEL


async def test_an_empty_store_is_not_searched() -> None:
    world = World()
    world.knowledge.entries = []
    end = done(await world.ask(policy="both"))
    assert world.knowledge.searches == []
    assert {(s.step, s.reason) for s in end.skipped} == {
        ("image_search", "EMPTY_KNOWLEDGE"),
        ("text_search", "EMPTY_KNOWLEDGE"),
    }


async def test_an_empty_rewrite_searches_nothing() -> None:
    world = World()
    world.models.query = [" "]
    events = await world.ask(policy="text")
    assert world.knowledge.searches == []
    assert [(s.step, s.reason) for s in done(events).skipped] == [("text_search", "NO_QUERY")]
    assert not any(isinstance(event, QueryRewritten) for event in events)


async def test_a_step_whose_usual_cost_no_longer_fits_is_skipped_by_name() -> None:
    world = World()
    world.resources.costs.took("rerank", 100.0)
    world.resources.costs.took("read", 100.0)
    end = done(await world.ask(policy="text", budget_s=60))
    assert {(s.step, s.reason) for s in end.skipped} == {("rerank", "BUDGET"), ("read", "BUDGET")}
    assert end.answer == "45 crowns"
    assert world.models.calls.of("answer")[0].values["found"][0] == "Tagrin: The Tagrin lies in Brenn."


async def test_without_time_to_rewrite_the_question_itself_is_looked_up() -> None:
    world = World()
    world.resources.costs.took("rewrite", 100.0)
    await world.ask(turn("Who founded Tandric?"), policy="text")
    assert world.models.calls.of("text_encoder") == [["Who founded Tandric?"]]


async def test_without_time_to_plan_nothing_is_looked_up() -> None:
    world = World()
    world.resources.costs.took("plan", 100.0)
    events = await world.ask()
    assert isinstance(events[0], PlanMade)
    assert events[0].plan is Plan.NONE
    assert [(s.step, s.reason) for s in done(events).skipped] == [("plan", "BUDGET")]


async def test_engines_know_the_deadline() -> None:
    world, due = World(), {}
    for role in ("planner", "rewrite", "reranker", "answer"):

        async def note(role: str = role) -> None:
            due[role] = deadline()

        world.models.before[role] = note
    world.resources.costs.took("generate", 2.0)
    started = monotonic()
    await world.ask(budget_s=60)
    ended = monotonic()
    assert deadline() is None
    assert all(started + 58 <= due[role] <= ended + 58 for role in ("planner", "rewrite", "reranker"))
    assert started + 59 < due["answer"] <= ended + 60


@pytest.mark.parametrize("error", [Overloaded("no room", 1.0), BudgetExceeded("too late")])
async def test_a_step_that_its_engine_refuses_for_lack_of_time_is_skipped(error: Exception) -> None:
    world = World()
    world.models.before["rewrite"] = failing(error)
    end = done(await world.ask(turn("Who founded Tandric?"), policy="text"))
    assert [(s.step, s.reason) for s in end.skipped] == [("rewrite", "BUDGET")]
    assert world.models.calls.of("text_encoder") == [["Who founded Tandric?"]]


async def test_an_answer_that_the_engine_refuses_for_lack_of_time_is_an_abstention() -> None:
    world = World()
    world.models.before["answer"] = failing(BudgetExceeded("too late"))
    world.resources.costs.took("generate", 40.0)
    end = done(await world.ask(policy="none"))
    assert (end.answer, end.finish_reason) == ("I don't know", FinishReason.BUDGET)
    assert end.abstain_reason is AbstainReason.BUDGET


async def test_an_answer_that_the_engine_has_no_room_for_is_a_refusal() -> None:
    world = World()
    world.resources.costs.took("generate", 40.0)
    world.models.before["answer"] = failing(Overloaded("no room", 1.5))
    with pytest.raises(Overloaded) as refusal:
        await world.ask(policy="none")
    assert refusal.value.retry_after_s == 1.5


@pytest.mark.parametrize("policy", ["planning-agent+", "core-mmrag+"])
async def test_an_answer_in_hand_is_told_where_the_engine_has_no_room_for_another(policy: str) -> None:
    world = World(memory_accept=0.6)  # the least probable token of an answer has 0.5
    world.models.decision = Plan.NONE
    asked = count()

    async def first_alone() -> None:
        if next(asked):
            raise Overloaded("no room", 1.5)

    world.models.before["answer"] = first_alone
    end = done(await world.ask(policy=policy))
    assert end.answer == "45 crowns"
    assert ("generate" if policy != "core-mmrag+" else "draft") in [skipped.step for skipped in end.skipped]


async def test_an_answer_that_the_engine_ends_at_the_deadline_is_learnt_from() -> None:
    world = World()
    world.models.end = "deadline"
    end = done(await world.ask(policy="none"))
    assert (end.answer, end.finish_reason) == ("45 crowns", FinishReason.BUDGET)
    assert world.resources.costs.usual("generate") > 0


async def test_steps_leave_time_for_the_answer() -> None:
    world = World()
    world.resources.costs.took("generate", 59.0)
    world.resources.costs.took("rewrite", 30.0)
    end = done(await world.ask(policy="text", budget_s=60))
    assert [s.step for s in end.skipped] == ["rewrite"]
    assert end.finish_reason is FinishReason.COMPLETE


async def test_a_step_that_hangs_is_cut_off_and_the_answer_still_comes() -> None:
    world, clock = World(), Clock()
    world.resources.costs.took("generate", 30.0)
    world.models.before["text_encoder"] = clock.at(29.9)

    async def hang() -> None:
        await clock.at(29.95)()
        await Gate()()

    world.models.before["reranker"] = hang
    end = done(await world.ask(policy="text", budget_s=60, now=clock))
    assert ("rerank", "BUDGET") in [(s.step, s.reason) for s in end.skipped]
    assert world.models.cancelled == ["reranker"]
    assert end.answer == "45 crowns"
    assert world.resources.costs.usual("rerank") >= 0.04


async def test_the_answer_stops_at_the_budget_and_keeps_what_was_said() -> None:
    world, clock = World(), Clock()
    world.models.before["image_encoder"] = clock.at(59.0)
    world.models.before["token 1"] = Gate()
    events = await world.ask(policy="image", budget_s=60, now=clock)
    end = done(events)
    assert (end.answer, end.finish_reason, end.abstain_reason) == ("45", FinishReason.BUDGET, AbstainReason.NONE)
    assert end.answer_tokens == 1
    assert world.models.cancelled == ["token"]


@pytest.mark.parametrize("budget_s", [0.05, 0.0])
async def test_nothing_said_in_time_is_an_abstention(budget_s: float) -> None:
    world = World()
    world.models.before["answer"] = Gate()
    events = await world.ask(policy="none", budget_s=budget_s)
    end = done(events)
    assert (end.answer, end.finish_reason) == ("I don't know", FinishReason.BUDGET)
    assert end.abstain_reason is AbstainReason.BUDGET
    assert answer_deltas(events) == ["I don't know"]
    assert verdict(events) == Verdict(VerdictOutcome.ABSTAINED, 0.0, 0.0)


@pytest.mark.parametrize("role", ["reader", "reranker"])
@pytest.mark.parametrize("error", [EngineFailed("broken"), ValueError("bug"), TimeoutError()])
async def test_an_optional_step_that_fails_is_skipped(role: str, error: Exception, caplog) -> None:
    world = World()
    world.models.before[role] = failing(error)
    end = done(await world.ask(policy="both"))
    assert [(s.step, s.reason) for s in end.skipped] == [({"reader": "read", "reranker": "rerank"}[role], "FAILED")]
    assert end.answer == "45 crowns"
    assert [record.levelname for record in caplog.records if "failed" in record.message] == ["WARNING"]


@pytest.mark.parametrize("role", ["planner", "image_encoder", "rewrite", "text_encoder", "answer"])
async def test_any_other_failure_ends_the_turn(role: str) -> None:
    world = World()
    world.models.before[role] = failing(EngineFailed("broken"))
    with pytest.raises(EngineFailed, match="broken"):
        await world.ask()
    world.models.before.clear()
    assert done(await world.ask()).answer == "45 crowns"


@pytest.mark.parametrize("role", ["planner", "reader", "reranker", "token 1"])
async def test_a_lost_engine_ends_the_turn_even_in_an_optional_step(role: str) -> None:
    world = World()
    world.models.before[role] = failing(EngineLost("the engine died"))
    with pytest.raises(EngineLost):
        await world.ask()


@pytest.mark.parametrize(
    ("role", "policy"),
    [("planner", "planning-agent+"), ("generator", "none"), ("image_encoder", "image"), ("text_encoder", "text")],
)
async def test_a_missing_role_is_named_before_anything_runs(role: str, policy: str) -> None:
    world = World()
    world.models.put(role, None)
    with pytest.raises(RoleMissing) as refused:
        await world.ask(policy=policy)
    assert refused.value.role == role
    assert world.models.calls.made == []


async def test_without_a_reader_no_words_are_known() -> None:
    world = World()
    world.models[READER] = None
    assert done(await world.ask()).skipped == ()


async def test_an_unknown_policy_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InvalidInput, match=r"planning-agent\+") as refused:
        await World().ask(policy="planing-agent")
    assert refused.value.field == "policy"


@pytest.mark.parametrize("role", ["reader", "planner", "rewrite", "text_encoder", "answer"])
async def test_closing_the_turn_cancels_the_running_step(role: str) -> None:
    world = World()
    gate = world.models.before[role] = Gate()
    before = asyncio.all_tasks()
    async with world.following(turn(), "planning-agent+", Budget(60)) as events:

        async def consume() -> None:
            async for _ in events:
                pass

        consumer = asyncio.create_task(consume())
        await gate.reached.wait()
        consumer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await consumer
    assert world.models.cancelled == [role]
    assert asyncio.all_tasks() == before


async def test_leaving_after_the_first_piece_stops_the_generator() -> None:
    world = World()
    gate = world.models.before["token 1"] = Gate()
    async with world.following(turn(), "none", Budget(60)) as events:
        async for event in events:
            if isinstance(event, AnswerDelta):
                await gate.reached.wait()
                break
    assert world.models.cancelled == ["token"]


async def test_a_failure_while_something_else_runs_leaves_no_task_and_no_lost_exception(caplog) -> None:
    world = World()
    world.models.before["planner"] = failing(EngineFailed("planner broke"))
    world.models.before["image_encoder"] = Gate()
    before = asyncio.all_tasks()
    with pytest.raises(EngineFailed, match="planner broke"):
        await world.ask()
    assert world.models.cancelled == ["image_encoder"]
    assert asyncio.all_tasks() == before


async def test_an_early_embedding_that_fails_unneeded_does_not_hurt(caplog) -> None:
    world = World()
    world.models.decision = Plan.NONE
    world.models.before["image_encoder"] = failing(EngineFailed("broken"))
    with caplog.at_level(logging.DEBUG):
        assert done(await world.ask()).answer == "45 crowns"


async def test_turns_do_not_disturb_each_other() -> None:
    world = World()
    gate = world.models.before["answer"] = Gate()
    tasks = [asyncio.create_task(world.ask()) for _ in range(3)]
    await gate.reached.wait()
    tasks[0].cancel()
    gate.open.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert [done(events).answer for events in results[1:]] == ["45 crowns"] * 2


async def test_a_turn_is_logged_without_its_words(caplog) -> None:
    with caplog.at_level(logging.INFO, "quizglass_server"):
        await World().ask(turn("a secret question"))
    (record,) = caplog.records
    assert record.message == "turn finished"
    assert record.plan == "both"
    assert "secret" not in str(vars(record))
    assert "crowns" not in str(vars(record))


@pytest.mark.parametrize(
    ("broken", "logged"),
    [
        ((), "turn finished"),
        (("reader", "reranker"), "step failed"),
        (("image_encoder",), "not waited for"),
        (("text_encoder",), "turn failed"),
        (("answer",), "turn failed"),
    ],
)
async def test_no_word_of_a_turn_is_logged_for_debugging_either(broken: tuple[str, ...], logged: str, caplog) -> None:
    world = World()
    world.models.lines = ["legible"]
    if broken == ("image_encoder",):
        world.models.decision = Plan.NONE  # so that no step waits for it
    for role in broken:
        world.models.before[role] = failing(EngineFailed("broken"))
    with caplog.at_level(logging.DEBUG), suppress(EngineFailed):
        await world.ask(turn("the cost of a secret question"))
    written = [f"{logging.Formatter().format(record)} {vars(record)}" for record in caplog.records]
    assert any(logged in text for text in written)
    said = ("secret", "legible", "crowns", "how much", "velmora")
    assert [(word, text) for word in said for text in written if word in text.lower()] == []


async def test_search_by_text_by_picture_and_by_both() -> None:
    world = World()
    by_text = await world.assistant.search("price", None, 2)
    by_picture = await world.assistant.search("", picture(), 5)
    by_both = await world.assistant.search("price", picture(), 5)
    assert [(item.id, item.entry_id) for item in by_text] == [("1", "tagrin"), ("2", "velmora")]
    assert [(item.entry_id, item.search_score) for item in by_picture] == [("velmora", 0.8), ("tagrin", 0.4)]
    assert [item.entry_id for item in by_both] == ["velmora", "tagrin"]
    assert [item.search_score for item in by_both] == pytest.approx([1.6, 1.3])
    with pytest.raises(InvalidInput):
        await world.assistant.search("", None, 5)


async def test_search_names_the_missing_encoder() -> None:
    world = World()
    world.models[TEXT_ENCODER] = None
    with pytest.raises(RoleMissing, match="text_encoder"):
        await world.assistant.search("price", None, 5)
