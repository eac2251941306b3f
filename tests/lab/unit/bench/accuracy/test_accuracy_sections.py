"""The accuracy benchmark's rows, from turns written by hand."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import render
from bench.accuracy import pictured, plots
from bench.accuracy.ground import variant
from bench.accuracy.planner import naming, planning, rules
from bench.accuracy.planner.asking import POLICIES, UNLINKED, Asked
from bench.accuracy.planner.cases import Case, annotate
from bench.accuracy.planner.rows import claims, table
from bench.accuracy.sections import (
    choices,
    comparisons,
    conflicts,
    costs,
    dialogues,
    dragon,
    objects,
    own_passages,
    pace,
    parts,
    published,
    rewriting,
    rounds,
    verifier,
)
from bench.accuracy.several import Turns, accuracy, barred_unseen
from bench.accuracy.turns import spent_ms
from bench.results import Row, at_least
from quizglass.values import Origin
from quizglass_bundle.tuning import Match, Thresholds
from quizglass_lab.pocketworld.arrangement import boxes
from quizglass_lab.pocketworld.dataset import build_world
from quizglass_lab.pocketworld.question import Conflict, Hop, Question
from quizglass_lab.pocketworld.questions import make_questions, make_sessions
from quizglass_lab.scoring.selective import risk_coverage_area
from quizglass_server.domain.turns import Evidence
from quizglass_server.policies import POLICIES as SERVED

WORLD = build_world(4711, 60, format=2)
QUESTIONS = make_questions(WORLD, 24, 4711, format=2)


def record(answer: str = "", **more: Any) -> dict[str, Any]:
    return {
        "answer": answer,
        "abstained": "",
        "plan": "none",
        "query": "",
        "least": 0.5,
        "mean": 0.5,
        "prompt_tokens": 10,
        "all_prompt_tokens": 10,
        "all_written_tokens": 4,
        "timings": [],
        "searches": {"image_search": 0, "text_search": 0},
        "rounds": 0,
        "evidence": [],
        "decided": [],
        "queries": [],
        "boxes": [],
        **more,
    }


def by_name(rows: list[Row]) -> dict[str, Row]:
    return {row.name.partition(" (")[0]: row for row in rows}


def turns(question: Question, **of: dict[str, Any]) -> Turns:
    """A question's turns, by policies as Python spells them: `qa_dragon_plus` is qa-dragon+."""
    return Turns(question, {name.replace("_plus", "+").replace("_", "-"): each for name, each in of.items()})


def right(question: Question, **more: Any) -> dict[str, Any]:
    return record(question.answer, **more)


def case(question: Question, plans: dict[str, str], answers: dict[str, str]) -> Case:
    asked = Asked(question.id)
    for name in (*POLICIES, UNLINKED, "blind", "q_i", "q_g"):
        asked.turns[name] = record(answers.get(name, "wrong"), plan=plans.get(name, "none"))
    return Case(question, asked, unseen=True)


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


def test_comparisons_count_where_both_passages_were_shown() -> None:
    hops = (Hop("text", "How long is the A?", "5 cm", "a", 1), Hop("text", "How long is the B?", "7 cm", "b", 1))
    question = replace(QUESTIONS[0], family="comparison", gold_entries=("a", "b"), hops=hops)
    shown = [["text_search", hop.entry, f"It is {hop.answer} long.", 0.5, 0.5, True] for hop in hops]
    caption = ["image_search", "b", "B is a boat.", 0.5, 0.0, True]
    found = turns(question, both=record(question.answer, evidence=shown))
    missed = turns(question, both=record(evidence=[shown[0], caption]))
    assert [comparisons.compares(each) for each in (question, replace(question, gold_entries=("a",)))] == [True, False]
    every, barred = comparisons.rows([found, missed])
    assert every.value == 50
    assert barred.name.startswith("comparisons with the passages found, always-both (1 of 2 asked)")
    assert (barred.value, barred.ok) == (100, True)
    assert comparisons.rows([missed])[-1].value is None


