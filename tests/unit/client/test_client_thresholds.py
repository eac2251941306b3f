"""Thresholds proposed between scores of right and wrong answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_client.cli.tuning.thresholds import Scores, propose, tells_apart

COSINES = st.floats(-1, 1, allow_nan=False)


def test_a_threshold_lies_between_what_shows_nothing_and_what_is_right() -> None:
    proposal = propose(Scores((0.8, 0.9, 0.95), (0.55, 0.6), {"grey": 0.5}), 0.99)
    assert proposal.value == pytest.approx(0.7)
    assert (proposal.right_kept, proposal.others_refused, proposal.plain_passed) == (1, 1, ())


def test_where_nothing_keeps_the_right_ones_and_refuses_plain_pictures_keeping_comes_first() -> None:
    proposal = propose(Scores((0.4, 0.9), (0.3,), {"grey": 0.6, "noise": 0.1}), 1)
    assert (proposal.value, proposal.right_kept, proposal.plain_passed) == (0.4, 1, ("grey",))


@pytest.mark.parametrize(
    ("scores", "useful"),
    [
        (Scores((0.8, 0.9), (0.3, 0.4), {"grey": 0.2}), True),
        (Scores((0.8, 0.9), (), {"grey": 0.2}), True),
        (Scores((0.8, 0.9), (0.3, 0.4), {"grey": 0.95}), False),
        (Scores((0.4, 0.9), (0.3, 0.5, 0.6, 0.7)), False),
        (Scores((0.8, 0.9), ()), False),
    ],
)
def test_a_line_that_most_of_the_others_or_pictures_of_nothing_pass_is_useless(scores: Scores, useful: bool) -> None:
    assert tells_apart(scores, propose(scores, 1)) is useful


def test_some_right_scores_may_be_given_up() -> None:
    right = (0.1, *(0.8,) * 99)
    assert propose(Scores(right, (0.5,)), 1).value == pytest.approx(0.1, abs=1e-3)
    assert 0.5 < propose(Scores(right, (0.5,)), 0.99).value <= 0.8


def test_without_right_scores_nothing_is_proposed() -> None:
    with pytest.raises(ValueError, match="no right scores"):
        propose(Scores((), (0.5,)), 0.99)


@given(st.lists(COSINES, min_size=1), st.lists(COSINES), st.lists(COSINES, max_size=3), st.floats(0.01, 1))
def test_the_demanded_share_is_kept_whatever_the_scores(right, others, plain, keep: float) -> None:
    named = {str(at): score for at, score in enumerate(plain)}
    proposal = propose(Scores(right, others, named), keep)
    assert proposal.right_kept >= keep - 1 / len(right) - 1e-6
    assert proposal.right_kept >= keep - 1e-6 or len(right) * (1 - keep) >= 1 - 1e-6
    if proposal.plain_passed:
        assert max(plain) >= sorted(right)[int(len(right) * (1 - keep) + 1e-9)] - 1e-4
