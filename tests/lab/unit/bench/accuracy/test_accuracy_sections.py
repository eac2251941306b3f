"""Rows of the sections on single abilities: comparisons, dialogues, boxes, rounds, pace, rewriting, passages."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bench.accuracy.ground import variant
from bench.accuracy.sections import comparisons, dialogues, dragon, objects, own_passages, pace, rewriting, rounds
from bench.accuracy.several import Turns, accuracy, barred_unseen
from bench.results import Row, at_least
from quizglass_lab.pocketworld.arrangement import boxes
from quizglass_lab.pocketworld.question import Hop
from quizglass_lab.pocketworld.questions import make_sessions
from tests.support.benchmarks.accuracy_turns import QUESTIONS, WORLD, by_name, record, right, turns


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


def test_bars_are_told_again_for_what_no_model_was_trained_on() -> None:
    alone = Turns(QUESTIONS[0], {"a": right(QUESTIONS[0])}, unseen=True)
    other = Turns(QUESTIONS[1], {"a": record("wrong")})

    def rows(asked: Sequence[Turns]) -> list[Row]:
        return [Row("questions", len(asked), ""), at_least("accuracy", accuracy(asked, "a"), "%", 60)]

    (barred,) = barred_unseen(rows, [alone, other])
    assert (barred["name"], barred["value"], barred["ok"]) == ("accuracy", 100, True)
    assert barred_unseen(rows, [other]) == []


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


def test_a_variant_of_a_bundle_lacks_roles_and_has_other_tuning(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    manifest = {"roles": {"detector": {}, "generator": {}}, "evidence": {"seen": 1, "kind_bonus": 0.2}}
    (bundle / "manifest.json").write_text(json.dumps(manifest))
    changed = json.loads(
        (variant(bundle, tmp_path / "v", without=("detector",), kind_bonus=0.0) / "manifest.json").read_text()
    )
    assert changed == {"roles": {"generator": {}}, "evidence": {"seen": 1, "kind_bonus": 0.0}}


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