def test_risk_and_coverage_by_hand() -> None:
    assert risk_coverage_area([0.9, 0.8, 0.1], [True, True, False]) == pytest.approx((0 + 0 + 1 / 3) / 3)
    assert risk_coverage_area([0.1, 0.8, 0.9], [True, True, False]) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert risk_coverage_area([1, 1], [True, False]) == pytest.approx(0.5), "of equal confidence: in any order"
    with pytest.raises(ValueError, match="confidences: 1 for 2 answers"):
        risk_coverage_area([1], [True, False])


def test_the_verifier_trusts_by_support_and_least_what_its_tokens_refuse() -> None:
    question = QUESTIONS[0]
    judged = [{"by": "verifier", "label": "supported", "round": 0, "probabilities": {"supported": 0.9}}]
    sure = turns(
        question, qa_dragon_plus=right(question, decided=judged), qa_dragon_no_verifier_plus=right(question, mean=0.6)
    )
    unsure = turns(
        question,
        qa_dragon_plus=record(abstained="unsure"),
        qa_dragon_no_verifier_plus=record("bad", mean=0.8, least=0.8),
    )
    unasked = turns(question, qa_dragon_plus=record(), qa_dragon_no_verifier_plus=right(question, mean=0.7, least=0.7))
    told = [verifier.confidence(each, Thresholds(support_certainty=1)) for each in (sure, unsure, unasked)]
    assert told == pytest.approx([0.5, -0.2, 0.7])
    told = [verifier.confidence(each, Thresholds()) for each in (sure, unsure, unasked)]
    assert told == pytest.approx([0.9, -0.2, 0.5]), "no model was asked"
    rows = by_name(verifier.rows([sure, unsure, unasked], [unsure], Thresholds()))
    area = rows["area under risk and coverage, by the verifier"]
    assert area.value is not None
    assert area.peer_value is not None
    assert area.value < area.peer_value
    assert rows["unanswerable questions refused, with the verifier"].value == 100
    assert rows["answers that the verifier refused and that were wrong"].value == 100


@pytest.mark.parametrize(("rounds", "share", "trusted"), [(0, 0, 0.2), (1, 0, 0.8), (0, 1, 0.6), (1, 0.5, 0.7101)])
def test_what_the_verifier_said_is_of_the_answer_that_is_counted(rounds: int, share: float, trusted: float) -> None:
    said = [{"by": "verifier", "probabilities": {"supported": supported}} for supported in (0.2, 0.8)]
    plain = record("a", mean=0.7, least=0.6, rounds=rounds)
    turn = turns(QUESTIONS[0], qa_dragon_plus=record("b", decided=said), qa_dragon_no_verifier_plus=plain)
    thresholds = Thresholds(support_certainty=share)
    assert verifier.confidence(turn, thresholds) == pytest.approx(trusted, abs=1e-4)


def test_an_answer_from_an_entry_that_hardly_matches_is_trusted_less() -> None:
    said = [{"by": "verifier", "probabilities": {"supported": 0.8}}]
    match = Match(similarity=10, margin=0, offset=-9)

    def trusted(cosine: float) -> float:
        hits = [["image_search", "t", "", cosine, 0.0, True], ["image_search", "o", "", 0.95, 0.0, False]]
        plain = record("a", mean=0.7, least=0.6, evidence=hits)
        turn = turns(QUESTIONS[0], qa_dragon_plus=record("b", decided=said), qa_dragon_no_verifier_plus=plain)
        return verifier.confidence(turn, Thresholds(support_match=match))

    assert trusted(0.9) == pytest.approx(0.8)
    assert trusted(0.7) < 0.5


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


def test_bars_are_told_again_for_what_no_model_was_trained_on() -> None:
    alone = Turns(QUESTIONS[0], {"a": right(QUESTIONS[0])}, unseen=True)
    other = Turns(QUESTIONS[1], {"a": record("wrong")})

    def rows(asked: Sequence[Turns]) -> list[Row]:
        return [Row("questions", len(asked), ""), at_least("accuracy", accuracy(asked, "a"), "%", 60)]

    (barred,) = barred_unseen(rows, [alone, other])
    assert (barred["name"], barred["value"], barred["ok"]) == ("accuracy", 100, True)
    assert barred_unseen(rows, [other]) == []


