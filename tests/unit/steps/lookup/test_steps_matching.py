"""How well what a prompt shows matches the picture."""

import pytest

from quizglass.values import Origin
from quizglass_bundle.tuning import Match, Thresholds
from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.lookup.matching import match_odds

BUNDLE = Thresholds(image_accept=0.6, support_match=Match(similarity=10, margin=5, offset=-9.25, most=0.9))


def hit(entry: str, cosine: float, origin: Origin = Origin.IMAGE_SEARCH) -> Evidence:
    return Evidence(id="", origin=origin, entry_id=entry, title="", text="", search_score=cosine)


def test_a_usual_right_hit_moves_nothing_and_worse_ones_are_trusted_less() -> None:
    usual, near, far = hit("a", 0.9), hit("b", 0.85), hit("b", 0.8)
    assert match_odds([usual], [usual, near], BUNDLE) == pytest.approx(0)
    assert match_odds([usual], [usual, far], BUNDLE) == pytest.approx(0.25)
    assert match_odds([hit("a", 0.7)], [hit("a", 0.7), hit("b", 0.65)], BUNDLE) == pytest.approx(-2)
    assert match_odds([near], [usual, near], BUNDLE) == pytest.approx(-1), "another one is nearer"


def test_beyond_the_most_a_cosine_says_no_more() -> None:
    assert match_odds([hit("a", 0.99)], [hit("a", 0.99), hit("b", 0.94)], BUNDLE) == pytest.approx(0)


def test_of_several_entries_the_one_that_matches_least_counts_and_none_is_another_ones_rival() -> None:
    shown = [hit("a", 0.9), hit("b", 0.88), hit("a", 0.5)]
    assert match_odds(shown, [*shown, hit("c", 0.83)], BUNDLE) == pytest.approx(-0.2)


def test_without_a_rival_the_line_below_which_hits_are_dropped_stands_for_one() -> None:
    assert match_odds([hit("a", 0.65)], [hit("a", 0.65)], BUNDLE) == pytest.approx(-2.5)


def test_without_an_entry_or_without_a_curve_nothing_is_moved() -> None:
    text = hit("a", 0.2, Origin.TEXT_SEARCH)
    assert match_odds([text], [text, hit("b", 0.9)], BUNDLE) == 0
    assert match_odds([hit("a", 0.1)], [], Thresholds()) == 0
