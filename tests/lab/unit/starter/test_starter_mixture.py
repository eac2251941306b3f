"""What a base that is trained further is asked, in which shares, and about which questions."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from quizglass_lab.starter.data.examples import LETTERS, Encoder
from quizglass_lab.starter.data.pictures import slot_scenes
from quizglass_lab.starter.data.store import Asked, blocks
from quizglass_lab.starter.data.store import asked as asked_of
from quizglass_lab.starter.data.tasks.sorts import SORTS
from quizglass_lab.starter.stages.mixture import SERVING, JointBatches

CHECKPOINT = Path(__file__).parents[4] / "models" / "starter" / "checkpoints" / "base"


@pytest.fixture(scope="module")
def batches() -> JointBatches:
    parts = list(blocks(3_000_000, 1))
    questions = [question for part, _ in parts for question in part]
    libraries = [library for part, library in parts for _ in part]
    asked = Asked(questions, libraries, np.zeros((1, 1), np.uint8))
    return JointBatches(Encoder(CHECKPOINT), list(slot_scenes(20, 5)), asked, 1, SERVING)


def test_every_sort_of_question_occurs(batches: JointBatches) -> None:
    asked = list(zip(batches.asked.questions, batches.asked.libraries, strict=True))
    assert all(any(sort(question, library) for question, library in asked) for sort in SORTS.values())


def test_pictures_of_questions_follow_those_of_scenes(batches: JointBatches) -> None:
    batches.rng.seed(2)
    for make in (batches.situation, batches.decision):
        for _ in range(40):
            shown = {example.request.picture for example in make()} - {None}
            assert len(shown) < 2
            assert all(20 <= row < 20 + len(batches.asked.questions) for row in shown if row is not None)


def test_decisions_are_letters(batches: JointBatches) -> None:
    examples = [example for _ in range(30) for example in batches.decision()]
    assert examples
    assert all(example.answer in LETTERS for example in examples)


def test_memory_and_evidence_are_right_about_equally_often(batches: JointBatches) -> None:
    batches.rng.seed(3)
    counts = Counter(example.task for _ in range(2500) for example in batches.situation())
    memory, evidence = counts["weigh-memory"], counts["weigh-evidence"]
    assert 0.6 < memory / evidence < 1.6
    assert counts["weigh-neither"] < 0.3 * (memory + evidence)


def test_several_processes_make_the_questions_and_pictures_that_one_makes(tmp_path: Path) -> None:
    alone, together = (asked_of(tmp_path / str(workers), 3_000_004, 2, own=0, workers=workers) for workers in (1, 2))
    assert together.questions == alone.questions
    assert [library.articles for library in together.worlds] == [library.articles for library in alone.worlds]
    assert np.array_equal(together.pictures, alone.pictures)
    assert len(together.worlds) == 4  # what is in dispute in a world is of one of its own