def test_conflicts_without_the_policy_still_say_what_the_others_do() -> None:
    question = disputed(0, "stale", "evidence")
    beside = {choices.ORACLE: oracle(question, "wrong", {})}
    asked = [Turns(question, {"none": record("wrong"), "both": right(question), **beside})]
    names = by_name(conflicts.rows(asked, ("none", "both")))
    assert names["memory against evidence, both"].value == 100


def test_later_turns_stand_beside_first_turns_of_their_families() -> None:
    session = make_sessions(WORLD, 1, 1)[:2]
    first, second = session[0], replace(session[1], family=session[0].family)
    asked = [[(1, first, True, False), (2, second, False, False)]]
    whole, row = dialogues.rows(asked)
    assert whole.value == 0
    assert (row.value, row.ok) == (-100, False)
    assert dialogues.by_turn(asked)["2"] == {"questions": 1, "right": 0.0}
    (_, missing) = dialogues.rows([[(1, first, True, False), (2, replace(second, family="other"), True, False)]])
    assert missing.value is None


def test_boxes_count_from_half_overlap_on() -> None:
    question = next(q for q in QUESTIONS if q.target and len(q.scene.things) > 1)
    box = objects.asked_for(question)
    assert box in boxes(question.scene)
    assert box is not None
    assert objects.best_overlap([box], box) == pytest.approx(1)
    assert objects.best_overlap([], box) == 0
    assert objects.best_overlap([(box[0], box[1], (box[0] + box[2]) / 2, box[3])], box) == pytest.approx(0.5)
    hit = [["image_search", question.target, "", 0.5, 0.5, True]]
    with_crops = turns(question, image=record(boxes=[list(box)], evidence=hit))
    alone = turns(question, image=record())
    rows = objects.rows([with_crops], [alone])
    assert [row.ok for row in rows] == [True, None, True]


def test_rounds_compare_cogplanner_with_fixed_pipelines_by_lookups() -> None:
    hops = tuple(Hop("text", f"query {n}", "a", "e", n) for n in range(3))
    many, few = replace(QUESTIONS[0], hops=hops), replace(QUESTIONS[1], hops=())
    queries = [{"task": "reformulate", "round": 1, "texts": ["Query 1", "nonsense"]}]
    timings = [["reformulate", 4.0, 1], ["act", 6.0, 1], ["generate", 5.0, 0]]
    acts = [{"by": "act", "label": label, "round": 1, "probabilities": {}} for label in ("text", "none")]
    good = {"queries": queries, "timings": timings, "decided": acts}
    asked = []
    for question in (many, few):
        of = {p: record("wrong") for p in rounds.POLICIES}
        of |= {p: right(question, **good) for p in (rounds.PARALLEL, rounds.SEQUENTIAL)}
        of[rounds.AGENT] = right(question, searches={"image_search": 0, "text_search": 1}, timings=[["plan", 600.0, 0]])
        of["both"] = record("wrong", searches={"image_search": 1, "text_search": 1})
        of[rounds.OMNI] = record("wrong", searches={"image_search": 1, "text_search": 0})
        asked.append(Turns(question, of))
    rows = by_name(rounds.rows(asked, rounds.POLICIES))
    assert rows["three and more lookups, cogplanner-parallel+"].value == 100
    assert rows["the same minus the best fixed pipeline, cogplanner-parallel+"].value == 100
    assert rows["reformulations equal to a gold query, cogplanner-parallel+"].value == 50
    assert rows["rounds that look something up, on up to one lookup, cogplanner-sequential+"].value == 1
    saved = "search time saved by the planning agent against omnisearch+, one, two and more lookups"
    assert rows[saved].value == pytest.approx(100 * 5 / 6.4)
    assert rows[f"{saved}, less the planner's own time"].value == pytest.approx(100 * 4.4 / 6.4)
    both = saved.replace("omnisearch+", "always-both")
    assert (rows[both].value, rows[both].bar) == (pytest.approx(100 * 6.4 / 7.8), "")
    planning = rows["planning a turn, parallel"]
    assert (planning.value, planning.peer_value, planning.ok) == (6, 10, True)


