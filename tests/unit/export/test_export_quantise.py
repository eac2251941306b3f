"""INT8 products whose rows are quantised one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from quizglass_export.onnx.quantise import ALONE, ROWS, quantise_products  # noqa: E402
from quizglass_export.onnx.tracing import write_onnx  # noqa: E402
from quizglass_export.parity import session  # noqa: E402
from quizglass_server.roles.shared import shared_prompts  # noqa: E402

WIDTH = 160


class Two(torch.nn.Module):  # type: ignore[misc]
    """A product with a bias, one without, both of the same states, and one too small to be worth it."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Linear(WIDTH, 128)
        self.second = torch.nn.Linear(WIDTH, 128, bias=False)
        self.small = torch.nn.Linear(128, 2)

    def forward(self, x: Any) -> Any:
        return self.small(torch.relu(self.first(x)) * self.second(x))


def files(tmp_path: Path) -> tuple[Any, Any]:
    """Sessions of the model in float32 and INT8."""
    exact, coarse = tmp_path / "exact.onnx", tmp_path / "coarse.onnx"
    write_onnx(Two().eval(), {"x": torch.randn(3, WIDTH)}, {"x": {0: "rows"}, "y": {0: "rows"}}, "y", exact)
    assert quantise_products(exact, coarse) == 2
    assert coarse.stat().st_size < 0.4 * exact.stat().st_size
    return session(exact), session(coarse)


def run(model: Any, x: np.ndarray) -> np.ndarray:
    return np.asarray(model.run(["y"], {"x": x})[0])


def test_results_are_near_and_the_file_says_how_it_wants_to_be_run(tmp_path: Path) -> None:
    exact, coarse = files(tmp_path)
    x = np.random.default_rng(0).standard_normal((64, WIDTH)).astype(np.float32)
    wanted = run(exact, x)
    assert np.abs(run(coarse, x) - wanted).mean() < 0.03 * np.abs(wanted).mean()
    assert coarse.get_modelmeta().custom_metadata_map[ROWS] == ALONE
    assert (ROWS, ALONE) == (shared_prompts.ROWS, shared_prompts.ALONE)
    names = [node.name for node in coarse.get_inputs()]
    assert names == ["x"]


def test_an_outlier_in_one_row_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    _, coarse = files(tmp_path)
    x = np.random.default_rng(1).standard_normal((8, WIDTH)).astype(np.float32)
    before = run(coarse, x)
    x[3] *= 1e4
    after = run(coarse, x)
    others = [row for row in range(8) if row != 3]
    assert np.abs(before[others] - after[others]).max() <= 1e-6
    assert np.isfinite(after).all()


def test_rows_of_zeros_give_what_they_should(tmp_path: Path) -> None:
    exact, coarse = files(tmp_path)
    zeros = np.zeros((2, WIDTH), np.float32)
    assert np.allclose(run(coarse, zeros), run(exact, zeros), atol=1e-5)
