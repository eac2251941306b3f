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


def test_padding_has_no_logits() -> None:
    costs = Costs((10_000, 18_000, 25_000, 26_000), PIECES, logits_us=4_000.0)
    assert costs.batch(3) == (3, 1)
    assert costs.step(3) == 22_000


def test_a_piece_is_bounded_by_what_the_others_may_wait() -> None:
    assert (Q4.alone, Q4.within(80_000), Q4.within(1)) == (256, 64, 16)
    assert (Q4.fitting(80_000), Q4.fitting(1)) == (64, 0)
    assert Q4.prompt(1000) == pytest.approx(1000 * 30_000 / 32)


def test_a_piece_that_reads_nearly_as_fast_as_any_is_large_enough() -> None:
    assert Q4.enough == 32
    assert Costs((1000,), ((16, 1000), (32, 1500), (64, 2300), (128, 4500))).enough == 64


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=16), st.integers(1, 20))
def test_no_choice_is_clearly_worse_than_another(step_us: list[int], ready: int) -> None:
    costs = Costs(tuple(step_us), PIECES)
    count, padding = costs.batch(ready)
    assert 1 <= count <= min(ready, len(step_us))
    assert count + padding <= len(step_us)
    rate = count / step_us[count + padding - 1]
    best = max(size / step_us[size - 1] for size in range(1, min(ready, len(step_us)) + 1))
    assert rate * 1.1 * 1.1 >= best
