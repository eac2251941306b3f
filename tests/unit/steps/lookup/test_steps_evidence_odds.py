"""Evidence of another colour than the question says is trusted less."""

from __future__ import annotations

import pytest

from quizglass.values import Origin
from quizglass_bundle.tuning import Match, Thresholds
from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.language.appearance import tells_other_colours
from quizglass_server.steps.lookup.matching import evidence_odds, match_odds

BIRD, PASSAGE = "Faca is a yellow bird.", "The price of the Faca is 61 crowns."


@pytest.mark.parametrize(
    ("question", "texts", "other"),
    [
        ("How much does the purple bird cost?", [BIRD, PASSAGE], True),
        ("How much does the yellow bird cost?", [BIRD, PASSAGE], False),
        ("How much does the bird cost?", [BIRD, PASSAGE], False),
        ("How much does the purple bird cost?", [PASSAGE], False),
        ("How much does the purple bird cost?", [], False),
        ("How much does the gray bird cost?", ["A grey bird."], False),
        ("Which is older, the yellow bird or the red car?", [BIRD, "Velmora is a red car."], False),
        ("Which is older, the yellow bird or the red car?", [BIRD], True),
        ("What does the Purple Rain cost?", [BIRD], False),
        ("Is this bird purple?", [BIRD], False),
        ("What does this orange cost?", [BIRD], False),
    ],
)
def test_evidence_tells_of_another_colour_where_it_names_some_and_not_that_of_what_is_meant(
    question: str, texts: list[str], other: bool
) -> None:
    assert tells_other_colours(question, texts) == other


@pytest.mark.parametrize(("colour", "less"), [("purple", 6.0), ("yellow", 0.0)])
def test_a_bundle_says_how_much_less_such_evidence_is_trusted(colour: str, less: float) -> None:
    hit = Evidence("1", Origin.IMAGE_SEARCH, "faca", "Faca", BIRD, search_score=0.9, used=True)
    question = f"How much does the {colour} bird cost?"
    match = Match(similarity=1, margin=1, offset=-1)
    bundle = Thresholds(support_match=match, support_colour=6)
    assert evidence_odds(question, [hit], [hit], bundle) == pytest.approx(match_odds([hit], [hit], bundle) - less)
    assert evidence_odds(question, [hit], [hit], Thresholds()) == 0
