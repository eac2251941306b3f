"""Answers are scored by what their benchmark asks for and stand beside the papers' own tables."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from quizglass_export.terminal import PlainConsole
from quizglass_lab.cli import main
from quizglass_lab.datasets.benchmarks import BENCHMARKS, read_samples
from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.reporting.answers.answered import Answered, AnswerLine
from quizglass_lab.reporting.answers.judged import judge_all
from quizglass_lab.reporting.answers.measured import Measured, measured
from quizglass_lab.reporting.answers.sample_scores import Scorers, is_right, sample_scores
from quizglass_lab.reporting.papers import paper_figures, systems
from quizglass_lab.reporting.report import beside_papers, show
from quizglass_lab.reporting.rules.table import all_figures
from quizglass_lab.scoring.costs import TurnCost
from quizglass_lab.scoring.judge import ModelJudge
from quizglass_server.policies import POLICIES
from tests.support.benchmarks import entity_sets, files, scene_sets, search_sets, writing


def scores(sample: Sample, answer: str, found: tuple[str, ...] | None = None) -> dict[str, float]:
    return sample_scores(sample, AnswerLine(id=sample.id, answer=answer, found=found).answered())


def scored(row: str, samples: Sequence[Sample], answers: Sequence[Answered], scorers: Scorers) -> list[Measured]:
    return all_figures({row: judge_all(samples, answers, scorers)})


def test_each_benchmark_is_scored_by_its_own_rule(tmp_path: Path) -> None:
    height = list(read_samples("infoseek", entity_sets.infoseek(tmp_path)))[1]
    assert scores(height, "330 m")["relaxed"] == 1
    assert is_right(scores(height, "330 m"))
    people = list(read_samples("vqav2", scene_sets.vqav2(tmp_path)))[1]
    assert scores(people, "two")["vqa"] == 1
    designed = list(read_samples("encyclopedic-vqa", entity_sets.encyclopedic_vqa(tmp_path)))[2]
    assert scores(designed, "Ben and Ana")["exact"] == 1
    with_bem = sample_scores(designed, Answered("1", "both of them"), Scorers(equivalent=lambda *_: 0.9))
    assert with_bem["bem"] == 1
    caption = next(read_samples("nocaps", scene_sets.nocaps(tmp_path)))
    assert scores(caption, "A baby is standing in front of a house.")["ROUGE-L"] == pytest.approx(1)
    assert "truthfulness" not in scores(caption, "A baby.")


def test_a_multiple_choice_is_right_by_its_options(tmp_path: Path) -> None:
    telling, pointing = read_samples("visual7w", scene_sets.visual7w(tmp_path))
    assert telling.asked == "What color is the car? Choose one of these: Blue. | Green. | Red. | Silver."
    right = scores(telling, "The car is red.")
    assert (right["multiple choice"], right["exact"], right["truthfulness"]) == (1, 0, 1)
    assert scores(telling, "Blue.")["multiple choice"] == 0
    assert scores(pointing, "cup at 1, 2, 30 x 40")["multiple choice"] == 1
    assert "multiple choice" not in scores(Sample("1", "Who?", ("Ana",)), "Ana")
    assert Sample("1", "Who?", ("Ana",)).asked == "Who?"
    rows = beside_papers(scored("none", [telling], [Answered(telling.id, "red")], Scorers()))
    assert ("multiple choice", 100) in [(row.metric, row.measured.value) for row in rows if row.measured]


def test_captions_are_scored_together() -> None:
    samples = [
        Sample(str(n), "Describe it.", (said, "A dog."), dataset="nocaps", answer_type="caption")
        for n, said in enumerate(["A red car.", "A blue boat."])
    ]
    answers = [Answered("0", "A red car."), Answered("1", "A dog.")]
    found = {row.metric: row for row in scored("none", samples, answers, Scorers())}
    # One of two references says it, and what both pictures are said to show weighs nothing.
    assert (found["CIDEr"].value, found["CIDEr"].count, found["CIDEr"].unit) == (pytest.approx(375 / 2), 2, "")
    assert found["CIDEr"].low is not None
    assert "CIDEr" not in {row.metric for row in scored("none", samples[:1], answers[:1], Scorers())}


def test_infoseek_s_all_stands_beside_the_paper_s() -> None:
    splits = ["val_unseen_question"] * 3 + ["val_unseen_entity"]
    samples = [Sample(str(n), "Who?", ("Ana",), dataset="infoseek", split=split) for n, split in enumerate(splits)]
    answers = [Answered(sample.id, said) for sample, said in zip(samples, ["Ana", "Ben", "Ben", "Ana"], strict=True)]
    results = scored("core-mmrag", samples, answers, Scorers())
    lines = beside_papers(results, ["core-mmrag"], "infoseek")
    beside = {(line.metric, line.part): line.measured.value for line in lines if line.measured and line.paper}
    parts = {("relaxed", "unseen questions"): pytest.approx(100 / 3), ("relaxed", "unseen entities"): 100}
    assert beside == {("relaxed, all", ""): pytest.approx(200 / 3)} | parts, "the mean of one third and all"


def test_claims_are_scored_where_they_are_known() -> None:
    sample = Sample("1", "Tell me about it.", ("It is red. Ana made it.",), claims=("It is red.", "Ana made it."))
    result = scores(sample, "Ana made it. It is old.")
    assert (result["claim precision"], result["claim recall"]) == (0.5, 0.5)


def test_a_question_that_nothing_answers_is_right_when_refused() -> None:
    sample = Sample("1", "What is hidden?", ("I don't know",), answerable=False)
    assert scores(sample, "I don't know.")["truthfulness"] == 1
    assert scores(sample, "A car")["truthfulness"] == -1


def test_private_answers_allow_recall_alone() -> None:
    sample = Sample("1", "Who?", entries=("Q1",))
    assert scores(sample, "Ana", found=("Q2", "Q1")) == {"recall@1": 0, "recall@5": 1, "recall@10": 1}
    assert scores(sample, "Ana") == {}


def test_the_judge_decides_where_there_is_one() -> None:
    sample = Sample("1", "Who?", ("Ana",))
    judged = sample_scores(sample, Answered("1", "It was Ana"), Scorers(ModelJudge(lambda _: "4")))
    assert (judged["judge"], judged["exact"], judged["truthfulness"]) == (75, 0, 1)
    silent = sample_scores(sample, Answered("1", "It was Ana"), Scorers(ModelJudge(lambda _: "?")))
    assert "judge" not in silent
    assert silent["truthfulness"] == -1


def test_means_have_intervals_and_costs_have_units() -> None:
    rows = measured("both", [{"exact": 1.0, "f1": 0.5}, {"exact": 0.0, "f1": 1.0}], [TurnCost(1, 1, 10, 2, 0.5)])
    exact, f1 = rows[:2]
    assert (exact.value, exact.count) == (50, 2)
    assert exact.low is not None
    assert exact.high is not None
    assert exact.low < 50 < exact.high
    assert f1.value == 75
    assert [(row.metric, row.unit) for row in rows[2:4]] == [("image searches", "a turn"), ("text searches", "a turn")]


def test_what_no_answer_tells_has_no_figure() -> None:
    rows = {row.metric: row for row in measured("both", [], [TurnCost(seconds=0.5), TurnCost(2), TurnCost()])}
    assert set(rows) == {"image searches", "latency", "latency p50", "latency p95"}
    assert (rows["image searches"].value, rows["image searches"].count) == (2, 1)
    assert (rows["latency p50"].value, rows["latency p50"].count) == (0.5, 1)


def test_grades_that_are_all_nought_are_no_shares_of_one() -> None:
    (row,) = measured("both", [{"judge": 0.0}] * 8)
    assert (row.value, row.low, row.high) == (0, 0, 0), "by bootstrap, as of any other grades"


def test_questions_that_were_written_as_plain_lines_stand_beside_their_benchmark_s_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {"id": "1", "question": "Who?", "answers": ["Ana"], "dataset": "crag-mm"}
    path = writing.write_lines(tmp_path / "q.jsonl", [asked])
    answers = writing.write_lines(tmp_path / "a.jsonl", [{"id": "1", "answer": "Ana"}])
    given = ["score", "plain", str(path), "--answers", f"qa-dragon={answers}", "--paper", "qa-dragon", "--json"]
    assert main(given) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["paper"]["value"] for row in rows if row["measured"] and row["paper"]} == {23.22, 41.77}
    reasons = {(row["paper"]["part"], row["paper"]["value"]): row["reason"] for row in rows if not row["measured"]}
    assert reasons["multi-turn", 24.78] == "no questions of this part: multi-turn"
    assert reasons["single-turn", 4.79] == "it takes `seconds` of each answer"


def test_papers_figures_name_their_table_and_known_benchmarks() -> None:
    assert systems() == ("planning-agent", "cogplanner", "qa-dragon", "core-mmrag")
    figures = paper_figures()
    assert all(figure.table and figure.paper and figure.row for figure in figures)
    assert {figure.dataset for figure in figures} <= {*BENCHMARKS, ""}
    assert len({(f.system, f.table, f.row, f.metric, f.part) for f in figures}) == len(figures)
    main_table = [f for f in figures if f.table.startswith("main results")]
    assert {f.row: f.value for f in main_table}["planning-agent"] == 65.32


ACCURACIES = ("accuracy", "judge", "relaxed, all", "bem", "f1", "average of claim precision, claim recall and f1")
UNTUNED = ("core-one-stage", "core-two-stage", "core-chain-of-thought", "core-mmrag")
DRAGON_PARTS = ("routers-only", "no-search-router", "no-domain-router", "no-tool-router", "no-reranking")
NO_POLICIES = {
    *("planner answers too", "without planning", "cogplanner"),
    *("oracle", "always-both, DeepSeek-VL", "planning-agent, DeepSeek-VL"),
    *(f"{name}, not fine-tuned" for name in UNTUNED),
    *("without L_PRKI", "without L_VTKI", "without L_SFT"),
    *("qa-dragon, fine-tuned", "qa-dragon-image-only, fine-tuned", "direct RAG, single-source"),
    *(f"qa-dragon-{part}, single-source" for part in DRAGON_PARTS),
}
"""Rows of the papers that are no policy of the server: what is trained otherwise, parts of turns, averages."""


def test_what_a_paper_says_of_accuracy_stands_beside_a_policy() -> None:
    rows = {figure.row for figure in paper_figures() if figure.metric in ACCURACIES}
    assert rows - {*POLICIES} == NO_POLICIES
    crag = {(f.row, f.value) for f in paper_figures() if f.system == "qa-dragon" and f.metric == "accuracy"}
    assert {("qa-dragon-image-only", 21.31), ("qa-dragon", 23.22), ("qa-dragon-routers-only", 18.99)} <= crag
    assert {("qa-dragon-direct-rag", 16.87), ("direct RAG, single-source", 14.4)} <= crag, "one searches both, one not"
    one_hop = [Measured("core-one-stage", "bem", 20.0, 9, part=part) for part in ("", "2_hop", "single-hop")]
    beside = beside_papers(one_hop, ["core-mmrag"], "encyclopedic-vqa")
    assert [(each.part, each.paper.value) for each in beside if each.measured and each.paper] == [("single-hop", 24.3)]


def test_differences_of_a_paper_s_ablations_are_those_of_its_own_figures() -> None:
    dragon = [
        figure for figure in paper_figures() if figure.system == "qa-dragon" and figure.part in ("", "single-turn")
    ]
    accuracy = {figure.row: figure.value for figure in dragon if figure.metric == "accuracy"}
    beyond = {figure.row: figure.value for figure in dragon if figure.metric == "accuracy beyond qa-dragon"}
    assert beyond == {row: pytest.approx(accuracy[row] - accuracy["qa-dragon"]) for row in beyond}
    assert len(beyond) == 4


def test_measured_figures_stand_beside_the_same_row_and_measure() -> None:
    results = [Measured("planning-agent", "judge", 70.0, 10), Measured("planning-agent", "exact", 60.0, 10)]
    lines = beside_papers(results, ["planning-agent"], "visual7w")
    assert [(line.paper.value if line.paper else None) for line in lines[:3]] == [None, None, 59.85]
    averages = {line.paper.value: line.reason for line in lines if line.paper and not line.paper.dataset}
    assert "reports of several data sets" in averages[65.32], "one data set is not beside an average of six"
    assert all(line.paper.dataset in ("", "visual7w") for line in lines if line.paper)


def test_a_paper_s_accuracy_is_the_share_of_right_answers_and_no_mean_of_grades() -> None:
    samples = [Sample(str(n), "Who?", ("Ana",), dataset="crag-mm", session=str(n)) for n in range(4)]
    answers = [Answered(sample.id, f"a guess, {grade}") for sample, grade in zip(samples, (2, 3, 3, 4), strict=True)]
    judge = ModelJudge(lambda prompt: prompt.partition("a guess, ")[2][0])
    results = scored("qa-dragon", samples, answers, Scorers(judge))
    assert {row.metric: row.value for row in results}["judge"] == 50
    lines = beside_papers(results, ["qa-dragon"], "crag-mm")
    beside = {(line.metric, line.part): line.measured.value for line in lines if line.measured and line.paper}
    assert beside["accuracy", "single-turn"] == 25
    assert {metric for metric, _ in beside} == {"accuracy", "overlap"}


def test_recall_stands_beside_the_recall_of_the_same_system() -> None:
    metric = "recall@5, by picture"
    lines = beside_papers(
        [Measured(row, metric, 50.0, 9) for row in ("text", "core-mmrag")], ["core-mmrag"], "infoseek"
    )
    assert [(line.row, line.paper.value if line.paper else None) for line in lines[:2]] == [
        ("text", None),
        ("core-mmrag", 67.1),
    ]


def test_the_command_scores_answers_beside_a_paper(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "220")
    paths = [str(path) for path in search_sets.crag_mm(tmp_path)]
    answers = [
        {"id": "t-1", "answer": "It costs 5 crowns.", "image_searches": 1, "seconds": 0.5},
        {"id": "t-2", "answer": "Nobody"},
        {"id": "t-3", "answer": "I don't know"},
    ]
    file = writing.write_lines(tmp_path / "a.jsonl", answers)
    given = ["score", "crag-mm", *paths, "--answers", f"qa-dragon={file}", "--paper", "qa-dragon"]
    assert main([*given, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    whole = [row["measured"] for row in record["rows"] if row["measured"] and not row["measured"]["part"]]
    by_metric = {row["metric"]: row for row in whole}
    assert by_metric["truthfulness"]["value"] == pytest.approx(100 / 3)
    assert by_metric["truthfulness of conversations"]["value"] == pytest.approx(50)
    assert by_metric["latency p50"]["value"] == 0.5
    paired = [row for row in record["rows"] if row["measured"] and row["paper"]]
    assert {(row["metric"], row["paper"]["value"]) for row in paired} == {
        *(("accuracy", 23.22), ("accuracy", 24.78), ("overlap", 48.26), ("latency", 7.0))
    }
    assert main(given) == 0
    assert "qa-dragon: single-source" in capsys.readouterr().out


def test_a_conversation_with_a_private_answer_is_not_judged() -> None:
    told = Sample("1", "Who?", ("Ana",), session="s"), Sample("2", "Where?", ("Here",), session="s")
    private = Sample("3", "Who?", ("Ana",), session="p"), Sample("4", "Where?", session="p")
    answers = [Answered(sample.id, sample.answer or "Here") for sample in (*told, *private)]
    rows = {row.metric: row for row in scored("x", [*told, *private], answers, Scorers())}
    assert (rows["truthfulness of conversations"].value, rows["truthfulness of conversations"].count) == (100, 1)


def test_an_answer_that_is_missing_or_wrong_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(files.plain(tmp_path)[0])
    file = writing.write_lines(tmp_path / "a.jsonl", [{"id": "p-1", "answer": "1889", "seconds": -1}])
    assert main(["score", "plain", path, "--answers", f"both={file}"]) == 2
    assert "a.jsonl:1: seconds:" in capsys.readouterr().err
    writing.write_lines(file, [{"id": "p-1", "answer": "1889"}])
    assert main(["score", "plain", path, "--answers", f"both={file}"]) == 2
    assert "a.jsonl: id p-2: expected an answer to every question" in capsys.readouterr().err
    assert main(["score", "plain", path, "--answers", str(file)]) == 2
    assert "expected ROW=FILE" in capsys.readouterr().err
    assert main(["score", "plain", path, "--answers", f"both={file}", "--judge", "http://localhost"]) == 2
    assert "expected URL#MODEL" in capsys.readouterr().err
    assert main(["score", "plain", path, "--answers", f"both={file}", "--bem", str(tmp_path)]) == 2
    assert "bem.onnx: missing" in capsys.readouterr().err
    writing.write_lines(
        file, [{"id": "p-1", "answer": "1889"}, {"id": "p-2", "answer": ""}, {"id": "p-1", "answer": ""}]
    )
    assert main(["score", "plain", path, "--answers", f"both={file}"]) == 2
    assert "a.jsonl:3: id: 'p-1' is there twice" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--split", "vall"], "no questions of the split 'vall' to score"),
        (["--limit", "-1"], "--limit -1: expected 0 or more"),
        (["--limit", "0"], "no questions to score"),
    ],
)
def test_a_score_of_no_questions_is_none(
    more: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(files.plain(tmp_path)[0])
    assert main(["score", "plain", path, "--answers", f"both={path}", *more]) == 2
    assert message in capsys.readouterr().err


def test_a_row_is_shown_as_it_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(files.plain(tmp_path)[0])
    file = writing.write_lines(tmp_path / "a.jsonl", [{"id": "p-1", "answer": "1889"}, {"id": "p-2", "answer": ""}])
    assert main(["score", "plain", path, "--answers", f"a [b] [/c]={file}"]) == 0
    assert "a [b] [/c]" in capsys.readouterr().out


def test_a_paper_s_table_is_shown_in_its_own_order(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    results = [Measured(row, "relaxed, all", value, 9) for row, value in (("oracle", 60.0), ("core-one-stage", 40.0))]
    show(beside_papers(results, ["core-mmrag"], "infoseek"), "a title", PlainConsole())
    table = capsys.readouterr().out.partition("InfoSeek, Qwen2-VL-7B, not fine-tuned")[2].partition("└")[0]
    rows = [line for line in table.splitlines() if "relaxed" in line]
    assert [row.split("│")[1].strip() for row in rows] == [
        *("no-search", "core-two-stage", "core-chain-of-thought", "core-one-stage", "core-mmrag", "oracle")
    ]
    assert [" not measured " in row for row in rows] == [True, True, True, False, True, False]
    assert "no answers of a row named core-two-stage" in rows[1]


def test_parts_are_shown_by_system(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    results = [
        Measured("both", "accuracy", 50.0, 8, 20.0, 80.0),
        Measured("both", "accuracy", 25.0, 4, 5.0, 70.0, part="domain: food"),
        Measured("[b]", "accuracy", 75.0, 4, part="domain: food"),
        Measured("both", "accuracy", 75.0, 4, 30.0, 95.0, part="domain: book", note="[a note]"),
    ]
    show(beside_papers(results), "a title", PlainConsole())
    lines = capsys.readouterr().out.splitlines()
    food, book = (next(line for line in lines if f"domain: {each}" in line) for each in ("food", "book"))
    assert "25 % (5.0 to 70.0), n 4" in food
    assert "75 %, n 4" in food
    assert "no such answers" in book
    assert sum("[a note]" in line for line in lines) == 1
    assert sum("[b]" in line for line in lines) == 1, "the head of a column, and no row of the first table"


def test_two_systems_of_one_name_are_not_one_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(files.plain(tmp_path)[0])
    file = writing.write_lines(tmp_path / "a.jsonl", [{"id": "p-1", "answer": "1889"}, {"id": "p-2", "answer": ""}])
    assert main(["score", "plain", path, *(["--answers", f"both={file}"] * 2)]) == 2
    assert "the row 'both' is there twice" in capsys.readouterr().err


def test_a_stopped_score_says_so_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("quizglass_lab.reporting.command.judge_all", stopped)
    path = str(files.plain(tmp_path)[0])
    file = writing.write_lines(tmp_path / "a.jsonl", [{"id": "p-1", "answer": "1889"}, {"id": "p-2", "answer": ""}])
    assert main(["score", "plain", path, "--answers", f"both={file}"]) == 130
    assert capsys.readouterr().err == "quizglass-lab score: stopped\n"


def test_questions_of_one_id_are_not_scored_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(files.plain(tmp_path)[0])
    assert main(["score", "plain", path, path, "--answers", f"both={path}"]) == 2
    assert "id: 'p-1' is there twice; score the files one by one" in capsys.readouterr().err


def test_turns_of_a_conversation_are_one_whatever_stands_between_them() -> None:
    mixed = [Sample(f"{turn}{name}", "?", ("yes",), session=name) for turn in range(3) for name in "ab"]
    answers = [Answered(each.id, "yes" if each.id in ("2a", "0b", "1b", "2b") else "no") for each in mixed]
    rows = {row.metric: row for row in scored("x", mixed, answers, Scorers())}
    of_a, of_b = -2 / 3, 1.0  # after two wrong answers the third counts for nothing
    assert rows["truthfulness of conversations"].count == 2
    assert rows["truthfulness of conversations"].value == pytest.approx(100 * (of_a + of_b) / 2)
