"""A scorer in two graphs gives what the single graph gives, in every precision that both are exported in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from bench.export.parity import exported, plan_role  # noqa: E402
from quizglass_export.bundles.onnx_graph import summarise  # noqa: E402
from quizglass_export.parity import session  # noqa: E402
from quizglass_export.roles.shared.samples import random_samples  # noqa: E402
from quizglass_export.roles.shared.scorers import VisionPrompts  # noqa: E402
from tests.support.bundles.tiny_checkpoints import scatter  # noqa: E402
from tests.support.bundles.tiny_qwen import qwen3_vl, write_tokenizer  # noqa: E402

ACCEPT = {"labels": 0.5, "drift": 0.5}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("c")
    scatter(qwen3_vl(write_tokenizer(folder / "tokenizer.json"))).save_pretrained(folder)
    return folder


def logits(folder: Path, spec: dict[str, Any], *, tower: bool) -> tuple[Any, np.ndarray]:
    """A planner's part, and its logits for some samples, one at a time."""
    plan = plan_role(folder, "planner", {**spec, "tower": tower}, {"source": "random", "count": 4})
    job, part = exported(plan, "planner", random_samples(6), folder)
    prompts, run = VisionPrompts(job, part), session(folder / part.model)
    return part, np.stack([run.run(["logits"], prompts.inputs([index]))[0][0] for index in range(6)])


@pytest.mark.parametrize(
    ("precision", "weights"),
    [
        ("fp32", "float16"),
        ("fp16", "float16"),
        ("int8-rows", "int8"),
        ("int8-weights", "uint8"),
        ("int4-weights", "uint8"),
        ("cuda-fp16", "float16"),
        ("tensorrt-fp16", "float16"),
    ],
)
def test_two_graphs_round_as_one_does(
    tmp_path: Path, checkpoint: Path, monkeypatch: pytest.MonkeyPatch, precision: str, weights: str
) -> None:
    for module in ("products.SMALLEST", "weight_only.SMALLEST", "quantise._SMALLEST"):
        monkeypatch.setattr(f"quizglass_export.onnx.{module}", 1024)
    picture = {"width": 112, "height": 84}
    spec = {"checkpoint": checkpoint, "picture": picture, "precision": precision, "accept": ACCEPT}
    part, two = logits(tmp_path / "two", spec, tower=True)
    whole, one = logits(tmp_path / "one", spec, tower=False)
    assert whole.tower is None
    assert np.abs(one - two).max() < 1e-4, "what crosses between the graphs is not rounded again"
    assert np.ptp(one, axis=0).max() > 1e-2
    assert weights in summarise(tmp_path / "two" / part.tower).weights
