"""Scenes rendered once, as the model sees them, in several processes. Knows no models, so that those begin quickly."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from quizglass_lab.pocketworld.draw import draw_scene
from quizglass_lab.pocketworld.scenes import Scene
from quizglass_lab.starter.data.processes import in_processes
from quizglass_lab.starter.model.sizes import PICTURE

_FINE_SHARE = 0.15
"""Share drawn at the serving size of 448; the others at 224, which is three times cheaper and nearly the same."""
_DRAWN_TOGETHER = 250


def render(scene: Scene, fine: bool = False) -> NDArray[np.uint8]:
    """The model's view of a scene: uint8 [112, 112, 3], reduced with the server's bicubic filter."""
    picture = draw_scene(scene, 448 if fine else 224).resize((PICTURE, PICTURE), Image.Resampling.BICUBIC)
    return np.asarray(picture, dtype=np.uint8)


def render_all(scenes: Iterable[Scene], count: int, path: Path, seed: int, workers: int = 1) -> NDArray[np.uint8]:
    """Render to a .npy of [count, 112, 112, 3], unless it is there already; returned memory-mapped.

    With several `workers` processes draw; the pictures are the same.
    """
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        rng = random.Random(seed)
        part = path.with_suffix(".part.npy")
        pictures = np.lib.format.open_memmap(part, "w+", np.uint8, (count, PICTURE, PICTURE, 3))
        jobs = [(scene, rng.random() < _FINE_SHARE) for scene in scenes]
        parts = [jobs[start : start + _DRAWN_TOGETHER] for start in range(0, len(jobs), _DRAWN_TOGETHER)]
        for number, drawn in enumerate(in_processes(_draw, parts, workers)):
            start = number * _DRAWN_TOGETHER
            pictures[start : start + len(drawn)] = drawn
        pictures.flush()
        part.rename(path)
    stored: NDArray[np.uint8] = np.load(path, mmap_mode="r")
    return stored


def _draw(jobs: Sequence[tuple[Scene, bool]]) -> NDArray[np.uint8]:
    return np.stack([render(scene, fine) for scene, fine in jobs])
