"""Sources that disagree: who is believed, and which entry is chosen."""

from collections import Counter
from dataclasses import replace
from typing import Any

from bench.accuracy import pictured
from bench.accuracy.sections import choices, conflicts
from bench.accuracy.several import Turns
from quizglass.values import Origin
from quizglass_lab.pocketworld.question import Conflict, Question
from quizglass_server.domain.turns import Evidence
from tests.support.benchmarks.accuracy_turns import QUESTIONS, by_name, record, right


def disputed(number: int, kind: str, source: str) -> Question:
    return replace(QUESTIONS[0], id=str(number), target="t", conflict=Conflict(kind, source, "wrong", "r"))


def oracle(question: Question, answer: str, chosen: dict[str, str], entry: str = "t") -> dict[str, Any]:
    """What is measured beside the policies: the answer from the right entry, and what each way to choose takes."""
    candidates = ["r", "t"]
    return record(answer, entry=entry, candidates=candidates, chosen={choices.PICTURE: "r", **chosen})


def test_conflicts_tell_who_is_believed_and_which_memories_stay() -> None:
    served = conflicts.POLICIES
    kept, lost = disputed(0, "rumour", "memory"), disputed(1, "stale", "evidence")

    def all_of(question: Question, good: tuple[str, ...], entry: str = "t") -> Turns:
        made = {p: right(question) if p in good else record("wrong") for p in served}
        beside = oracle(question, question.answer, {choices.TEXT: "r", choices.JOINT: "t"}, entry)
        return Turns(question, made | {choices.ORACLE: beside})

    asked = [
        all_of(kept, ("none", "core-mmrag+"), entry=""),
        all_of(lost, ("both",)),
        all_of(disputed(2, "near-twin", "text"), ("core-mmrag+",)),
    ]
    rows = by_name(conflicts.rows(asked, served))
    assert rows["core-mmrag+ minus always-memory on memory against evidence"].value == 0
    assert rows["right memories kept, core-mmrag+"].value == 100
    assert rows["the same, minus one-stage's"].value == 100
    with_entry = rows["memory against evidence, oracle entry"]
    assert (with_entry.value, with_entry.peer_value) == (100, 0), "where the store has the right entry"
    assert with_entry.name.endswith("1 questions: 1 stale)")
    table = conflicts.kinds(asked, served)
    assert table["rumour"] == {"questions": 1} | {p: 100.0 if p in ("none", "core-mmrag+") else 0.0 for p in served}
    assert table["stale"]["oracle entry"] == 100


def test_what_is_chosen_counts_where_the_right_entry_was_found() -> None:
    question = disputed(0, "near-twin", "text")
    ways = {choices.TEXT: "t", choices.JOINT: "t"}
    told = [ways, ways | {choices.TEXT: "r", choices.JOINT: "r"}, ways]
    beside = [oracle(question, "wrong", chosen) for chosen in told]
    beside[2]["candidates"] = ["r"]
    of = dict.fromkeys(conflicts.POLICIES, record("wrong"))
    asked = [Turns(question, of | {choices.ORACLE: each}) for each in beside]
    rows = conflicts.rows(asked, conflicts.POLICIES)
    found = "2 questions of 3, the others' right entry was not found"
    shares = {row.name: row.value for row in rows if row.name.startswith("right entry chosen") and found in row.name}
    assert list(shares.values()) == [0, 50, 50], "by picture, by text, jointly"
    row = by_name(rows)["right entry chosen jointly minus the better modality, where picture and text differ"]
    assert (row.name[-3:], row.value, row.peer, row.peer_value, row.ok) == ("(1)", 0, "by text", 100, False)


def test_a_choice_that_the_modalities_make_alike_is_said_not_to_be_measured() -> None:
    question = disputed(0, "near-twin", "text")
    of = dict.fromkeys(conflicts.POLICIES, record("wrong"))
    beside = oracle(question, "wrong", {choices.TEXT: "r", choices.JOINT: "t"})
    rows = by_name(conflicts.rows([Turns(question, of | {choices.ORACLE: beside})], conflicts.POLICIES))
    row = rows["right entry chosen jointly minus the better modality, where picture and text differ"]
    assert (row.value, row.ok) == (None, None)
    assert "not measured" in row.peer
    beside["candidates"] = ["r"]
    rows = by_name(conflicts.rows([Turns(question, of | {choices.ORACLE: beside})], conflicts.POLICIES))
    assert "never among the candidates" in rows["right entry chosen"].peer


def test_the_order_that_tells_nothing_is_the_questions_own() -> None:
    found = [
        Evidence(str(place), Origin.IMAGE_SEARCH, f"entry {place}", "", "", 0.9 - place / 10) for place in range(5)
    ]
    orders = [[each.entry_id for each in choices.without_order(str(number), found)] for number in range(400)]
    assert orders[0] == [each.entry_id for each in choices.without_order("0", found[::-1])]
    first = Counter(order[0] for order in orders)
    assert len(first) == 5
    assert max(first.values()) < 2 * min(first.values()), "the best of the search stands anywhere"


def test_conflicts_without_the_policy_still_say_what_the_others_do() -> None:
    question = disputed(0, "stale", "evidence")
    beside = {choices.ORACLE: oracle(question, "wrong", {})}
    asked = [Turns(question, {"none": record("wrong"), "both": right(question), **beside})]
    names = by_name(conflicts.rows(asked, ("none", "both")))
    assert names["memory against evidence, both"].value == 100


def test_a_choice_with_pictures_stands_beside_captions_alone_in_pairs() -> None:
    right = {
        "captions alone, in the order of the search": [True, True, False, False],
        "pictures and captions, in the order of the search": [True, True, True, False],
        "captions alone, in an order that tells nothing": [True, False, False, False],
        "pictures and captions, in an order that tells nothing": [False, False, False, False],
    }
    told = {row.name.partition(" (")[0]: (row.value, row.unit) for row in pictured.rows(right)}
    assert told["entry chosen by captions alone, in the order of the search"] == (50.0, "%")
    assert told["entry chosen with pictures, minus captions alone, in the order of the search"] == (25.0, "points")
    assert told["entry chosen with pictures, minus captions alone, in an order that tells nothing"] == (-25.0, "points")
