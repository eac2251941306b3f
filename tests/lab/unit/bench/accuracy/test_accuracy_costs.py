"""What every policy costs and is right in, by kinds of questions: tables and plots."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bench import render
from bench.accuracy import plots
from bench.accuracy.planner import planning
from bench.accuracy.planner.asking import POLICIES
from bench.accuracy.sections import costs, parts
from bench.accuracy.several import Turns
from quizglass_lab.pocketworld.question import Hop
from quizglass_server.policies import POLICIES as SERVED
from tests.support.benchmarks.accuracy_turns import QUESTIONS, case, record, right, turns


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
