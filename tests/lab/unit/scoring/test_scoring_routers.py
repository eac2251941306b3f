"""What routers are measured beside: a rule that always gives the commonest label."""

import numpy as np
import pytest

from quizglass_lab.logistic_regression import commonest_right


@pytest.mark.parametrize(
    ("fitted", "tested", "right"), [([0, 2, 2, 1], [2, 2, 0, 2], 0.75), ([0, 0, 1], [1, 1, 2], 0.0), ([3], [3], 1.0)]
)
def test_the_commonest_label_of_those_fitted_on_is_measured_on_the_others(
    fitted: list[int], tested: list[int], right: float
) -> None:
    assert commonest_right(np.array(fitted), np.array(tested)) == right
