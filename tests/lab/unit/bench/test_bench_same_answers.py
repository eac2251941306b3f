"""Answers of two checkouts are compared byte for byte."""

from __future__ import annotations

import pytest

from bench.accuracy.same_answers import compared

BEFORE = [{"id": "q1", "answers": {"both": "In 1912.", "none": "A car."}}, {"id": "q2", "answers": {"both": "Orla"}}]


def test_answers_that_are_the_same_do_not_differ(capsys: pytest.CaptureFixture[str]) -> None:
    assert compared("after", BEFORE, BEFORE) == 0
    assert capsys.readouterr().out == "before and after: 0 of 3 answers differ\n"


def test_each_other_answer_is_printed_and_a_policy_that_is_missing_counts(capsys: pytest.CaptureFixture[str]) -> None:
    after = [{"id": "q1", "answers": {"both": "In 1912 ."}}, {"id": "q2", "answers": {"both": "Orla"}}]
    assert compared("after", BEFORE, after) == 2
    out = capsys.readouterr().out
    assert "q1, both: 'In 1912.'; after: 'In 1912 .'\n" in out
    assert "q1, none: 'A car.'; after: None\n" in out
    assert out.endswith("2 of 3 answers differ\n")