def test_dragon_bars_hold_where_no_ablation_is_surely_better() -> None:
    direct = [{"by": "search_router", "label": "direct", "round": 0, "probabilities": {}}]
    question = QUESTIONS[0]
    of = {name: record("wrong") for name in (dragon.WHOLE, *dragon.ABLATIONS, *dragon.OTHERS)}
    asked = [Turns(question, of | {dragon.WHOLE: right(question, decided=direct)})] * 4
    rows = by_name(dragon.rows(asked, tuple(of)))
    assert rows["qa-dragon-no-splitting+ minus the whole"].ok
    (idle,) = [
        row
        for row in dragon.rows(asked, tuple(of), {"qa-dragon-no-splitting+"})
        if row.name.startswith("qa-dragon-no-sp")
    ]
    assert (idle.value, idle.ok) == (None, None)
    assert rows["truthfulness, qa-dragon+ minus the best policy without a verifier"].value == 200
    assert rows["accuracy, branch direct"].ok


def test_pace_compares_medians_of_fresh_pictures() -> None:
    assert pace.row([10, 20, 30], [40, 40, 40]).ok
    assert not pace.row([39, 39, 39], [40, 40, 40]).ok
    assert pace.fresh(QUESTIONS[0], 0) != pace.fresh(QUESTIONS[0], 1)


def test_pace_is_told_again_for_what_no_model_was_trained_on() -> None:
    (told,) = pace.alone([10, 20, 90, 90], [40, 40, 10, 10], [True, True, False, False])
    assert (told["value"], told["peer_value"], told["ok"]) == (15, 40, True)
    assert pace.alone([10], [40], [False]) == []


def test_rewriting_has_its_bar_where_the_hit_is_wrong() -> None:
    question = next(each for each in QUESTIONS if each.gold_query and each.image_answer)
    said = dict.fromkeys(rewriting.HITS, question.gold_query)
    (barred,) = [row for row in rewriting.rows([(question, said)]) if row.bar]
    assert (barred.value, barred.ok) == (100, True)
    assert "a wrong hit" in barred.name


def test_claims_have_questions_that_name_their_thing_too() -> None:
    named = replace(QUESTIONS[0], text=f"How old is the {QUESTIONS[0].image_answer}?", history=())
    cases = [case(each, {}, {"both": each.answer}) for each in (named, *QUESTIONS[1:])]
    told = by_name(claims(cases))
    assert all(row.bar for row in told.values())
    assert told["always-both minus always-text on questions that name their thing"].ok


