"""The labelled pairs and how the check is measured with them."""

from pathlib import Path

import pytest

from bench.verdict.__main__ import HELD_OUT, PAIRS, Pair, by_names, checked, load, rows


@pytest.mark.parametrize("path", [PAIRS, HELD_OUT])
def test_every_pair_has_a_label_and_both_labels_are_there(path: Path) -> None:
    pairs = load(path)
    assert len(pairs) >= 200
    assert {pair.supported for pair in pairs} == {True, False}
    assert all(pair.title and pair.evidence and pair.answer and pair.why for pair in pairs)


def test_the_held_out_pairs_are_about_other_things() -> None:
    assert {pair.title for pair in load()} & {pair.title for pair in load(HELD_OUT)} == set()


@pytest.mark.parametrize("path", [PAIRS, HELD_OUT])
def test_no_contradiction_passes(path: Path) -> None:
    assert sum(checked(pair) for pair in load(path) if not pair.supported) == 0


def test_rows_count_what_agrees() -> None:
    right = Pair("Koala", "It eats leaves.", "The koala eats leaves.", True, "pronoun")
    wrong = Pair("Koala", "It eats leaves.", "The koala eats meat.", False, "word")
    agreement, passed, *kinds = rows([right, wrong])
    assert (agreement.value, passed.value, passed.ok) == (100.0, 0, True)
    assert [row.name for row in kinds] == ["supported, pronoun (1)", "not supported, word (1)"]


def test_the_simplest_rule_looks_at_names_and_numbers_alone() -> None:
    assert by_names(Pair("Koala", "Ana Brint saw 3.", "Ana Brint ate 3.", False, "word"))
    assert not by_names(Pair("Koala", "Ana Brint saw 3.", "Ana Brint saw 4.", False, "number"))
