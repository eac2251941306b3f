"""InfoSeek's statistics beside figures worked out by hand on twenty questions."""

import pytest

from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.reporting.answers.answered import Answered
from quizglass_lab.reporting.answers.judged import ScoredAnswer, judge_all
from quizglass_lab.reporting.answers.measured import Measured
from quizglass_lab.reporting.rules import infoseek
from quizglass_lab.reporting.rules.table import all_figures

QUESTION, ENTITY = "val_unseen_question", "val_unseen_entity"
# Part, kind of answer, accepted range or texts, answer given, right or wrong by the published script.
TWENTY = [
    (QUESTION, "string", ("China", "cn"), "china", 1),
    (QUESTION, "string", ("U.S.",), "the US", 1),
    (QUESTION, "string", ("Ana Brint",), "Ana Brint", 1),
    (QUESTION, "string", ("Ana Brint",), "Brint", 0),
    (QUESTION, "string", ("oak",), "an oak", 1),
    (QUESTION, "string", ("oak",), "oak tree", 0),
    (QUESTION, "time", ("1889", "1888", "1890"), "1890", 1),
    (QUESTION, "time", ("1889", "1888", "1890"), "in 1889", 0),
    (QUESTION, "numerical", (291.6, 356.4), "330 m", 1),
    (QUESTION, "numerical", (291.6, 356.4), "300 to 350", 1),
    (QUESTION, "numerical", (291.6, 356.4), "356.4", 1),
    (QUESTION, "numerical", (291.6, 356.4), "300-400", 1),  # 56.4 shared of 108.4 in all: more than half
    (ENTITY, "string", ("Paris",), "Paris", 1),
    (ENTITY, "string", ("Paris",), "Rome", 0),
    (ENTITY, "string", ("Paris",), "I don't know", 0),
    (ENTITY, "time", ("1900", "1899", "1901"), "1902", 0),
    (ENTITY, "time", ("1900", "1899", "1901"), "1899", 1),
    (ENTITY, "numerical", (9.0, 11.0), "8.9", 0),
    (ENTITY, "numerical", (9.0, 11.0), "1 to 20", 0),
    (ENTITY, "numerical", (9.0, 11.0), "ten", 0),
]
# Unseen questions: strings 4 of 6, times 1 of 2, numbers 4 of 4, together 9 of 12 = 75 %.
# Unseen entities: strings 1 of 3, times 1 of 2, numbers 0 of 3, together 2 of 8 = 25 %.
BY_HAND = {
    ("relaxed", ""): (55.0, 20),  # 11 of 20
    ("relaxed", "unseen questions"): (75.0, 12),
    ("relaxed", "unseen questions, string"): (200 / 3, 6),
    ("relaxed", "unseen questions, time"): (50.0, 2),
    ("relaxed", "unseen questions, numerical"): (100.0, 4),
    ("relaxed", "unseen entities"): (25.0, 8),
    ("relaxed", "unseen entities, string"): (100 / 3, 3),
    ("relaxed", "unseen entities, time"): (50.0, 2),
    ("relaxed", "unseen entities, numerical"): (0.0, 3),
    ("relaxed, all", ""): (50.0, 20),  # (75 + 25) / 2
    ("relaxed, harmonic mean", ""): (37.5, 20),  # 2 x 75 x 25 / 100
}


def figures(*, parts: tuple[str, ...] = (QUESTION, ENTITY)) -> dict[tuple[str, str], Measured]:
    samples, answers = [], []
    for number, (split, kind, accepted, said, _) in enumerate(TWENTY):
        if split in parts:
            wanted = {"answer_range": accepted} if kind == "numerical" else {"answers": accepted}
            samples.append(
                Sample(str(number), "?", dataset="infoseek", split=split, answer_type=kind, **wanted)  # type: ignore[arg-type]
            )
            answers.append(Answered(str(number), said))
    return {(each.metric, each.part): each for each in all_figures({"core-mmrag": judge_all(samples, answers)})}


def test_both_parts_their_kinds_and_both_means() -> None:
    found = figures()
    assert {key: (pytest.approx(found[key].value), found[key].count) for key in BY_HAND} == BY_HAND


@pytest.mark.parametrize("number", range(len(TWENTY)))
def test_each_answer_is_right_or_wrong_as_the_published_script_has_it(number: int) -> None:
    split, kind, accepted, said, right = TWENTY[number]
    wanted = {"answer_range": accepted} if kind == "numerical" else {"answers": accepted}
    sample = Sample("1", "?", dataset="infoseek", split=split, **wanted)  # type: ignore[arg-type]
    (judged,) = judge_all([sample], [Answered("1", said)])
    assert judged.scores["relaxed"] == right


# What edchengg/infoseek_eval prints of two baselines: unseen questions, unseen entities, their harmonic mean.
PRINTED = {"BLIP-2, pre-trained": (12.74, 12.28, 12.51), "BLIP-2, instructed": (8.89, 7.38, 8.06)}


@pytest.mark.parametrize("baseline", PRINTED)
def test_published_parts_make_the_published_harmonic_mean(baseline: str) -> None:
    *parts, mean = PRINTED[baseline]
    judged = [
        ScoredAnswer(
            Sample(f"{split} {number}", "?", dataset="infoseek", split=split),
            Answered(f"{split} {number}", "?"),
            {"relaxed": float(number < round(100 * part))},
        )
        for split, part in zip((QUESTION, ENTITY), parts, strict=True)
        for number in range(10_000)
    ]
    found = {(each.metric, each.part): each.value for each in infoseek.figures({baseline: judged})}
    assert found["relaxed", "unseen questions"] == pytest.approx(parts[0])
    assert found["relaxed", "unseen entities"] == pytest.approx(parts[1])
    assert round(found[infoseek.HARMONIC, ""], 2) == mean


def test_means_of_both_parts_have_intervals_around_them_and_take_both() -> None:
    found = figures()
    for metric in (infoseek.ALL, infoseek.HARMONIC):
        figure = found[metric, ""]
        assert figure.low is not None
        assert figure.high is not None
        assert figure.low < figure.value < figure.high
    alone = figures(parts=(ENTITY,))
    assert ("relaxed", "unseen entities") in alone
    assert not {(infoseek.ALL, ""), (infoseek.HARMONIC, "")} & {*alone}
