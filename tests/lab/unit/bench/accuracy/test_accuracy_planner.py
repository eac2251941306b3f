"""Rows on the planner: its labels, what its searches take, and rules on words beside it."""

from dataclasses import replace

import pytest

from bench.accuracy.planner import naming, rules
from bench.accuracy.planner.cases import annotate
from bench.accuracy.planner.rows import claims, table
from bench.accuracy.turns import spent_ms
from tests.support.benchmarks.accuracy_turns import QUESTIONS, by_name, case, record, right


def test_the_best_rule_on_words_is_the_best_of_three_and_never_sees_its_own_question() -> None:
    one, two = (replace(QUESTIONS[0], id=str(place)) for place in range(2))
    cases = [case(each, {}, {"none": each.answer}) for each in (one, two)]
    assert set(rules.best_by_wording(cases).values()) == {"none"}
    alone = [case(one, {}, {"none": one.answer})]
    assert rules.best_by_wording(alone) == {"0": "both"}, "nothing is known of a wording of its own"


def test_the_table_has_its_bars_for_any_answers() -> None:
    cases = [case(q, {"planning-agent+": "both", "blind": "text"}, {"both": q.answer}) for q in QUESTIONS]
    rows = by_name(table(cases, cases[:2]))
    assert rows["best question-only rule against the annotation"].bar == "<= 60"
    assert rows["planner's label against the annotation, minus the planner without its picture"].bar == ">= 20"
    assert rows["image searches, of always-both's"].bar == "<= 50"


def test_every_search_of_a_turn_takes_its_time() -> None:
    cases = [case(question, {}, {"both": question.answer}) for question in QUESTIONS]
    for each in cases:
        each.asked.turns["omnisearch+"] |= {
            "searches": {"image_search": 1, "text_search": 3},
        }
    rows = by_name(table(cases, cases[:2]))
    told = rows["search time a turn at the paper's 6.4 s and 1.4 s, omnisearch+"]
    assert told.value == pytest.approx(6.4 + 3 * 1.4)


def test_searches_beside_a_rule_are_those_that_the_agent_ran_and_not_those_that_it_planned() -> None:
    cases = [case(q, {"planning-agent+": "none", "blind": "text"}, {"both": q.answer}) for q in QUESTIONS]
    for each in cases[::2]:  # it was not sure of its answer, and looked again
        each.asked.turns["planning-agent+"]["searches"] = {"image_search": 1, "text_search": 0}
    rows = [row for row in table(cases, cases[:2]) if row.name.startswith("questions with a search by")]
    assert {row.name: row.value for row in rows} == {
        "questions with a search by image": 50,
        "questions with a search by text": 0,
    }
    (bar,) = (row for row in rows if row.bar)
    assert bar.ok is (0.8 * (bar.peer_value or 0) >= 50)


def test_time_is_counted_in_every_round_of_a_turn() -> None:
    timings = [["text_search", 9.0, 1], ["plan", 2.0, 0], ["plan", 3.0, 0], ["text_search", 4.0, 2]]
    assert spent_ms(record(timings=timings), ("text_search",)) == 13
    cases = [case(question, {}, {"both": question.answer}) for question in QUESTIONS]
    for each in cases:
        each.asked.turns["planning-agent+"]["timings"] = timings
        each.asked.turns["both"]["searches"] = {"image_search": 1, "text_search": 1}
    told = by_name(table(cases, cases[:2]))[
        "search time saved by the planning agent against always-both, less the planner's own time"
    ]
    assert told.value == pytest.approx(100 * (1 - 0.005 / 7.8))


def test_plans_are_compared_on_the_questions_that_have_a_label() -> None:
    told, other = (replace(QUESTIONS[0], id=str(place), target=None) for place in range(2))
    asked = [
        case(told, {"planning-agent+": "none"}, {"none": told.answer, "q_g": told.answer}),
        case(other, {"planning-agent+": "both"}, {"q_i": other.image_answer, "q_g": other.answer}),
    ]
    labels = [annotate(each) for each in asked]
    assert (labels[0], labels[1]) == ("none", None), "or this test is about nothing"
    rows = by_name(table(asked, asked[:1]))
    for plan, share in (("none", 100), ("both", 0)):
        assert (rows[f"plans chosen: {plan}"].value, rows[f"plans chosen: {plan}"].peer_value) == (share, share)


def test_text_recall_is_distinguished_by_how_many_lookups_a_question_takes() -> None:
    texts = [q for q in QUESTIONS if q.group in ("text", "both") and q.gold_entries]
    several = [q for q in texts if sum(hop.action == "text" for hop in q.hops) > 1]
    cases = [case(q, {}, {}) for q in texts]
    for each in cases:
        each.asked.text_entries = [] if each.question in several else ["another", each.question.gold_entries[-1]]
        each.asked.linked_entries = list(each.question.gold_entries)
        each.asked.turns["both"] = right(each.question)
    rows = by_name(table(cases, cases[:2]))
    assert 0 < len(several) < len(texts), "or this test is about nothing"
    share = 1 - len(several) / len(texts)
    assert rows["text search recall@5 with the gold query"].value == pytest.approx(share)
    assert rows["the same of a turn: names followed, reranked"].value == 1
    for name, alone in (("one text lookup", 1), ("several text lookups", 0)):
        recall, accuracy = rows[f"the same, {name}"], rows[f"accuracy, always-both, {name}"]
        assert (recall.value, recall.peer_value) == (1, alone)
        assert (accuracy.value, accuracy.peer_value) == (100, 0)


def test_questions_that_name_their_thing_compare_always_both_with_always_text() -> None:
    named = replace(QUESTIONS[0], text=f"How old is the {QUESTIONS[0].image_answer}?", history=())
    told = replace(QUESTIONS[1], text="And it?", history=(("What is it?", QUESTIONS[1].image_answer),))
    unnamed = replace(QUESTIONS[2], text="How old is this?", history=())
    cases = [case(each, {}, {"text": each.answer}) for each in (named, told, unnamed)]
    assert [naming.names_its_thing(each) for each in cases] == [True, True, False]
    (row, *_) = naming.rows(cases)
    assert (row.value, row.ok) == (-100, False)


def test_claims_have_questions_that_name_their_thing_too() -> None:
    named = replace(QUESTIONS[0], text=f"How old is the {QUESTIONS[0].image_answer}?", history=())
    cases = [case(each, {}, {"both": each.answer}) for each in (named, *QUESTIONS[1:])]
    told = by_name(claims(cases))
    assert all(row.bar for row in told.values())
    assert told["always-both minus always-text on questions that name their thing"].ok
