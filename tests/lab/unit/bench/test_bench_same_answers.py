"""Answers of two checkouts are compared byte for byte."""

from __future__ import annotations

import pytest

from bench.accuracy.same_answers import compared

BEFORE = [{"id": "q1", "answers": {"both": "In 1912.", "none": "A car."}}, {"id": "q2", "answers": {"both": "Orla"}}]


def test_answers_that_are_the_same_do_not_differ(capsys: pytest.CaptureFixture[str]) -> None:
    assert compared("after", BEFORE, BEFORE) == 0
    assert capsys.readouterr().out == "before and after: 0 of 3 answers differ\n"


def test_other_answers_are_printed_and_policies_of_one_side_do_not_count(
    capsys: pytest.CaptureFixture[str],
) -> None:
    after = [{"id": "q1", "answers": {"both": "In 1912 .", "text": "1912"}}, {"id": "q2", "answers": {"both": "Orla"}}]
    assert compared("after", BEFORE, after) == 1
    out = capsys.readouterr().out
    assert "q1, both: 'In 1912.'; after: 'In 1912 .'\n" in out
    assert out.endswith("1 of 2 answers differ\n")
