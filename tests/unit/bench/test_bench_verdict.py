"""The labelled pairs, how the check is measured with them, and how a reranker is compared with it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.verdict.__main__ import rows
from bench.verdict.pairs import ANOTHER, HELD_OUT, PAIRS, Pair, by_names, checked, load
from bench.verdict.relevance import JUDGES, measured, weigh
from bench.verdict.relevance import rows as compared

LEAVES = Pair("Koala", "It eats leaves. It sleeps in trees.", "The koala eats leaves.", True, "pronoun")
MEAT = Pair("Koala", "It eats leaves. It sleeps in trees.", "The koala eats meat.", False, "word")
ASLEEP = Pair("Koala", "It eats leaves. It sleeps in trees.", "Up in a tree, fast asleep.", True, "paraphrase")


class ByLetters:
    """A reranker that scores a passage by the share of the query's words that stand in it."""

    async def score(self, query: str, passages: Sequence[str]) -> list[float]:
        """Share of the words."""
        asked = query.casefold().rstrip(".?").split()
        return [sum(word.rstrip(",")[:4] in passage.casefold() for word in asked) / len(asked) for passage in passages]


@pytest.mark.parametrize(("path", "least"), [(PAIRS, 200), (HELD_OUT, 200), (ANOTHER, 100)])
def test_every_pair_has_a_label_and_both_labels_are_there(path: Path, least: int) -> None:
    pairs = load(path)
    assert len(pairs) >= least
    assert {pair.supported for pair in pairs} == {True, False}
    assert all(pair.title and pair.evidence and pair.answer and pair.why for pair in pairs)


def test_the_held_out_pairs_are_about_other_things() -> None:
    assert {pair.title for pair in load()} & {pair.title for pair in load(HELD_OUT)} == set()


@pytest.mark.parametrize("path", [PAIRS, HELD_OUT, ANOTHER])
def test_no_contradiction_passes(path: Path) -> None:
    assert sum(checked(pair) for pair in load(path) if not pair.supported) == 0


def test_rows_count_what_agrees() -> None:
    agreement, passed, *kinds = rows([LEAVES, MEAT])
    assert (agreement.value, passed.value, passed.ok) == (100.0, 0, True)
    assert [row.name for row in kinds] == ["supported, pronoun (1)", "not supported, word (1)"]


def test_the_simplest_rule_looks_at_names_and_numbers_alone() -> None:
    assert by_names(Pair("Koala", "Ana Brint saw 3.", "Ana Brint ate 3.", False, "word"))
    assert not by_names(Pair("Koala", "Ana Brint saw 3.", "Ana Brint saw 4.", False, "number"))


def test_a_line_is_chosen_on_the_first_pairs_and_kept_for_the_others() -> None:
    async def both() -> list[float | None]:
        reranker = ByLetters()
        sets = {"": await weigh(reranker, [LEAVES, MEAT]), "others: ": await weigh(reranker, [ASLEEP, LEAVES, MEAT])}
        return [row.value for row in compared(sets) if row.name.startswith(("reranker alone: agrees (", "others: rer"))]

    ours, others, beyond, passed, best = asyncio.run(both())
    assert (ours, passed) == (100.0, 0)
    assert others == pytest.approx(100 * 2 / 3)
    assert best == 100.0  # with the answer as passage, which is no better than the answer as query for the first pairs
    assert beyond == pytest.approx(0.0)


def test_judges_together_are_what_their_names_say() -> None:
    said = {judge.name: [judge.says(*case) for case in ((True, False, True), (True, True, False))] for judge in JUDGES}
    assert said == {
        "reranker alone": [True, False],
        "rules and reranker": [True, False],
        "rules or reranker": [True, True],
        "names, numbers and reranker": [False, False],
    }


def test_a_score_that_right_and_wrong_answers_share_is_left_aside() -> None:
    pairs = [LEAVES, ASLEEP, Pair("Koala", ASLEEP.evidence, ASLEEP.answer, False, "word")]
    weighed = asyncio.run(weigh(ByLetters(), pairs))
    (judge,) = (each for each in JUDGES if each.name == "rules or reranker")
    best, way, line = judge.chosen(weighed)
    assert best == pytest.approx(100 * 2 / 3)
    assert judge.of(weighed, way, line) == [True, False, False]


def test_without_a_bundle_the_comparison_says_so(tmp_path: Path) -> None:
    (row,) = measured(tmp_path / "bundle", {"": [LEAVES]})
    assert row.value is None
    assert "make everyday" in row.peer
