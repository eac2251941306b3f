"""Every figure of the papers' tables can be measured, or says why it cannot."""

import io
from dataclasses import fields

import pytest
from rich.console import Console

from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.reporting.answers.answered import Answered, AnswerTrace, Decision, FoundEntry, Stage
from quizglass_lab.reporting.answers.judged import ScoredAnswer, judge_all
from quizglass_lab.reporting.answers.measured import Measured
from quizglass_lab.reporting.answers.sample_scores import Scorers
from quizglass_lab.reporting.average import averaged
from quizglass_lab.reporting.papers import left_out, paper_figures, systems
from quizglass_lab.reporting.report import beside_papers, not_measured, show
from quizglass_lab.reporting.rules.table import NEEDS, all_figures
from quizglass_lab.scoring.costs import TurnCost
from quizglass_lab.scoring.judge import ModelJudge
from quizglass_server.policies import POLICIES

DATASETS = sorted({figure.dataset for figure in paper_figures()} - {""})
SCORERS = Scorers(ModelJudge(lambda _: "5"), lambda *_: 1.0)
SPLITS = ("val_unseen_question", "val_unseen_entity", "val_unseen_entity")
SESSIONS = ("single", "multi", "multi")
BRANCHES = ("direct", "verify", "rag")


def answer(number: int) -> Answered:
    decisions = [Decision(by="search_router", label=BRANCHES[number])]
    decisions += [Decision(by="act", label=label) for label in ("text", "image", "none")]
    return Answered(
        str(number),
        "Ana",
        found=(FoundEntry(id="Q1", search="image", used=True),),
        cost=TurnCost(1, 2, 30, 4, 0.5, 9),
        trace=AnswerTrace("both", tuple(decisions), (("Who?",),), (Stage(name="act", started=0.1, seconds=0.2),)),
    )


def runs(dataset: str) -> dict[str, list[ScoredAnswer]]:
    samples = [
        Sample(
            *(str(number), "Who?", ("Ana",)),
            dataset=dataset,
            split=SPLITS[number],
            session=SESSIONS[number] if dataset == "crag-mm" else "",
            entries=("Q1",),
            hop_count=1 + number,
            answer_type="templated" if dataset == "encyclopedic-vqa" else "",
        )
        for number in range(3)
    ]
    rows = dict.fromkeys(["none", "omnisearch", *(figure.row for figure in paper_figures())])
    return {row: judge_all(samples, [answer(number) for number in range(3)], SCORERS) for row in rows}


@pytest.mark.parametrize("dataset", DATASETS)
def test_every_figure_of_a_paper_is_measured_where_everything_is_known(dataset: str) -> None:
    figures = all_figures(runs(dataset))
    averages = averaged({dataset: figures, "another": figures})
    lines = beside_papers([*figures, *averages], systems(), dataset)
    assert [(line.row, line.metric, line.part) for line in lines if line.paper and not line.measured] == []


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("results", [[], [Measured(row, "exact", 1.0, 1) for row in ("none", "core-mmrag")]])
def test_no_cell_is_silent(dataset: str, results: list[Measured]) -> None:
    lines = beside_papers(results, systems(), dataset)
    assert lines
    assert all(line.reason for line in lines if not line.measured)
    assert not [line for line in lines if line.measured and line.reason]


def test_a_reason_names_what_is_missing() -> None:
    by_metric = {figure.metric: figure for figure in paper_figures() if figure.row == "core-mmrag"}
    kept = by_metric["memory kept"]
    assert not_measured(kept, []) == "no answers of a row named core-mmrag"
    others = [Measured("core-mmrag", "exact", 1.0, 1)]
    assert (
        not_measured(kept, others) == "it takes answers of the row no-search or none, or `notes.memory` of each answer"
    )
    dragon = next(figure for figure in paper_figures() if figure.part == "branch: verify")
    assert not_measured(dragon, [Measured("qa-dragon-image-only", "accuracy", 1.0, 1)]) == (
        "no questions of this part: branch: verify"
    )


def test_every_metric_of_the_papers_says_what_it_takes() -> None:
    assert {figure.metric for figure in paper_figures()} <= {*NEEDS}


def test_every_row_is_a_policy_or_says_which_answers_it_takes() -> None:
    rows = {figure.row: figure.takes for figure in paper_figures()}
    assert [row for row, takes in rows.items() if (row in POLICIES) == bool(takes)] == []
    of_oracle = next(figure for figure in paper_figures() if figure.row == "oracle")
    assert "--policies oracle" in not_measured(of_oracle, [])


def test_what_the_main_tables_have_besides_is_named_with_its_reason() -> None:
    assert {each.system for each in left_out()} == {*systems()}
    assert all(getattr(each, field.name) for each in left_out() for field in fields(each))


@pytest.mark.parametrize("measured", [False, True])
@pytest.mark.parametrize("dataset", DATASETS)
def test_every_cell_is_printed_measured_or_with_the_reason(dataset: str, measured: bool) -> None:
    lines = beside_papers(all_figures(runs(dataset)) if measured else [], systems(), dataset)
    out = io.StringIO()
    show(lines, dataset, Console(file=out, width=2000))
    printed = out.getvalue()
    cells = [line for line in lines if line.paper]
    assert printed.count("not measured") == sum(line.measured is None for line in cells)
    assert not measured or len(cells) > printed.count("not measured")
    for line in cells:
        assert line.paper
        of_row = [
            row for row in printed.splitlines() if line.row in row and f"{line.paper.value:g} {line.paper.unit}" in row
        ]
        assert of_row, (line.row, line.metric)
        assert any(line.reason in row for row in of_row)
    shown = {line.paper.system for line in cells if line.paper}
    assert all((each.cells in printed) == (each.system in shown) for each in left_out())
