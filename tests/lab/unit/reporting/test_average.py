"""Several data sets count alike, whatever their size, and stand beside the papers' averages."""

import json
from pathlib import Path

import pytest

from quizglass_lab.cli import main
from quizglass_lab.reporting.answers.measured import Measured
from quizglass_lab.reporting.average import averaged
from quizglass_lab.reporting.report import as_record, beside_papers

SMALL = [
    Measured("always-both", "judge", 40.0, 10, 30.0, 50.0),
    Measured("planning-agent", "plan share", 20.0, 10, 10.0, 30.0, part="none"),
    Measured("both", "vqa", 10.0, 10),
]
LARGE = [
    Measured("always-both", "judge", 60.0, 1000, 57.0, 63.0),
    Measured("planning-agent", "plan share", 30.0, 1000, 28.0, 32.0, part="none"),
]


def test_the_mean_of_data_sets_by_hand() -> None:
    judge, share = averaged({"small": SMALL, "large": LARGE})
    assert (judge.value, judge.count, judge.part) == (50, 1010, "average of data sets")
    half = (10**2 + 3**2) ** 0.5 / 2
    assert (judge.low, judge.high) == (pytest.approx(50 - half), pytest.approx(50 + half))
    assert (share.value, share.part) == (25, "average of data sets, none")
    assert judge.note == "over 2 data sets: small, large"


def report(path: Path, name: str, figures: list[Measured], paper: list[str]) -> str:
    path.write_text(as_record(beside_papers(figures, paper), dataset=name))
    return str(path)


def test_the_command_puts_reports_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = report(tmp_path / "small.json", "small", SMALL, ["planning-agent"])
    large = report(tmp_path / "large.json", "large", LARGE, [])
    assert main(["average", small, large, "--paper", "planning-agent", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    both = {
        (row["measured"]["row"], row["paper"]["value"], row["measured"]["value"])
        for row in rows
        if row["measured"] and row["paper"]
    }
    assert both == {("always-both", 64.59, 50.0), ("planning-agent", 24.7, 25.0)}
    reasons = {row["paper"]["row"]: row["reason"] for row in rows if not row["measured"]}
    assert reasons["no-search"] == "no answers of a row named no-search"
    assert main(["average", small, large]) == 0
    assert "over 2 data sets: small, large" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "dataset: expected a name"),
        ('{"dataset": "large", "rows": 3}', "rows: expected a list of rows"),
        ('{"dataset": "large", "rows": [{"measured": {"row": "a"}}]}', "rows: "),
        ('{"dataset": "small", "rows": []}', "two data sets at least, one of each"),
    ],
)
def test_a_report_that_does_not_do_is_named(
    content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = report(tmp_path / "small.json", "small", SMALL, [])
    (tmp_path / "wrong.json").write_text(content)
    assert main(["average", small, str(tmp_path / "wrong.json")]) == 2
    assert message in capsys.readouterr().err
