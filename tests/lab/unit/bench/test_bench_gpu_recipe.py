"""The planner's recipe on random weights, as the benchmark for cards runs it, on a small shape."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from bench.gpu import recipe
from bench.hostile.sections import Setup


def test_the_planner_s_recipe_takes_steps_on_random_weights(tmp_path: Path) -> None:
    part = recipe.run(Setup(True, tmp_path, tmp_path, lambda text: None))
    step, memory = part.rows
    assert step.name.startswith("planner's recipe, 0.00 billion parameters")
    assert (step.unit, memory.unit) == ("s", "GiB")
    assert [told["steps"] for told in part.data["runs"].values()] == [1, 3]
    assert all(told["config"]["rank"] == 32 and told["config"]["alpha"] == 128 for told in part.data["runs"].values())


def test_the_shape_is_that_of_two_billion_parameters() -> None:
    text = recipe.TEXT
    width, inner, layers = (int(text[name]) for name in ("hidden_size", "intermediate_size", "num_hidden_layers"))
    heads = (2 * int(text["num_attention_heads"]) + 2 * int(text["num_key_value_heads"])) * int(text["head_dim"])
    assert layers * width * (heads + 3 * inner) + width * int(text["vocab_size"]) == pytest.approx(1.72e9, rel=0.01)
