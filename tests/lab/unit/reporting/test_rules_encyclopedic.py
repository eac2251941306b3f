"""Encyclopedic-VQA's statistics beside figures worked out by hand on twenty questions."""

import pytest

from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.reporting.answers.answered import Answered
from quizglass_lab.reporting.answers.judged import judge_all
from quizglass_lab.reporting.answers.sample_scores import Scorers
from quizglass_lab.reporting.rules.table import all_figures

# Type, gold answers, answer, right by its own rule, BEM's probability where that rule says no.
TWENTY = [
    *[("templated", "20 feet|6 m", "6 m", True, 0.0)] * 4,
    *[("templated", "20 feet|6 m", "tall", False, 0.2)] * 2,
    *[("automatic", "Ana Brint", "the answer is Ana Brint", True, 0.0)] * 3,
    *[("automatic", "Ana Brint", "Brint, Ana", False, 0.5)] * 3,
    ("multi_answer", "Ana&&Ben", "Ben and Ana", True, 0.0),
    ("multi_answer", "Ana&&Ben", "Ana", True, 0.0),  # one of two
    ("multi_answer", "Ana&&Ben", "Ana, Cem and Eve", False, 0.49),  # one of four
    *[("2_hop", "Vigors", "vigors", True, 0.0)] * 2,
    *[("2_hop", "Vigors", "Linnaeus", False, 0.1)] * 3,
]
BY_HAND = {
    ("exact", ""): (55.0, 20),  # 4 + 3 + 2 + 2 of 20
    ("exact", "templated"): (100 * 4 / 6, 6),
    ("exact", "automatic"): (50.0, 6),
    ("exact", "multi_answer"): (100 * 2 / 3, 3),
    ("exact", "2_hop"): (40.0, 5),
    ("exact", "single-hop"): (60.0, 15),
    ("bem", ""): (70.0, 20),  # and the three that BEM takes
    ("bem", "automatic"): (100.0, 6),
    ("bem", "single-hop"): (80.0, 15),
    ("bem", "2_hop"): (40.0, 5),
}


def test_the_score_by_type_of_question() -> None:
    samples, answers, odds = [], [], {}
    for number, (kind, gold, said, _, probability) in enumerate(TWENTY):
        asked = Sample(str(number), "Who?", tuple(gold.split("|")), dataset="encyclopedic-vqa", answer_type=kind)
        samples.append(asked)
        answers.append(Answered(str(number), said))
        odds[said] = probability
    scorers = Scorers(equivalent=lambda question, reference, candidate: odds[candidate])
    judged = judge_all(samples, answers, scorers)
    assert [each.scores["exact"] == 1 for each in judged] == [right for *_, right, _ in TWENTY]
    found = {(each.metric, each.part): each for each in all_figures({"both": judged})}
    assert {key: (pytest.approx(found[key].value), found[key].count) for key in BY_HAND} == BY_HAND
