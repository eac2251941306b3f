"""CoRe-MMRAG's statistics beside figures worked out by hand on twenty questions."""

from dataclasses import replace

import pytest

from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.reporting.answers.answered import Answered, AnswerTrace, FoundEntry
from quizglass_lab.reporting.answers.judged import ScoredAnswer, judge_all
from quizglass_lab.reporting.rules.table import all_figures
from quizglass_lab.scoring.costs import TurnCost

# Whether memory is right, whether the answer is: 5 kept, 2 overruled, 6 corrected, 7 wrong both times.
TWENTY = [(True, True)] * 5 + [(True, False)] * 2 + [(False, True)] * 6 + [(False, False)] * 7
# Place of the right entry among those that the picture search brought, and the place chosen; None: not there.
PLACES = [(1, 1)] * 4 + [(1, 2)] + [(3, 3)] * 3 + [(3, 1)] * 2 + [(None, 1)] * 10
BY_HAND = {
    "accuracy": 55.0,  # 5 + 6 of 20
    "memory right": 35.0,
    "memory kept": 25.0,
    "memory overruled": 10.0,
    "memory corrected": 30.0,
    "recall@1, by picture": 25.0,
    "recall@5, by picture": 50.0,
    "recall@10, by picture": 50.0,
    "recall@5": 50.0,
    "entry recognised": 35.0,  # 4 and 3 of 20
}


def run(*, memory: bool, notes: bool) -> dict[str, list[ScoredAnswer]]:
    samples, remembered, answers = [], [], []
    for number, ((before, after), (right, chosen)) in enumerate(zip(TWENTY, PLACES, strict=True)):
        samples.append(Sample(str(number), "Who?", ("Ana",), entries=("Q7",)))
        recalled = "Ana" if before else "Ben"
        remembered.append(Answered(str(number), recalled))
        found = tuple(
            FoundEntry(
                id=f"entry {place}",
                source="https://www.wikidata.org/wiki/Q7" if place == right else "",
                search="image",
                used=place == chosen,
            )
            for place in range(1, 6)
        )
        trace = AnswerTrace(notes={"memory": recalled} if notes else {})
        answers.append(Answered(str(number), "Ana" if after else "Cem", found=found, trace=trace))
    runs = {"core-mmrag": judge_all(samples, answers)}
    return ({"none": judge_all(samples, remembered)} if memory else {}) | runs


@pytest.mark.parametrize(("memory", "notes"), [(True, False), (False, True), (True, True)])
def test_memory_kept_and_overruled_and_the_entry_chosen(memory: bool, notes: bool) -> None:
    found = {each.metric: each for each in all_figures(run(memory=memory, notes=notes)) if each.row == "core-mmrag"}
    assert {metric: found[metric].value for metric in BY_HAND} == pytest.approx(BY_HAND)
    assert {found[metric].count for metric in BY_HAND} == {20}


def test_nothing_is_said_of_memories_that_are_not_known() -> None:
    metrics = {each.metric for each in all_figures(run(memory=False, notes=False))}
    assert not [metric for metric in metrics if metric.startswith("memory")]


def test_the_published_baseline_is_memory_where_both_are_there() -> None:
    runs = run(memory=True, notes=False)
    none = runs["none"]
    wrong = [Answered(each.sample.id, "Ben") for each in none]
    runs = {"no-search": judge_all([each.sample for each in none], wrong)} | runs
    found = {(each.row, each.metric): each.value for each in all_figures(runs)}
    assert found["core-mmrag", "memory right"] == 0


def test_the_row_of_memory_itself_keeps_nothing() -> None:
    of_none = {each.metric for each in all_figures(run(memory=True, notes=True)) if each.row == "none"}
    assert "accuracy" in of_none
    assert not [metric for metric in of_none if metric.startswith("memory")]


def test_a_picture_search_that_finds_nothing_counts_and_one_that_is_not_made_does_not() -> None:
    samples = [Sample(str(number), "Who?", ("Ana",), entries=("Q7",)) for number in range(3)]
    answers = [
        Answered("0", "Ana", found=(FoundEntry(id="Q7", search="image", used=True),), cost=TurnCost(1, 0)),
        Answered("1", "Ana", found=(FoundEntry(id="Q7", search="text"),), cost=TurnCost(1, 1)),
        Answered("2", "Ana", found=(FoundEntry(id="Q7", search="text"),), cost=TurnCost(0, 1)),
    ]
    found = {each.metric: each for each in all_figures({"both": judge_all(samples, answers)})}
    assert (found["recall@1, by picture"].value, found["recall@1, by picture"].count) == (50, 2)
    assert found["recall@1"].value == 100
    unsaid = [replace(each, found=(FoundEntry(id="Q7"),)) for each in answers]
    metrics = {each.metric for each in all_figures({"both": judge_all(samples, unsaid)})}
    assert "recall@1" in metrics
    assert "recall@1, by picture" not in metrics, "it is not said which search found them"


def test_a_refusal_is_a_right_memory_where_nothing_answers() -> None:
    sample = Sample("1", "Who?", answerable=False)
    answer = Answered("1", "Ana", trace=AnswerTrace(notes={"memory": "I don't know."}))
    found = {each.metric: each.value for each in all_figures({"core-mmrag": judge_all([sample], [answer])})}
    assert (found["memory right"], found["memory kept"], found["memory overruled"]) == (100, 0, 100)
