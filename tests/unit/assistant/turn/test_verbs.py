"""What each verb of a policy does: on dummy models, with budgets, failures and branches."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

import pytest

from quizglass.values import (
    AbstainReason,
    AnswerDelta,
    Confirmed,
    Decided,
    Done,
    EvidenceFound,
    FinishReason,
    Origin,
    PlanMade,
    Provisional,
    Queries,
    SkippedStep,
    TurnEvent,
    Verdict,
    VerdictOutcome,
    Withdrawn,
)
from quizglass_server.domain.entries import ChunkHit
from quizglass_server.domain.state import Draft, State
from quizglass_server.domain.turns import Evidence
from quizglass_server.errors import EngineFailed, EngineLost
from quizglass_server.policies import POLICIES
from quizglass_server.policies.tools import Tools
from quizglass_server.roles.generator import GenerationRequest
from quizglass_server.scheduling.time_left import Budget
from tests.support.scripted_policy import Scripted, of
from tests.support.turn_fakes import CHUNKS, TAGRIN, World, done, turn


class Action(Enum):
    NONE, TEXT, IMAGE = "none", "text", "image"


async def test_the_generator_decides_by_letters_where_no_decider_has_the_name(ask: Any) -> None:
    world = World()
    chosen: list[Action] = []
    letters: list[Sequence[str]] = []

    async def choose(request: Any, labels: Sequence[str]) -> list[float]:
        letters.append(labels)
        assert (request.task, request.values["draft"], request.values["hint"]) == ("act", "d", "h")
        return [0.1, 0.7, 0.2]

    world.models.choose = choose  # type: ignore[method-assign]

    async def run(tools: Tools) -> Draft:
        state = tools.start().noting(draft="d")
        chosen.append(await tools.decide(Action, state, by="act", otherwise=Action.NONE, hint="h"))
        return await tools.answer(state)

    events = await ask(world, run)
    assert (chosen, letters) == ([Action.TEXT], [[" A", " B", " C"]])
    assert of(Decided, events) == [Decided("act", "text", "prompt", {"none": 0.1, "text": 0.7, "image": 0.2})]
    assert of(PlanMade, events) == []
    assert "act" in [timing.stage for timing in done(events).timings]


class Judge:
    """A verifier with labels of its own."""

    needs: frozenset[str] = frozenset()
    shows_several = False

    def __init__(self, *weighed: tuple[str, float]) -> None:
        self.weighed = list(weighed)
        self.asked: list[str] = []

    async def look_at(self, picture: object) -> None:
        """There is nothing to do."""

    async def probabilities(self, pictures: Any, values: Any) -> list[tuple[str, float]]:
        self.asked.append(values["answer"])
        return self.weighed


async def test_a_decider_decides_and_other_labels_do_not_count(ask: Any) -> None:
    world = World()

    async def run(tools: Tools) -> Draft:
        shown = {"evidence": ["e"], "answer": "a"}
        assert await tools.decide(Action, tools.start(), by="verifier", otherwise=Action.NONE, **shown) is Action.TEXT
        return Draft()

    world.models.deciders["verifier"] = Judge(("text", 0.3), ("other", 0.6), ("image", 0.1))  # type: ignore[assignment]
    decided = of(Decided, await ask(world, run))
    assert decided == [Decided("verifier", "text", "verifier", {"text": 0.3, "image": 0.1})]
    world.models.deciders["verifier"] = Judge(("other", 1.0))  # type: ignore[assignment]
    with pytest.raises(EngineFailed, match="chooses among"):
        await ask(world, run)


async def test_without_time_a_decision_is_what_the_policy_says(ask: Any) -> None:
    world = World()
    world.resources.costs.took("act", 100.0)

    async def run(tools: Tools) -> Draft:
        assert await tools.decide(Action, tools.start(), by="act", otherwise=Action.IMAGE) is Action.IMAGE
        return await tools.answer(tools.start())

    events = await ask(world, run)
    assert of(Decided, events) == [Decided("act", "image", "fixed")]
    assert done(events).skipped == (SkippedStep("act", "BUDGET"),)


async def test_lines_are_told_of_and_fall_back_to_what_is_asked_only_where_they_are_queries(ask: Any) -> None:
    world = World()
    world.models.answer = ["1. Who made it?\n", "2. Who made it?\n\n", "Where?"]
    written: list[list[str]] = []

    async def run(tools: Tools) -> Draft:
        state = tools.start()
        written.append(await tools.lines("split", state))
        written.append(await tools.queries("split", state))
        world.resources.costs.took("split", 1000.0)
        written.append(await tools.lines("split", state))
        written.append(await tools.queries("split", state))
        written.append(await tools.queries("split", state.asking(written[0])))
        return Draft("x", finish=FinishReason.COMPLETE)

    events = await ask(world, run)
    asked = ["Who made it?", "Where?"]
    assert written == [asked, asked, [], [turn().question], asked]
    assert of(Queries, events) == [Queries("split", tuple(asked))] * 2


async def test_intermediate_text_is_not_sent_and_all_tokens_are_counted(ask: Any) -> None:
    world = World()

    async def run(tools: Tools) -> Draft:
        state = tools.start()
        draft = await tools.write("reason", state)
        assert draft == Draft("45 crowns", (0.9, 0.5), FinishReason.COMPLETE, 20, 2)
        await tools.rewrite(state)
        return await tools.answer(state, "reconcile", memory=draft.text)

    events = await ask(world, run)
    assert "".join(event.text for event in of(AnswerDelta, events)) == "45 crowns"
    assert world.models.calls.of("reconcile")[0].values["memory"] == "45 crowns"
    assert (done(events).prompt_tokens, done(events).all_prompt_tokens) == (20, 60)
    assert (done(events).answer_tokens, done(events).all_written_tokens) == (2, 2 + len(world.models.query) + 2)


async def test_what_is_written_to_be_the_answer_is_as_long_and_of_the_form_that_the_question_wants(ask: Any) -> None:
    world = World()

    async def run(tools: Tools) -> Draft:
        for task in ("answer", "draft", "reason", "conclude"):
            await tools.write(task, tools.start())
        return await tools.answer(tools.start(), "reconcile")

    await ask(world, run, asked=replace(turn(), max_answer_tokens=7, answer_grammar='root ::= "a"'))
    requests = {task: request for task, request in world.models.calls.made if isinstance(request, GenerationRequest)}
    del requests["read ahead"]
    bounded = {task for task, request in requests.items() if request.max_tokens == 7}
    formed = {task for task, request in requests.items() if request.constraint is not None}
    assert bounded == formed == {"answer", "draft", "conclude", "reconcile"}


async def test_what_is_cut_off_in_the_middle_was_not_written_and_is_named(ask: Any) -> None:
    world = World()
    world.models.end = "deadline"
    written: list[object] = []

    async def run(tools: Tools) -> Draft:
        written.append((await tools.write("reason", tools.start())).text)
        written.append(await tools.rewrite(tools.start()))
        return await tools.answer(tools.start())

    events = await ask(world, run)
    assert written == ["", [turn().question]]
    assert done(events).skipped == (SkippedStep("reason", "BUDGET"), SkippedStep("rewrite", "BUDGET"))
    assert (done(events).answer, done(events).finish_reason) == ("45 crowns", FinishReason.BUDGET)


async def test_branches_go_on_at_the_same_time_and_say_so(ask: Any) -> None:
    world = World()
    meeting = asyncio.Barrier(2)

    async def side(tools: Tools, by: str) -> str:
        await meeting.wait()
        await tools.decide(Action, tools.start(), by=by, otherwise=Action.NONE)
        return by

    async def deeper(tools: Tools) -> str:
        one, two = await tools.together(side(tools, "b"), side(tools, "c"))
        return one + two

    async def run(tools: Tools) -> Draft:
        assert await tools.together(tools.search_text(["q"]), deeper(tools))
        return await tools.answer(tools.start())

    world.models.choose = lambda request, labels: _scores(labels)  # type: ignore[method-assign]
    events = await ask(world, run)
    assert {(event.by, event.branch) for event in of(Decided, events)} == {("b", "2.1"), ("c", "2.2")}
    assert [event.branch for event in of(EvidenceFound, events)] == ["1"]
    assert {event.branch for event in of(AnswerDelta, events)} == {""}


async def _scores(labels: Sequence[str]) -> list[float]:
    return [1.0 / len(labels)] * len(labels)


@pytest.mark.parametrize("error", [EngineLost("gone"), EngineFailed("broken")])
async def test_a_branch_that_fails_ends_the_other_and_the_turn_with_its_own_error(ask: Any, error: Exception) -> None:
    world = World()
    ended: list[bool] = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async def fails() -> None:
        await asyncio.sleep(0)
        raise error

    async def run(tools: Tools) -> Draft:
        await tools.together(waits(), fails())
        return Draft()

    with pytest.raises(type(error)):
        await ask(world, run)
    assert ended == [True]


async def test_rounds_are_numbered_and_end_when_another_no_longer_fits(ask: Any) -> None:
    world = World()
    world.models.choose = lambda request, labels: _scores(labels)  # type: ignore[method-assign]
    numbers: list[int] = []

    async def run(tools: Tools) -> Draft:
        for number in tools.rounds(5, "act", "text_search"):
            numbers.append(number)
            await tools.decide(Action, tools.start(), by="act", otherwise=Action.NONE)
            await tools.search_text(["q"])
            if number == 2:
                world.resources.costs.took("act", 1000.0)
        return await tools.answer(tools.start())

    events = await ask(world, run)
    assert numbers == [1, 2]
    assert [event.round for event in of(Decided, events)] == [1, 2]
    assert {event.round for event in of(AnswerDelta, events)} == {0}
    assert done(events).skipped == (SkippedStep("rounds", "BUDGET", 3),)
    rounds = [timing.round for timing in done(events).timings if timing.stage == "text_search"]
    assert rounds == [1, 2]
    (told,) = of(EvidenceFound, events)  # what comes back again in the second round is not told of again
    assert told.round == 1


@pytest.mark.parametrize(("bundle", "most"), [({}, None), ({"rounds": 5}, 5)])
async def test_the_bundle_may_say_how_many_rounds_there_are_at_most(
    ask: Any, bundle: dict[str, int], most: int | None
) -> None:
    async def run(tools: Tools) -> Draft:
        assert tools.most_rounds == most
        assert list(tools.rounds(2, "act")) == [1, 2]
        return Draft()

    assert done(await ask(World(**bundle), run, budget_s=60)).skipped == ()


async def test_rounds_that_fit_go_on_to_the_last_and_leave_time_for_the_answer(ask: Any) -> None:
    world = World()
    numbers: list[int] = []

    async def run(tools: Tools) -> Draft:
        numbers.extend(tools.rounds(3, "act"))
        world.resources.costs.took("generate", 59.0)
        world.resources.costs.took("act", 2.0)
        numbers.extend(tools.rounds(3, "act"))
        return Draft()

    await ask(world, run, budget_s=60)
    assert numbers == [1, 2, 3]


@pytest.mark.parametrize("fits", [True, False])
async def test_an_extra_round_is_told_of_as_one_and_leaves_out_what_does_not_fit(ask: Any, fits: bool) -> None:
    world = World()

    async def run(tools: Tools) -> Draft:
        if not fits:
            world.resources.costs.took("split", 1000.0)
        with tools.extra_round("split") as there_is_time:
            assert there_is_time == fits
            if there_is_time:
                await tools.lines("split", tools.start())
        return await tools.answer(tools.start())

    events = await ask(world, run)
    assert [event.round for event in of(Queries, events)] == [1] * fits
    assert {event.round for event in of(AnswerDelta, events)} == {0}
    assert done(events).skipped == (() if fits else (SkippedStep("rounds", "BUDGET", 1),))


async def test_a_provisional_answer_is_confirmed_by_the_same_words(ask: Any) -> None:
    world = World()

    async def run(tools: Tools) -> Draft:
        tools.tell(Draft("45 Crowns."), provisional=True)
        return await tools.answer(tools.start())

    kinds = [type(event) for event in await ask(world, run)]
    assert kinds == [Provisional, AnswerDelta, AnswerDelta, Confirmed, Verdict, Done]


@pytest.mark.parametrize("end", ["other", "refused", "unknown", "cut"])
async def test_a_provisional_answer_is_withdrawn_once_whatever_else_is_given(ask: Any, end: str) -> None:
    world = World()
    if end == "unknown":
        world.models.answer = [" I don't know"]
    if end == "cut":
        world.models.before["answer"] = asyncio.Event().wait

    async def run(tools: Tools) -> Draft:
        draft = tools.tell(Draft("I don't know" if end == "unknown" else "1974"), provisional=True)
        return tools.refuse(draft, AbstainReason.UNSURE) if end == "refused" else await tools.answer(tools.start())

    events = await ask(world, run, budget_s=2.0 if end == "cut" else 60.0)
    assert len(of(Withdrawn, events)) == 1
    assert of(Confirmed, events) == []


@pytest.mark.parametrize(
    ("at", "settled"), [("answer", Withdrawn), ("done", Confirmed)], ids=["while it is written", "once it is settled"]
)
async def test_a_provisional_answer_is_settled_once_when_its_turn_is_cancelled(
    monkeypatch: pytest.MonkeyPatch, at: str, settled: type[TurnEvent]
) -> None:
    world = World()
    seen: list[TurnEvent] = []

    async def never(*_: object) -> None:
        turning.cancel()
        await asyncio.Event().wait()

    if at == "answer":
        world.models.before["answer"] = never

    async def run(tools: Tools) -> Draft:
        tools.tell(Draft("45 crowns"), provisional=True)
        return await tools.answer(tools.start())

    def tell(event: TurnEvent) -> None:
        seen.append(event)
        if isinstance(event, Done):
            turning.cancel()

    monkeypatch.setitem(POLICIES, "cancelled", Scripted(run))
    turning = asyncio.create_task(world.assistant.run(turn(), "cancelled", Budget(60.0), tell))
    with pytest.raises(asyncio.CancelledError):
        await turning
    assert [type(event) for event in seen if isinstance(event, (Confirmed, Withdrawn))] == [settled]


async def test_a_turn_that_fails_withdraws_its_provisional_answer_first(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    seen: list[TurnEvent] = []

    async def run(tools: Tools) -> Draft:
        tools.tell(Draft("1973"), provisional=True)
        tools.tell(Draft("1974"), provisional=True)
        raise EngineLost("gone")

    monkeypatch.setitem(POLICIES, "failing", Scripted(run))
    with pytest.raises(EngineLost):
        await world.assistant.run(turn(), "failing", Budget(60.0), seen.append)
    assert [type(event) for event in seen] == [Provisional, Withdrawn, Provisional, Withdrawn]


@pytest.mark.parametrize(
    "reason",
    [AbstainReason.UNSURE, AbstainReason.UNSUPPORTED, AbstainReason.CONTRADICTED, AbstainReason.INCOMPLETE],
)
async def test_a_refused_draft_is_not_given_and_the_reason_is(ask: Any, reason: AbstainReason) -> None:
    world = World()

    async def run(tools: Tools) -> Draft:
        state = tools.start().having(await tools.search_text(["q"]))
        return tools.refuse(await tools.write("reason", state), reason)

    events = await ask(world, run)
    assert (done(events).answer, done(events).abstain_reason) == ("I don't know", reason)
    assert [event.text for event in of(AnswerDelta, events)] == ["I don't know"]
    assert of(Verdict, events)[0].outcome is VerdictOutcome.ABSTAINED


async def test_a_verifier_that_the_policy_asks_itself_is_not_asked_again(ask: Any) -> None:
    world = World()
    judge = Judge(("supported", 0.2), ("contradicted", 0.8))
    world.models.deciders["verifier"] = judge  # type: ignore[assignment]

    class Judgement(Enum):
        SUPPORTED, CONTRADICTED = "supported", "contradicted"

    async def run(tools: Tools) -> Draft:
        state = tools.start().having(await tools.search_text(["q"]))
        draft = await tools.write("reason", state)
        evidence = [item.text for item in state.found]
        judged = await tools.decide(
            Judgement, state, by="verifier", otherwise=Judgement.SUPPORTED, answer=draft.text, evidence=evidence
        )
        assert judged is Judgement.CONTRADICTED
        return tools.tell(draft)

    events = await ask(world, run)
    assert judge.asked == ["45 crowns"]
    assert of(Verdict, events)[0].outcome is VerdictOutcome.SUPPORTED  # by the words of the evidence


@pytest.mark.parametrize(("p_min", "label"), [(0.9, "supported"), (0.1, "contradicted"), (None, "supported")])
async def test_how_sure_an_answers_tokens_are_counts_beside_the_verifier(
    ask: Any, p_min: float | None, label: str
) -> None:
    world = World(support_accept=0.5, support_certainty=0.5)
    world.models.deciders["verifier"] = Judge(("supported", 0.6), ("contradicted", 0.4))  # type: ignore[assignment]
    said: list[str] = []

    class Judgement(Enum):
        SUPPORTED, CONTRADICTED = "supported", "contradicted"

    async def run(tools: Tools) -> Draft:
        also: dict[str, Any] = {"answer": "45 crowns"} | ({} if p_min is None else {"p_min": p_min})
        judged = await tools.decide(Judgement, tools.start(), by="verifier", otherwise=Judgement.SUPPORTED, **also)
        said.append(judged.value)
        return Draft()

    await ask(world, run)
    assert said == [label]


@pytest.mark.parametrize(("similarity", "label"), [(0, "supported"), (4, "contradicted")])
async def test_how_well_the_entry_matches_the_picture_counts_beside_the_verifier(
    ask: Any, similarity: float, label: str
) -> None:
    match = {"similarity": similarity, "margin": 0, "offset": -similarity}
    world = World(support_accept=0.5, support_match=match)
    world.models.deciders["verifier"] = Judge(("supported", 0.6), ("contradicted", 0.4))  # type: ignore[assignment]
    said: list[str] = []

    class Judgement(Enum):
        SUPPORTED, CONTRADICTED = "supported", "contradicted"

    async def run(tools: Tools) -> Draft:
        state = tools.start().having(await tools.search_image())
        assert 0 < state.seen[0].search_score < 0.89
        judged = await tools.decide(Judgement, state, by="verifier", otherwise=Judgement.SUPPORTED, answer="45 crowns")
        said.append(judged.value)
        return Draft()

    await ask(world, run)
    assert said == [label]


@pytest.mark.parametrize(
    ("line", "certain"),
    [
        ({}, True),
        ({"p_min": 0.5}, True),
        ({"p_min": 0.51}, False),
        ({"p_mean": 0.7}, True),
        ({"p_mean": 0.71}, False),
        ({"line": {"p_min": 0.5, "p_mean": 0.5, "least": 0.6}}, True),
        ({"line": {"p_min": 0.5, "p_mean": 0.5, "least": 0.61}}, False),
        ({"line": {"p_min": 0, "p_mean": 1, "least": 0.7}, "p_min": 0.6}, False),
    ],
)
async def test_a_draft_is_certain_above_the_bundles_line(ask: Any, line: dict[str, Any], certain: bool) -> None:
    world = World(**line)
    said: list[bool] = []

    async def run(tools: Tools) -> Draft:
        said.append(tools.certain(await tools.write("reason", tools.start())))
        said.append(tools.certain(Draft()))
        return Draft()

    await ask(world, run)
    assert said == [certain, not line]


async def test_a_lookup_that_shows_nothing_is_why_nothing_is_known_whatever_was_planned(ask: Any) -> None:
    world = World(rerank_accept=0.95)
    world.models.answer = [" I don't know"]

    async def run(tools: Tools) -> Draft:
        state = tools.start().having(await tools.search_text(["q"]))
        return await tools.answer(state)

    assert done(await ask(world, run)).abstain_reason is AbstainReason.NO_EVIDENCE


@pytest.mark.parametrize("kept", [False, True], ids=["dropped", "kept"])
@pytest.mark.parametrize("streamed", [False, True])
async def test_of_passages_that_say_the_same_the_one_is_cited_that_the_answer_was_written_from(
    ask: Any, kept: bool, streamed: bool
) -> None:
    world = World()
    brought = {"first": ChunkHit(TAGRIN, "The Tagrin costs 45 crowns.", 0.9), "then": CHUNKS[1]}

    async def search_texts(vector: Any, limit: int, words: str = "", finding: object = None) -> list[ChunkHit]:
        return [brought[words]]

    world.knowledge.search_texts = search_texts  # type: ignore[method-assign]

    async def run(tools: Tools) -> Draft:
        before = tools.start().having(await tools.search_text(["first"]))
        state = (before if kept else tools.start()).having(await tools.search_text(["then"]))
        return await tools.answer(state) if streamed else tools.tell(await tools.write("answer", state))

    end = done(await ask(world, run))
    assert (end.answer, [citation.title for citation in end.citations]) == ("45 crowns", ["Velmora"])


async def test_words_in_the_picture_come_after_the_first_thing_that_is_told(ask: Any) -> None:
    world = World()
    world.models.lines = ["Bakery"]
    world.models.choose = lambda request, labels: _scores(labels)  # type: ignore[method-assign]

    async def run(tools: Tools) -> Draft:
        await tools.decide(Action, tools.start(), by="act", otherwise=Action.NONE)
        return await tools.answer(tools.start())

    assert [type(event) for event in await ask(world, run)][:2] == [Decided, EvidenceFound]


def test_a_state_shows_each_text_once_the_newest_first() -> None:
    def item(origin: Origin, text: str, score: float = 0.0) -> Evidence:
        return Evidence("", origin, "e", "E", text, search_score=score)

    first, second, seen = (
        item(Origin.TEXT_SEARCH, "first"),
        item(Origin.TEXT_SEARCH, "second"),
        item(Origin.IMAGE_SEARCH, "first"),
    )
    state = State("q").having([first, seen]).having([second, item(Origin.TEXT_SEARCH, "first", 0.9)])
    assert (state.found, state.seen) == ((second, first), (seen,))
    assert (state.asked, state.asking([]).queries, state.asking(["a", "b"]).asked) == (("q",), (), ("a", "b"))
    assert state.noting(draft="a").noting(memory="b").notes == {"draft": "a", "memory": "b"}
