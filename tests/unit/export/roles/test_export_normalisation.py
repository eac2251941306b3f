"""What a checkpoint's own processor makes of a picture is what the server makes of it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

transformers = pytest.importorskip("transformers")

from quizglass_bundle.fields import Normalised  # noqa: E402
from quizglass_bundle.inputs import vision_inputs  # noqa: E402
from quizglass_export.errors import ExportError  # noqa: E402
from quizglass_export.roles.shared.job import normalisation  # noqa: E402

MEAN, STD = [0.5, 0.4, 0.3], [0.2, 0.3, 0.4]
FIXED = {"do_resize": False, "image_mean": MEAN, "image_std": STD}


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("ViTImageProcessor", {}),
        ("ViTImageProcessor", {"do_normalize": False}),
        ("ViTImageProcessor", {"rescale_factor": 1 / 127.5}),
        ("ViTImageProcessor", {"do_rescale": False}),
        ("EfficientNetImageProcessor", {}),
        ("EfficientNetImageProcessor", {"include_top": False}),
        ("EfficientNetImageProcessor", {"do_normalize": False}),
        ("EfficientNetImageProcessor", {"rescale_offset": True, "rescale_factor": 1 / 127.5}),
    ],
)
def test_pictures_are_what_the_checkpoints_own_processor_makes_of_them(
    tmp_path: Path, kind: str, how: dict[str, Any]
) -> None:
    picture = np.random.default_rng(5).integers(0, 256, (32, 48, 3), dtype=np.uint8)
    processor = getattr(transformers, kind)(**FIXED, **how)
    processor.save_pretrained(tmp_path)
    mean, std = normalisation(tmp_path / "preprocessor_config.json")
    served = vision_inputs.channels(picture, Normalised(width=48, height=32, mean=mean, std=std))
    expected = processor(picture, return_tensors="np")["pixel_values"][0]
    assert np.allclose(served, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"image_mean": MEAN}, "image_mean and image_std must be three numbers each"),
        ({"image_mean": [0.5, 0.4], "image_std": STD}, "image_mean and image_std must be three numbers each"),
        ({"image_mean": ["a", 0.4, 0.3], "image_std": STD}, "image_mean and image_std must be three numbers each"),
        ({"image_mean": [float("nan"), 0.4, 0.3], "image_std": STD}, "image_mean and image_std must be three numbers"),
        ({"image_mean": MEAN, "image_std": [0.2, 0.0, 0.4]}, r"image_std is \[0.2, 0.0, 0.4\]; each must be above 0"),
        ({"image_mean": MEAN, "image_std": STD, "rescale_factor": 0}, "rescale_factor is 0; it must be a number above"),
    ],
)
def test_a_preprocessor_file_that_cannot_be_used_is_named_with_its_key(
    tmp_path: Path, content: dict[str, Any], message: str
) -> None:
    file = tmp_path / "preprocessor_config.json"
    file.write_text(json.dumps(content))
    with pytest.raises(ExportError, match=rf"preprocessor_config\.json: {message}"):
        normalisation(file)