def test_a_variant_of_a_bundle_lacks_roles_and_has_other_tuning(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    manifest = {"roles": {"detector": {}, "generator": {}}, "evidence": {"seen": 1, "kind_bonus": 0.2}}
    (bundle / "manifest.json").write_text(json.dumps(manifest))
    changed = json.loads(
        (variant(bundle, tmp_path / "v", without=("detector",), kind_bonus=0.0) / "manifest.json").read_text()
    )
    assert changed == {"roles": {"generator": {}}, "evidence": {"seen": 1, "kind_bonus": 0.0}}


def test_a_policy_s_costs_count_refusals_searches_and_time() -> None:
    one, two, nothing = QUESTIONS[0], QUESTIONS[1], replace(QUESTIONS[2], answer="I don't know", group=None)
    tokens = {"all_prompt_tokens": 90, "all_written_tokens": 25}
    searching = {"searches": {"image_search": 1, "text_search": 3}, "rounds": 3, **tokens}
    timings = [["text_search", 3.0, 1], ["generate", 8.0, 1], ["text_search", 1.0, 2], ["text_search", 2.0, 3]]
    asked = [
        turns(one, none=right(one, total_ms=100, **searching, timings=timings)),
        turns(two, none=record("wrong", total_ms=200)),
        turns(nothing, none=record("", abstained="UNSURE", total_ms=600)),
    ]
    line = costs.costs_of(asked, "none")
    assert (line["right, %"], line["refused, %"], line["truthfulness"]) == (50, 0, 0)
    assert (line["rounds"], line["image searches"], line["text searches"]) == (1, pytest.approx(1 / 3), 1)
    assert (line["prompt tokens"], line["written tokens"]) == (pytest.approx(110 / 3), 11)
    assert (line["p50, ms"], line["searching, ms"]) == (200, 2)
    assert line["searching by the tariff, s"] == pytest.approx((6.4 + 3 * 1.4) / 3)


def test_parts_are_by_lookups_and_training_with_intervals() -> None:
    hops = tuple(Hop("text", f"query {n}", "a", "e", n) for n in range(4))
    none, many = replace(QUESTIONS[0], hops=()), replace(QUESTIONS[1], hops=hops)
    nothing = replace(QUESTIONS[2], answer="I don't know", group=None)
    balanced = [
        Turns(none, {"both": right(none)}),
        Turns(nothing, {"both": record("I don't know", abstained="MODEL")}),
    ]
    hopping = [
        Turns(many, {"both": record("wrong")}, unseen=True),
        Turns(many, {"both": record("", abstained="MODEL")}, unseen=True),
    ]
    told = parts.parts(balanced, hopping, ("both",))
    assert told["questions"] == {
        "balanced": 2,
        "0 lookups": 1,
        "3+ lookups": 2,
        "trained on": 1,
        "never trained on": 2,
    }
    rights, refusals, worth = (told[measure]["both"] for measure in ("right", "refused", "truthfulness"))
    assert [rights[name][0] for name in told["questions"]] == [100, 100, 0, 100, 0]
    assert [refusals[name][0] for name in told["questions"]] == [0, 0, 50, 0, 50]
    assert worth["balanced"] == (1, 1, 1), "what has no answer is rightly refused"
    assert worth["3+ lookups"] == (-0.5, -1, 0)
    assert all(low <= value <= high for value, low, high in rights.values())
    assert told["families"][many.family]["both"] in (0, 33.3)


def test_parts_and_kinds_of_disputes_are_tables_of_policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "RESULTS", tmp_path)
    assert "Not measured yet" in render.parts("right")
    told = {
        "questions": {"balanced": 9, "1 lookup": 4},
        "right": {"both": {"balanced": [50, 25.5, 75], "1 lookup": [0, 0, 9]}},
    }
    kinds = {"stale": {"questions": 300, "none": 0.0, "oracle entry": 90.5}, "rumour": {"questions": 300, "none": 52.0}}
    data = {"costs": {"parts": told}, "conflicts": {"kinds": kinds}}
    (tmp_path / "accuracy.json").write_text(json.dumps({"data": data}))
    assert render.parts("right").splitlines()[::2] == [
        "| right, of questions | balanced (9) | 1 lookup (4) |",
        "| `both` | 50 (25.5 to 75) | 0 (0 to 9) |",
    ]
    assert render.disputes().splitlines()[2:] == ["| `none` | 0 | 52 |", "| oracle entry | 90.5 |  |"]


def test_costs_are_drawn_and_told_for_every_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "RESULTS", tmp_path)
    line = costs.costs_of([turns(QUESTIONS[0], none=right(QUESTIONS[0], total_ms=9))], "none")
    drawn = plots.accuracy_by_cost({"none": line, "qa-dragon+": line, "qa-dragon-no-verifier+": line}, 1)
    assert drawn.read_bytes().startswith(b"\x89PNG")
    shares = planning.by([case(QUESTIONS[0], {}, {})], lambda each: str(each.question.group))
    assert plots.accuracy(shares, POLICIES).read_bytes().startswith(b"\x89PNG")


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


def test_plots_are_drawn_anew_from_what_is_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published = (plots.RESULTS / "accuracy.json").read_bytes()
    monkeypatch.setattr(plots, "RESULTS", tmp_path)
    (tmp_path / "accuracy.json").write_bytes(published)
    told: list[list[str]] = []
    draw = plots.accuracy
    monkeypatch.setattr(plots, "accuracy", lambda shares, names: told.append([*names]) or draw(shares, names))
    assert [path.read_bytes()[:4] for path in plots.redrawn()] == [b"\x89PNG"] * 2
    assert set(told[0]) <= {*SERVED}, "by the names of now"


def test_what_every_policy_costs_is_asked_of_the_server_s_own_and_those_with_a_plus() -> None:
    assert {"adaptive", "both", "core-mmrag+", "qa-dragon+"} < {*costs.COMPARED}
    assert not {"core-mmrag", "qa-dragon-no-splitting+", "always-both"} & {*costs.COMPARED}


