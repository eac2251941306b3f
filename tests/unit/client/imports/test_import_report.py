"""What an import says of all that it did not take as it stands."""

import pytest

from quizglass_client.cli.imports.report import ImportReport


def test_an_import_that_took_everything_has_nothing_to_say() -> None:
    report = ImportReport()
    assert (report.complete, report.as_json(), list(report.lines()), report.summary()) == (True, {}, [], "")


@pytest.mark.parametrize("note", [ImportReport.passed_over, ImportReport.cut, ImportReport.guessed])
def test_what_is_not_taken_as_it_stands_is_named_and_makes_it_incomplete(note) -> None:
    report = ImportReport()
    note(report, "a.pdf", "is not read")
    assert not report.complete
    (line,) = report.lines()
    assert line.startswith("a.pdf: ")
    assert line.endswith(": is not read")
    kind = note.__name__
    assert report.as_json() == {kind: [{"name": "a.pdf", "message": "is not read"}], "counts": {kind: 1}}
    assert report.summary() == f"; 1 {kind.replace('_', ' ')}"


def test_what_a_rule_leaves_out_is_counted_and_expected() -> None:
    report = ImportReport()
    report.leave_out("redirects")
    report.leave_out("redirects", 2)
    report.noted("kettle.md", "took IMG_2041.jpg")
    assert report.complete
    assert report.as_json()["left_out"] == {"redirects": 3}
    assert list(report.lines()) == ["kettle.md took IMG_2041.jpg"]
    assert report.summary() == "; left out: 3 redirects"


def test_many_that_say_the_same_are_shown_by_the_first_and_their_number() -> None:
    report = ImportReport()
    for number in range(12):
        report.passed_over(f"{number}.pdf", "is not read")
    report.passed_over("a.zip", "is packed")
    assert list(report.lines()) == [
        *(f"{number}.pdf: passed over: is not read" for number in range(5)),
        "and 7 more passed over: is not read",
        "a.zip: passed over: is packed",
    ]
    assert len(report.as_json()["passed_over"]) == 13


def test_a_report_has_an_end_and_counts_on() -> None:
    report = ImportReport()
    for number in range(50_000):
        report.cut(str(number), f"{number} is too long")
    assert len(report.notes) == 10_000
    assert report.as_json()["counts"] == {"cut": 50_000}
    assert list(report.lines())[-1] == "and 40000 more cut"
