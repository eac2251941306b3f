"""Labels of plans, from what a model knows."""

import pytest

from quizglass_lab.scoring.plans import plan_label


@pytest.mark.parametrize(
    ("own", "image", "gold", "plan"),
    [
        (True, False, False, "none"),
        (True, True, True, "none"),
        (False, True, False, "text"),
        (False, False, True, "image"),
        (False, False, False, "both"),
        (False, True, True, None),
    ],
)
def test_labels_follow_the_decomposition(own: bool, image: bool, gold: bool, plan: str | None) -> None:
    assert plan_label(own, image, gold) == plan
