"""Tokens that prompts have in common are computed once: every row can be read again from what is given."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quizglass_server.roles.shared.packing import packed, packed_ranges, pays

Rows = list[list[int]]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=70), min_size=1, max_size=16))
def test_rows_are_read_again_from_the_tokens_and_each_beginning_is_there_once(rows: Rows) -> None:
    given_ = packed(rows)
    tokens, places, back = given_["tokens"], given_["places"], given_["back"]
    for place, ids in enumerate(rows):
        assert tokens[places[place, : len(ids)]].tolist() == ids
        assert given_["ends"][place] == len(ids) - 1
        assert given_["last"][place] == places[place, len(ids) - 1]
    assert places.reshape(-1)[back].tolist() == list(range(len(tokens)))
    assert len(tokens) == len({tuple(ids[: end + 1]) for ids in rows for end in range(len(ids))})
    assert all(packed_ranges(70)[name].holds(values.shape) for name, values in given_.items())


@pytest.mark.parametrize(
    ("shared", "own", "rows", "expected"),
    [
        (100, 28, 8, True),
        (100, 28, 2, True),
        (8, 120, 8, False),
        (0, 128, 8, False),
        (100, 28, 1, False),
    ],
)
def test_a_batch_is_packed_where_that_saves_a_fourth_of_its_padded_tokens(
    shared: int, own: int, rows: int, expected: bool
) -> None:
    rng = np.random.default_rng(1)
    begun = rng.integers(1, 1000, shared).tolist()
    assert pays(packed([[*begun, *rng.integers(1, 1000, own).tolist()] for _ in range(rows)])) is expected
