"""What a turn's record keeps and tells, and in which round and branch."""

from __future__ import annotations

from dataclasses import replace

from quizglass.values import (
    Confirmed,
    EvidenceFound,
    Origin,
    Plan,
    PlanMade,
    Provisional,
    SkippedStep,
    TurnEvent,
    Withdrawn,
)
from quizglass_server.assistant.turn.branches import in_branches, in_rounds
from quizglass_server.assistant.turn.journal import Journal
from quizglass_server.domain.turns import Evidence


def journal() -> tuple[Journal, list[TurnEvent]]:
    told: list[TurnEvent] = []
    return Journal(told.append), told


def passage(text: str, *, used: bool = False) -> Evidence:
    return Evidence("", Origin.TEXT_SEARCH, "e", "E", text, used=used)


def test_a_proposal_is_settled_once_by_what_is_given_or_by_another_proposal() -> None:
    record, told = journal()
    record.settle("nothing was proposed")
    record.propose("  ")
    record.propose("45 crowns")
    record.propose("1974")
    record.settle(" 1974.")
    record.settle("1974")
    record.propose("green")
    record.settle(None)
    assert told == [
        Provisional("45 crowns"),
        Withdrawn(),
        Provisional("1974"),
        Confirmed(),
        Provisional("green"),
        Withdrawn(),
    ]


def test_what_comes_back_again_keeps_its_number_and_is_told_of_when_it_is_shown_first() -> None:
    record, told = journal()
    record.found([passage("one", used=True), passage("two"), passage("two")])
    again = record.found([passage("two", used=True), passage("one"), passage("three")])
    assert [(item.id, item.used) for item in again] == [("3", True), ("1", False), ("4", False)]
    assert record.found([passage("one", used=True)])[0].id == "1"
    events = [event for event in told if isinstance(event, EvidenceFound)]
    assert [[item.id for item in event.items] for event in events] == [["1", "2", "3"], ["3", "4"]]
    assert [(item.id, item.used) for item in record.evidence] == [("1", True), ("2", False), ("3", True), ("4", False)]


def test_evidence_without_a_search_waits_for_the_first_event() -> None:
    record, told = journal()
    words = replace(passage("Bakery"), origin=Origin.READ_TEXT)
    record.came_along(words)
    assert (told, record.evidence) == ([], [])
    record.emit(PlanMade(Plan.NONE, "fixed"))
    assert [type(event) for event in told] == [PlanMade, EvidenceFound]
    assert record.plan is Plan.NONE
    record.came_along(replace(words, text="Open"))
    assert record.evidence[-1].id == "2"


def test_a_step_is_skipped_once_in_a_round() -> None:
    record, _ = journal()
    record.skip("act", "BUDGET")
    with in_rounds() as current:
        for current_round in (1, 1, 2):
            current.set(current_round)
            record.skip("act", "BUDGET")
            with record.stage("act"):
                pass
    record.skip("act", "FAILED")
    assert record.skipped == [SkippedStep("act", "BUDGET", number) for number in (0, 1, 2)]
    assert [timing.round for timing in record.timings] == [1, 1, 2]


async def test_events_say_where_they_happened() -> None:
    record, told = journal()

    async def tell(name: str) -> str:
        record.emit(Provisional(name))
        return name

    async def both() -> str:
        return "".join(await in_branches([tell("b"), tell("c")]))

    with in_rounds() as current:
        current.set(2)
        assert await in_branches([tell("a"), both()]) == ["a", "bc"]
    await tell("d")
    assert sorted((event.round, event.branch) for event in told) == [(0, ""), (2, "1"), (2, "2.1"), (2, "2.2")]
