"""How surely a first hit of an image search is the right one."""

import random

import pytest

from quizglass_bundle.tuning import Match
from quizglass_lab.retrieval.thresholds import match_of


def firsts(usual: float, ahead: float, count: int = 400) -> list[tuple[float, float]]:
    rng = random.Random(5)
    return [(rng.gauss(usual, 0.05), rng.gauss(ahead, 0.03)) for _ in range(count)]


def test_a_usual_right_hit_is_0_and_others_less() -> None:
    fitted = match_of(firsts(0.85, 0.15), firsts(0.7, 0.05))
    assert fitted is not None
    match = Match.model_validate(fitted)
    assert match.most == pytest.approx(0.85 - 0.67 * 0.05, abs=0.01)
    assert match.odds(0.85, 0.15) == match.odds(0.99, 0.15) == pytest.approx(0, abs=0.3)
    assert match.odds(0.7, 0.05) < -3


def test_where_nothing_tells_right_from_wrong_nothing_is_fitted() -> None:
    assert match_of(firsts(0.7, 0.05), firsts(0.85, 0.15)) is None
    assert match_of([], firsts(0.7, 0.1)) is None
    assert match_of(firsts(0.7, 0.1), []) is None
