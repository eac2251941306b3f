"""A recipe with two tiny encoders: the shortest real build."""

from __future__ import annotations

import signal
from pathlib import Path

from quizglass_export import cli
from tests.support.bundles.tiny_checkpoints import image_model, text_model

RECIPE = """
format = 1
name = "small"
version = "1"
[samples]
source = "random"
count = 4
[roles.image_encoder]
checkpoint = "image_encoder"
[roles.text_encoder]
checkpoint = "text_encoder"
[roles.reader]
gate = 0.3
"""


def write_recipe(folder: Path) -> Path:
    """Checkpoints and `bundle.toml`; returns the latter. Weights are the same every time."""
    import torch

    torch.manual_seed(3)
    image_model(folder / "image_encoder", "clip_vision_model")
    text_model(folder / "text_encoder", "bert")
    recipe = folder / "bundle.toml"
    recipe.write_text(RECIPE)
    return recipe


def run(*arguments: str | Path) -> int:
    """The command in this process; its exit status."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        return cli.main([str(argument) for argument in arguments])
    finally:
        signal.signal(signal.SIGTERM, before)
