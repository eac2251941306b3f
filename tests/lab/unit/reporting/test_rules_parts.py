"""Benchmarks by the parts that their own papers report, beside figures worked out by hand."""

import pytest

from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.reporting.answers.answered import Answered
from quizglass_lab.reporting.answers.judged import judge_all
from quizglass_lab.reporting.rules.table import all_figures


def parts(samples: list[Sample], answers: list[str], metric: str) -> dict[str, float]:
    answered = [Answered(sample.id, answer) for sample, answer in zip(samples, answers, strict=True)]
    figures = all_figures({"none": judge_all(samples, answered)})
    return {figure.part: figure.value for figure in figures if figure.metric == metric and figure.part}


def test_mmsearch_is_told_by_area_with_the_best_wording_of_each_answer() -> None:
    samples = [
        Sample("1", "When?", ("29 September", "September the 29th"), dataset="mmsearch", category="news"),
        Sample("2", "Who?", ("Ana Brint",), dataset="mmsearch", category="news"),
        Sample("3", "What?", ("a red car",), dataset="mmsearch", category="knowledge"),
    ]
    # News: 1, and one word of two, precision 1: 2/3. Knowledge: "red" of "red car": 2/3.
    found = parts(samples, ["29 September", "Ana", "red"], "f1")
    assert found == {"area: news": pytest.approx(100 * 5 / 6), "area: knowledge": pytest.approx(100 * 2 / 3)}


def test_a_choice_is_told_by_aspect_and_by_scenario() -> None:
    told = {"dataset": "mrag-bench", "choices": ("Oskel",), "domain": "Perspective"}
    samples = [
        Sample("1", "Which?", ("Tandric",), category="Angle", **told),  # type: ignore[arg-type]
        Sample("2", "Which?", ("Tandric",), category="Partial", **told),  # type: ignore[arg-type]
    ]
    assert parts(samples, ["Tandric", "Oskel"], "multiple choice") == {"scenario: Angle": 100, "scenario: Partial": 0}


def test_livevqa_is_told_by_level_and_of_one_part_alone_not_by_part() -> None:
    samples = [
        Sample("1", "What?", ("a debate",), dataset="livevqa", split="news", category="level1"),
        Sample("2", "How many?", ("109,000",), dataset="livevqa", split="news", category="level2"),
    ]
    assert parts(samples, ["a debate", "12"], "accuracy") == {"level: level1": 100, "level: level2": 0}
