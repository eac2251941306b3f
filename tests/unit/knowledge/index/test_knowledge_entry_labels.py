"""The labels of a few entries: what a plain table of all pairs would say, in whatever order they came."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.knowledge.index import entry_labels
from quizglass_server.knowledge.index.entry_labels import EntryLabels

NUMBERS = st.integers(min_value=0, max_value=30)
BATCHES = st.lists(st.lists(NUMBERS, max_size=40), max_size=8)
"""For each commit the entry of each new label."""


def filled(first: list[int], later: list[list[int]]) -> tuple[EntryLabels, dict[int, int]]:
    """Labels ascend through all commits; `first` are there from the start, in no order."""
    entry_of = dict(enumerate(entry for batch in [first, *later] for entry in batch))
    labels = EntryLabels()
    start = np.random.default_rng(1).permutation(len(first))
    labels.fill(start, np.array(first, np.int64)[start])
    at = len(first)
    for batch in later:
        labels.add(range(at, at + len(batch)), batch)
        at += len(batch)
    return labels, entry_of


@given(first=st.lists(NUMBERS, max_size=60), later=BATCHES, wanted=st.sets(NUMBERS))
def test_all_labels_of_the_wanted_entries_are_given_in_order(
    first: list[int], later: list[list[int]], wanted: set[int]
) -> None:
    labels, entry_of = filled(first, later)
    assert len(labels) == len(entry_of)
    assert labels.of(wanted).tolist() == [label for label, entry in entry_of.items() if entry in wanted]


@given(first=st.lists(NUMBERS, max_size=60), later=BATCHES, wanted=st.sets(NUMBERS), data=st.data())
def test_only_what_is_kept_is_given_afterwards(
    first: list[int], later: list[list[int]], wanted: set[int], data: st.DataObject
) -> None:
    labels, entry_of = filled(first, later)
    kept = sorted(data.draw(st.sets(st.sampled_from(sorted(entry_of)))) if entry_of else ())
    labels.keep(np.array(kept, np.int64))
    assert labels.of(wanted).tolist() == [label for label in kept if entry_of[label] in wanted]
    assert len(labels) == len(kept)


def test_many_later_ones_are_sorted_in_and_stay_right() -> None:
    labels, entry_of = filled([3, 1, 3], [[at % 7 for at in range(entry_labels.SORTED_IN_FROM + 5)], [1]])
    for entry in range(8):
        assert labels.of({entry}).tolist() == [label for label, of in entry_of.items() if of == entry]
