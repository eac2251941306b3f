"""What the search router of QA-Dragon is told of a draft and its trace."""

from collections.abc import Sequence

import pytest

from quizglass_server.domain.state import Draft
from quizglass_server.policies.qa_dragon_signs import SIGNS, signs


@pytest.mark.parametrize(
    ("steps", "text", "shown"),
    [
        ([], "", ["no_answer"]),
        (["It is a red car."], "I don't know", ["no_answer"]),
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
