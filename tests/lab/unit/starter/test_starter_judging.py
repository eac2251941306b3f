"""The base's own answers, as the verifier learns from them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from quizglass_bundle.tuning import CertaintyLine
from quizglass_lab.pocketworld.question import ABSTAIN
from quizglass_lab.pocketworld.questions import make_questions, make_unknowable
from quizglass_lab.pocketworld.world import core_world, make_world, with_core
from quizglass_lab.starter.data.examples import LETTERS, Encoder, Request
from quizglass_lab.starter.data.library import Library
from quizglass_lab.starter.data.store import Asked
from quizglass_lab.starter.data.tasks.choices import JUDGEMENTS
from quizglass_lab.starter.loop.decoding import GreedyAnswer
from quizglass_lab.starter.stages import judging
from quizglass_lab.starter.stages.decider import DecisionBatches
from quizglass_lab.starter.stages.records import save_rows
from quizglass_server.steps.decide import trust

CHECKPOINT = Path(__file__).parents[4] / "models" / "starter" / "checkpoints" / "base"
WORLD = with_core(make_world(4321, 60, format=2), core_world(2))
QUESTIONS = make_questions(WORLD, 120, 7, unseen_share=0.5, format=2)
QUESTIONS += make_unknowable(WORLD, 20, 3, format=2)
ASKED = Asked(QUESTIONS, [Library(WORLD)] * len(QUESTIONS), np.zeros((0, 112, 112, 3), np.uint8))


def concluded(monkeypatch: pytest.MonkeyPatch, say: str | None) -> list[judging.OwnAnswer]:
    """What becomes of answers that are all `say`, or the right ones."""

    def write(model: object, encoder: object, requests: Sequence[Request], store: object) -> list[GreedyAnswer]:
        texts = [QUESTIONS[request.picture or 0].answer if say is None else say for request in requests]
        return [GreedyAnswer(text, (0.9, 0.5)) for text in texts]

    monkeypatch.setattr(judging, "write", write)
    return judging.judged(None, None, ASKED, range(len(QUESTIONS)), seed=1)  # type: ignore[arg-type]


def test_right_answers_are_supported_and_refusals_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = concluded(monkeypatch, None)
    assert {each.label for each in answers} == {"supported"}
    assert not any(QUESTIONS[each.row].answer == ABSTAIN for each in answers)
    assert not concluded(monkeypatch, ABSTAIN)


def test_wrong_answers_are_contradicted_only_where_the_evidence_tells_the_right_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = concluded(monkeypatch, "Nobody at all")
    assert judging.shares(answers).keys() == {"contradicted", "unsupported"}
    for each in answers:
        told = any(QUESTIONS[each.row].answer in line for line in each.evidence)
        assert told or each.label == "unsupported"


def test_the_verifier_is_shown_the_evidence_and_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in concluded(monkeypatch, "Nobody at all"):
        example = each.example(QUESTIONS[each.row])
        assert JUDGEMENTS[LETTERS.index(example.answer)] == each.label
        assert example.request.picture == each.row
        assert example.request.values == {
            "evidence": list(each.evidence),
            "answer": "Nobody at all",
            "certainty": "50",
        }


def test_what_is_trusted_is_given_and_earns() -> None:
    right = [True] * 6 + [False] * 4
    verified = [0.9, 0.8, 0.05, 0.7, 0.9, 0.02, 0.1, 0.02, 0.08, 0.04]
    certain = [0.6, 0.03, 0.9, 0.6, 0.9, 0.2, 0.004, 0.04, 0.005, 0.01]
    fitted = judging.trusted(verified, certain, right)
    measured = fitted["support"]
    assert isinstance(measured, dict)
    assert (measured["given"], measured["right_of_given"]) == (0.6, 1.0), "neither of the two tells them apart alone"
    assert trust(0.05, 0.9, judging.CERTAINTY) >= judging.ACCEPT > trust(0.02, 0.04, judging.CERTAINTY)
    assert judging.trusted([], [], []) == {}


def test_answers_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = concluded(monkeypatch, "Nobody at all")
    path = tmp_path / "annotate" / judging.file_of("training")
    save_rows(answers, path)
    assert judging.load(path) == answers


def test_the_line_gives_what_is_more_often_right_than_wrong() -> None:
    sure = [judging.OwnAnswer(row, (), "a", 0.8 + row / 100, 0.9, "supported") for row in range(15)]
    unsure = [judging.OwnAnswer(row, (), "a", 0.2 + row / 100, 0.5, "unsupported") for row in range(15)]
    fitted = judging.certainty([*sure, *unsure])
    assert fitted["answers"] == 30
    assert fitted["truthfulness_of_all"] == 0.0
    assert fitted["truthfulness"] == 0.5
    line = CertaintyLine.model_validate(fitted["line"])
    assert line.p_min * 0.8 + line.p_mean * 0.9 >= line.least > line.p_min * 0.34 + line.p_mean * 0.5


@pytest.mark.parametrize(("wrong", "share"), [(2, 0.25), (20, 0.5), (0, 0.0)])
def test_a_verifier_sees_mistakes_however_seldom_the_base_makes_them(wrong: int, share: float) -> None:
    labels = ["unsupported"] * wrong + ["supported"] * (40 - wrong)
    answers = [judging.OwnAnswer(row, (), "a", 0.9, 0.9, label) for row, label in enumerate(labels)]
    batches = DecisionBatches(Encoder(CHECKPOINT), ASKED, [], answers, [], 1)
    tasks = [task for batch in batches(0.0, 0.0) for task in batch.tasks if task.startswith("verifier-own")]
    assert tasks.count("verifier-own-unsupported") / len(tasks) == pytest.approx(share, abs=0.06)
