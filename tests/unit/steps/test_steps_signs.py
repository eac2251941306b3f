"""What the search router of QA-Dragon reads about a draft and its trace."""

from collections.abc import Sequence

import pytest

from quizglass_server.domain.state import Draft
from quizglass_server.steps.signs import SIGNS, features, signs


@pytest.mark.parametrize(
    ("steps", "text", "shown"),
    [
        ([], "", ["no_answer"]),
        (["It is a red car."], "I don't know", ["no_answer"]),
        (["I can\u2019t see its maker."], "I don\u2019t know", ["no_answer", "undetermined"]),
        (["Its maker cannot be seen."], "red", ["undetermined"]),
        (["It is probably a mill."], "mill", ["doubt"]),
        ([], "45 crowns", ["number"]),
        ([], "the sign says “open”", ["quoted"]),
        ([], "Ana Bex", ["named"]),
        (["Add the two prices."], "12", ["number", "calculation"]),
        (["Translate the sign."], "bread", ["translation"]),
        (["It is a red car."], "red", []),
    ],
)
def test_signs_of_a_draft(steps: Sequence[str], text: str, shown: list[str]) -> None:
    assert signs(Draft(text), steps) == shown
    assert set(shown) <= set(SIGNS)


def test_a_linear_router_is_given_them_as_numbers() -> None:
    numbers = features(Draft("12", (0.5, 1.0)), ["number"])
    assert numbers["number"] == 1.0
    assert numbers["doubt"] == 0.0
    assert (numbers["p_min"], numbers["p_mean"]) == (0.5, 0.75)
    assert set(numbers) == {*SIGNS, "p_min", "p_mean"}
    assert features(Draft(), [])["p_mean"] == 0.0
