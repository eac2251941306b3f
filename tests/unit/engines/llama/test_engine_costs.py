"""What the scheduler makes of measured costs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.engines.llama.costs.cost_model import Costs

PIECES = ((16, 20_000), (32, 30_000), (64, 70_000), (128, 150_000), (256, 320_000), (512, 700_000))
Q4 = Costs((9_400, 15_100, 20_900, 16_000), PIECES)
"""Measured on two cores, a 0.5B model: a step of four is faster than one of three."""
Q8 = Costs((16_600, 43_300, 55_700, 63_800), PIECES)
"""The same in eight bits: two together are slower than one after the other."""


def test_where_batching_pays_everybody_is_batched() -> None:
    assert [Q4.batch(ready) for ready in range(6)] == [(0, 0), (1, 0), (2, 0), (3, 1), (4, 0), (4, 0)]


def test_where_two_are_slower_than_one_after_the_other_they_are_not_batched() -> None:
    assert [Q8.batch(ready)[0] for ready in range(1, 4)] == [1, 1, 1]
    assert Q8.step(3) == 3 * 16_600


def test_a_piece_is_bounded_by_what_the_others_may_wait() -> None:
    assert (Q4.alone, Q4.within(80_000), Q4.within(1)) == (256, 64, 16)
    assert (Q4.fitting(80_000), Q4.fitting(1)) == (64, 0)
    assert Q4.prompt(1000) == pytest.approx(1000 * 30_000 / 32)


def test_a_piece_that_reads_nearly_as_fast_as_any_is_large_enough() -> None:
    assert Q4.enough == 32
    assert Costs((1000,), ((16, 1000), (32, 1500), (64, 2300), (128, 4500))).enough == 64


TILED = Costs((250,), ((16, 1_250), (32, 3_300), (64, 4_100), (128, 8_000)), tile=64, seen_us=1.75)
"""The starter's generator."""


def test_a_piece_is_filled_up_to_a_tile_where_its_tokens_see_much() -> None:
    assert TILED.filling(38, 139) == 26
    assert TILED.filling(50, 25) == 14


@pytest.mark.parametrize(("tokens", "seen"), [(20, 50), (5, 100), (64, 500), (100, 500), (0, 0)])
def test_a_piece_is_not_filled_up_where_it_is_cheap_or_a_tile_already(tokens: int, seen: int) -> None:
    assert TILED.filling(tokens, seen) == 0


def test_nothing_is_filled_up_without_tiles() -> None:
    assert Costs((250,), ((64, 4_100),), seen_us=1.75).filling(38, 10_000) == 0


@given(st.integers(1, 63), st.floats(0, 1e4), st.floats(0, 100))
def test_filling_up_is_cheaper_than_reading_token_by_token(tokens: int, seen: float, seen_us: float) -> None:
    costs = Costs((250,), ((64, 4_100),), tile=64, seen_us=seen_us)
    alone = tokens * (4_100 / 64 + seen * seen_us)
    assert costs.filling(tokens, seen) == (64 - tokens if alone > 1.1 * 4_100 else 0)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=16), st.integers(1, 20))
def test_no_choice_is_clearly_worse_than_another(step_us: list[int], ready: int) -> None:
    costs = Costs(tuple(step_us), PIECES)
    count, padding = costs.batch(ready)
    assert 1 <= count <= min(ready, len(step_us))
    assert count + padding <= len(step_us)
    rate = count / step_us[count + padding - 1]
    best = max(size / step_us[size - 1] for size in range(1, min(ready, len(step_us)) + 1))
    assert rate * 1.1 * 1.1 >= best
