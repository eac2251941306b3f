"""Two systems over the same twenty questions: differences by hand, with paired intervals."""

from pathlib import Path

import pytest

from quizglass_lab.cli import main
from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.reporting.answers.answered import Answered
from quizglass_lab.reporting.answers.judged import ScoredAnswer, judge_all
from quizglass_lab.reporting.answers.measured import Measured
from quizglass_lab.reporting.rules.table import all_figures
from quizglass_lab.scoring.costs import TurnCost
from tests.support.benchmarks import files, writing

# Right by the plain policy and by the one with additions: 12 both, 1 plain alone, 4 additions alone, 3 neither.
TWENTY = [(True, True)] * 12 + [(True, False)] + [(False, True)] * 4 + [(False, False)] * 3


def run(place: int, cost: TurnCost, refusal: str = "Ben") -> list[ScoredAnswer]:
    samples = [Sample(str(number), "Who?", ("Ana",)) for number in range(20)]
    said = ["Ana" if right[place] else refusal for right in TWENTY]
    answers = [Answered(str(number), answer, cost=cost) for number, answer in enumerate(said)]
    return judge_all(samples, answers)


def figures(against: str = "", *, whole: bool = True) -> dict[tuple[str, str], Measured]:
    runs = {"both": run(0, TurnCost(1, 1), "I don't know"), "omnisearch+": run(1, TurnCost(1, 2))}
    if whole:
        runs["omnisearch"] = run(0, TurnCost(1, 1))
    return {(each.row, each.metric): each for each in all_figures(runs, against) if " beyond " in each.metric}


def test_additions_stand_beside_the_policy_without_them() -> None:
    found = figures()
    by_hand = {
        ("omnisearch+", "accuracy beyond omnisearch"): (15.0, "points"),  # 16 less 13 of 20
        ("omnisearch+", "truthfulness beyond omnisearch"): (30.0, "points"),  # each is a step from -1 to 1
        ("omnisearch+", "f1 beyond omnisearch"): (15.0, "points"),
        ("omnisearch+", "search time beyond omnisearch"): (1.4, "s"),
    }
    assert {key: (pytest.approx(each.value), each.unit) for key, each in found.items()} == by_hand
    accuracy = found["omnisearch+", "accuracy beyond omnisearch"]
    # Standard error in pairs: root of (5 / 20 - 0.15^2) / 20, 10.7 points; of two independent shares it would be 13.9.
    assert accuracy.low == pytest.approx(15 - 1.96 * 10.7, abs=6)
    assert accuracy.high == pytest.approx(15 + 1.96 * 10.7, abs=6)


def test_pipelines_with_additions_stand_beside_those_that_always_do_the_same() -> None:
    runs = {"both": run(1, TurnCost(1, 1)), "always-both": run(0, TurnCost(1, 1))}
    found = {(each.row, each.metric): each.value for each in all_figures(runs) if " beyond " in each.metric}
    assert found["both", "accuracy beyond always-both"] == pytest.approx(15)
    assert {row for row, _ in found} == {"both"}


def test_qa_dragon_without_a_part_stands_beside_the_whole() -> None:
    cost = TurnCost(1, 1)
    runs = {"qa-dragon": run(1, cost), "qa-dragon-no-splitting": run(0, cost), "qa-dragon-no-splitting+": run(0, cost)}
    found = {(each.row, each.metric): each.value for each in all_figures(runs) if "accuracy beyond " in each.metric}
    assert found == {
        ("qa-dragon-no-splitting", "accuracy beyond qa-dragon"): pytest.approx(-15),
        ("qa-dragon-no-splitting+", "accuracy beyond qa-dragon-no-splitting"): 0,
    }


def test_all_rows_stand_beside_the_one_that_is_named() -> None:
    found = figures("both", whole=False)
    assert {row for row, _ in found} == {"omnisearch+"}
    # Refusals of "both" count 0 where wrong answers count -1: (16 - 4) / 20 less 13 / 20.
    assert found["omnisearch+", "truthfulness beyond both"].value == pytest.approx(-5)
    assert {metric for _, metric in figures("omnisearch") if metric.startswith("accuracy")} == {
        "accuracy beyond omnisearch"
    }


def test_a_row_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(files.plain(tmp_path)[0])
    file = writing.write_lines(tmp_path / "a.jsonl", [{"id": "p-1", "answer": "1889"}, {"id": "p-2", "answer": ""}])
    assert main(["score", "plain", path, "--answers", f"both={file}", "--against", "none"]) == 2
    assert "--against none: expected one of the rows both" in capsys.readouterr().err
