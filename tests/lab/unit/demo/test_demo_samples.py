"""The page's sample pictures show the world that the demo imports, with questions that the demo asks."""

import json
from pathlib import Path

import numpy as np
from PIL import Image

from quizglass.session import CaptureFault
from quizglass_lab.demo.samples import OUT, samples
from quizglass_server.session.coaching.coach import CaptureCoach

MANIFEST = Path(__file__).parents[4] / "models" / "starter" / "bundle" / "manifest.json"


def test_the_pages_pictures_are_of_the_demos_world() -> None:
    told = json.loads((OUT / "samples.json").read_text())
    assert told["bundle"] == json.loads(MANIFEST.read_text())["name"], "the page shows them with that bundle alone"
    listed = told["samples"]
    drawn = list(samples())
    assert [(each["alt"], each["questions"]) for each in listed] == [(alt, [question]) for _, alt, question in drawn]
    for each, (picture, _, _) in zip(listed, drawn, strict=True):
        with Image.open(OUT / each["file"]) as image:
            kept = np.asarray(image.convert("RGB"))
        # Versions of Pillow may round a blend or a letter's edge differently.
        assert np.abs(kept.astype(int) - np.asarray(picture.convert("RGB"), int)).mean() < 1, each["file"]
        assert CaptureCoach().judge(kept).fault is CaptureFault.NONE, each["file"]
