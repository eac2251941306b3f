"""Parity of every ONNX architecture with transformers: the worst case over lengths, batches, paddings and pictures."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.export.architectures import ARCHITECTURES, BATCHES, Architecture, Size, samples
from bench.export.parity import checked, plan_role, row
from bench.export.setup import Setup
from bench.results import Row
from bench.sections import Part
from quizglass_export.checks import Check

_SAMPLES, _FEW = 24, 6
MEASURES = {
    "largest difference of logits": "",
    "smallest cosine": "",
    "largest difference of boxes": "pixels",
}
"""Beginning of a comparison's name, and its unit."""


def run(setup: Setup) -> Part:
    """Export each architecture for each of its picture sizes, and compare."""
    import torch
    import transformers

    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    part = Part()
    for architecture in ARCHITECTURES:
        setup.say(f"graphs: {architecture.name}")
        with tempfile.TemporaryDirectory(prefix="quizglass-bench-") as folder:
            part.rows += measured(architecture, Path(folder), setup.count(_SAMPLES, _FEW))
    return part


def measured(architecture: Architecture, folder: Path, count: int) -> list[Row]:
    """The rows of one architecture."""
    architecture.make(folder / "checkpoint")
    checks: list[Check] = []
    for size in architecture.sizes or (None,):
        spec: dict[str, Any] = {"checkpoint": folder / "checkpoint", **architecture.spec}
        if size is not None:
            spec["picture"] = {"width": size[0], "height": size[1]}
        plan = plan_role(folder, architecture.role, spec, {"source": "random", "count": count, "batches": BATCHES})
        checks += checked(plan, architecture.role, samples(count), folder / "files")
    how = on(count, architecture.sizes, BATCHES if architecture.role != "detector" else ())
    found = [name for name in MEASURES if any(check.measure.startswith(name) for check in checks)]
    return [row(architecture.name, name, MEASURES[name], checks, how) for name in found]


def on(count: int, sizes: Sequence[Size], batches: Sequence[int]) -> str:
    """With what something was compared, and on what."""
    pictures = ", pictures of " + ", ".join(f"{width} × {height}" for width, height in sizes) if sizes else ""
    return f"transformers, {count} samples, batches of {', '.join(map(str, (1, *batches)))}{pictures}"
