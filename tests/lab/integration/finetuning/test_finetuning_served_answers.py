"""Answers of a running server, right or not, over a real socket; and the line that is fitted on them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from quizglass import values
from quizglass_lab.finetuning.fitting.verifier_line import VerifierLineTraining, fit
from quizglass_lab.finetuning.recipes.served_answers import ServedAnswersAnnotation, annotate
from quizglass_lab.finetuning.shared.progress import Progress
from tests.support.training.finetuning import rows, searching_server

QUIET = Progress(quiet=True)
SAID = {
    "Sure?": ("7 years", 0.9),
    "Wrong?": ("9 years", 0.2),
    "Unknown?": ("3 km", 0.3),
    "Refused?": ("I don't know", 0.8),
}
"""Answer and least token probability of each question."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    known = [{"id": text, "question": text, "answers": ["7 years"]} for text in ("Sure?", "Wrong?", "Refused?")]
    nothing = {"id": "Unknown?", "question": "Unknown?", "answers": [], "answerable": False}
    return rows(tmp_path / "questions.jsonl", [*known, nothing])


async def told(request: Any, *_: Any) -> AsyncGenerator[values.TurnEvent, None]:
    text, least = SAID[request.question]
    yield values.Verdict(values.VerdictOutcome.UNCHECKED, least, (least + 1) / 2)
    yield values.Done(text, values.FinishReason.COMPLETE)


def test_a_servers_answers_are_judged_and_fitted_on(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with searching_server(tmp_path / "server", ["boat"]) as stage:
        stage.assistant.script = told
        how = ServedAnswersAnnotation(data=(data,), out=out, server=stage.target, policy="planning-agent+")
        report = annotate(how, QUIET)
        asked = len(stage.assistant.asked)
        assert annotate(how, QUIET) == report, "goes on with what is there"
        assert len(stage.assistant.asked) == asked
    assert report == {"questions": 4, "answered": 3, "right": 1}
    turns = {turn["id"]: turn for turn in map(json.loads, (out / "turns.jsonl").read_text().splitlines())}
    assert {name: turn["answer_right"] for name, turn in turns.items()} == {
        **{"Sure?": True, "Wrong?": False, "Refused?": False},
        "Unknown?": False,
    }
    assert (turns["Sure?"]["p_min"], turns["Sure?"]["p_mean"]) == pytest.approx((0.9, 0.95))
    line = fit(VerifierLineTraining(turns=out / "turns.jsonl", out=tmp_path / "line", folds=2), QUIET)
    assert (line["answers"], line["refused_by_the_model"]) == (3, 1)
    weights = line["line"]
    assert weights["p_min"] * 0.9 + weights["p_mean"] * 0.95 >= weights["least"] > weights["p_min"] * 0.3
