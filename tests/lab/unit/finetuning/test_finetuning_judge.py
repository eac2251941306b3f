"""Which answers of a model count as right when its training examples are made."""

from __future__ import annotations

from typing import Any

import pytest

from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.finetuning.asking.judge import ExactJudge, GivenAnswer


@pytest.mark.parametrize(
    ("gold", "more", "answer", "score"),
    [
        (("324",), {"dataset": "infoseek", "answer_range": (291.6, 356.4)}, "about 330 metres", 100),
        (("324",), {"dataset": "infoseek", "answer_range": (291.6, 356.4)}, "400", 0),
        (("two",), {"dataset": "vqav2", "votes": ("two",) * 6 + ("couple",) * 4}, "a couple", 100),
        (("two",), {"dataset": "vqav2", "votes": ("two",) * 9 + ("couple",)}, "a couple", 0),
        (("oak&&ash",), {"dataset": "encyclopedic-vqa", "answer_type": "multi_answer"}, "ash and oak", 100),
        (("Red.",), {"dataset": "visual7w", "choices": ("Blue.",)}, "red", 100),
        (("Red.",), {"dataset": "visual7w", "choices": ("Blue.",)}, "It is not red", 0),
        (("A red boat.",), {"dataset": "nocaps", "answer_type": "caption"}, "a red boat", 100),
        (("A",), {}, "", 0),
    ],
)
def test_an_answer_is_right_by_the_rule_of_its_benchmark(
    gold: tuple[str, ...], more: dict[str, Any], answer: str, score: float
) -> None:
    assert ExactJudge().scores([GivenAnswer.to(Sample("1", "?", gold, **more), answer)]) == [score]


def test_what_is_asked_about_the_picture_alone_is_no_question_of_the_benchmark() -> None:
    assert ExactJudge().scores([GivenAnswer("What is it?", ("Tower",), "the tower")]) == [100]
