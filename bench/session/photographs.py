"""What is said of photographs of two packages, spoilt as pocketworld's pictures are: nothing was fitted on these."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from bench.results import Row, at_least, at_most
from bench.sections import Part
from bench.session.coaching import BARS, auc
from bench.session.stage import Served, SessionSetup
from quizglass_lab.coaching.photographs import crop
from quizglass_server.session.coaching.coach import FAULTS, SURE, CaptureCoach

CLEAN = "none"
KINDS = (CLEAN, "blur", "dark", "tilt", "noise", "occlusion")
"""Truncation is none of them: whether a border cuts a thing needs labels of where things are."""
_NAMES = {
    "skimage/data": (
        "astronaut",
        "camera",
        "chelsea",
        "coffee",
        "coins",
        "motorcycle_left",
        "motorcycle_right",
        "rocket",
    ),
    "sklearn/datasets/images": ("china", "flower"),
}
_MOST_ALARMS = 2.0


async def photographs(setup: SessionSetup, _: Served) -> Part:
    """AUC of faults against clean crops of photographs, and false alarms on those."""
    files = list(found(setup.photographs)) if setup.photographs is not None else []
    if not files:
        raise ValueError(
            f"--photographs: {setup.photographs} has none of the pictures of skimage and sklearn; name a folder into "
            "which the wheels of scikit-image and scikit-learn were unpacked (pip download --no-deps, then "
            "python -m zipfile -e)"
        )
    return await asyncio.to_thread(_measured, files, setup.count(300, 6))


def found(root: Path) -> Iterator[Path]:
    """The photographs of the two packages below a folder, in the order of their names."""
    for path in sorted(root.rglob("*")):
        folder = next((names for folder, names in _NAMES.items() if f"/{folder}/" in path.as_posix()), ())
        if path.stem in folder and path.suffix in (".png", ".jpg"):
            yield path


def _measured(files: list[Path], count: int) -> Part:
    coach, rng = CaptureCoach(), random.Random(6105)
    wholes = [Image.open(path).convert("RGB") for path in files]
    logits = {
        kind: np.stack([coach.logits(crop(rng, rng.choice(wholes), kind)) for _ in range(count)]) for kind in KINDS
    }
    rows = []
    for kind in KINDS[1:]:
        column = [fault.value for fault in FAULTS].index(kind)
        both = np.concatenate([logits[CLEAN][:, column], logits[kind][:, column]])
        area = auc(both, np.arange(2 * count) >= count)
        rows.append(at_least(f"photographs: AUC of {kind} against clean crops", area, "", BARS[kind]))
    clean = [crop(rng, rng.choice(wholes), CLEAN) for _ in range(count)]
    for name, told in (("as served by default", SURE), ("of all faults", FAULTS)):
        judge = CaptureCoach(told).judge
        alarms = 100 * float(np.mean([bool(judge(pixels).fault) for pixels in clean]))
        rows.append(at_most(f"photographs: false alarms on clean crops, {name}", alarms, "%", _MOST_ALARMS))
    return Part([*rows, Row("photographs, of which all crops are", len(files), "")])