def test_a_published_system_stands_beside_its_plus_and_the_default_with_intervals_of_the_differences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "RESULTS", tmp_path)
    assert "Not measured yet" in render.published()
    searching: dict[str, Any] = {"searches": {"image_search": 0, "text_search": 1}}
    names = ("adaptive", "omnisearch", "omnisearch+", "core-mmrag-top-1")
    asked = [
        Turns(
            one, dict.fromkeys(names, record("?", total_ms=9)) | {"omnisearch+": right(one, total_ms=18, **searching)}
        )
        for one in QUESTIONS
    ]
    nothing = replace(QUESTIONS[0], answer="I don't know", group=None)
    asked.append(Turns(nothing, dict.fromkeys(names, record("?", total_ms=9))))
    told = published.part({7: asked[:12], 8: asked[12:]}, names)
    rows = by_name(list(told.rows))
    row = rows["right, omnisearch+ minus omnisearch"]
    assert (row.value, row.peer_value, row.name) == (
        100,
        0,
        f"{row.name.partition(' (')[0]} (95 % interval 100.0 to 100.0)",
    )
    assert rows["right, adaptive minus core-mmrag-top-1"].value == 0
    assert rows["right, both minus always-both"].peer == "not measured: one of them is not served"
    assert rows["right, adaptive minus always-both"].value is None
    assert told.data["worlds"] == {"7": 12, "8": 12}
    assert told.data["policies"]["omnisearch+"]["right in each world, %"] == [100, 100]
    (tmp_path / "accuracy.json").write_text(json.dumps({"data": {"published": told.data}}))
    head, _, default, line, alone = render.published().splitlines()
    assert "in the worlds 7 (12); 8 (12)" in head
    assert default.startswith("| `adaptive` | 0 | 0; 0 |  |  | 0 |")
    assert line.startswith(
        "| `omnisearch` → `omnisearch+` | 0 → 100 | 0; 0 → 100; 100 | +100.0 to +100.0 | +0.0 to +0.0 | 0 → 0 |"
    )
    assert line.endswith("| 0 → 0.96 | 0 → 1.344 | 9 → 18 | 10 → 10 | 4 → 4 |")
    assert alone.startswith("| `core-mmrag-top-1` | 0 | 0; 0 |  | +0.0 to +0.0 | 0 |")
    with pytest.raises(ValueError, match="no question with an answer"):
        published.part({7: asked[-1:]}, names)


def test_every_published_system_is_asked_with_the_twin_that_it_has() -> None:
    ablations = {name for name in SERVED if name.startswith("qa-dragon-")}
    assert ablations & {*published.PUBLISHED} == {"qa-dragon-chain-of-thought", "qa-dragon-direct-rag"}
    letters = {name for name, policy in SERVED.items() if getattr(policy, "published", False)} - ablations
    assert letters <= {*published.PUBLISHED}
    alone = [name for name in published.PUBLISHED if published.twin(name) is None]
    assert {name.rpartition("-top-")[0] for name in alone if "-top-" in name} == {"core-mmrag", "core-one-stage"}
    assert published.twin("no-search") == "none"
    assert not [name for name in published.PUBLISHED if f"{name}+" in SERVED and published.twin(name) != f"{name}+"]


def test_own_passages_are_told_by_what_questions_need_and_question_by_question() -> None:
    asked = [question for question in QUESTIONS if question.group in ("image", "both")]
    right = [Turns(each, {"image": record(each.answer, prompt_tokens=40)}) for each in asked]
    wrong = [Turns(each, {"image": record("?", prompt_tokens=10)}) for each in asked]
    rows = {row.name.split(" (")[0]: row for row in own_passages.rows(right, [right[0], *wrong[1:]])}
    every = rows["policy image, own_passages 2: right"]
    assert (every.value, every.peer_value) == (100, pytest.approx(100 / len(asked)))
    assert rows["policy image, own_passages 2 over 0"].value == pytest.approx(100 * (1 - 1 / len(asked)))
    tokens = rows["policy image, own_passages 2: prompt tokens, mean"]
    assert (tokens.value, tokens.ratio) == (40, pytest.approx(40 / ((40 + 10 * (len(asked) - 1)) / len(asked))))
    assert own_passages._changed(right, wrong)["worse"] == []
