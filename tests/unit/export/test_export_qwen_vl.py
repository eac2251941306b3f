"""Every Qwen vision-language family as a scorer equals transformers, in torch and in ONNX Runtime."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from quizglass_bundle.fields import Patched  # noqa: E402
from quizglass_bundle.inputs.vision_inputs import patch_grid, patches  # noqa: E402
from quizglass_export.graphs.qwen_vl import VISION_CLASSES, vision_scorer  # noqa: E402
from quizglass_export.onnx.scorer_inputs import scorer_batch  # noqa: E402
from quizglass_export.onnx.tracing import write_onnx  # noqa: E402
from quizglass_export.parity import check_scorer, session  # noqa: E402
from quizglass_export.roles.shared.scorers import SEVERAL, VISION_AXES  # noqa: E402
from tests.support.bundles.tiny_vision_scorers import IMAGE, LABELS, made, pictured  # noqa: E402


def expected(model: Any, ids: list[int], pixels: list[np.ndarray], picture: Patched) -> np.ndarray:
    more = {}
    if pixels:
        more["pixel_values"] = torch.from_numpy(np.concatenate([patches(each, picture) for each in pixels]))
        more["image_grid_thw"] = torch.tensor([[1, *patch_grid(picture)]] * len(pixels))
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids]), **more).logits[0, -1, LABELS].numpy()


@pytest.mark.parametrize("kind", VISION_CLASSES)
@pytest.mark.parametrize(("width", "height"), [(112, 112), (140, 84)])
def test_logits_equal_transformers_for_any_length_batch_and_padding(
    tmp_path: Path, kind: str, width: int, height: int
) -> None:
    model = made(kind)
    picture = Patched(width=width, height=height, mean=(0.5,) * 3, std=(0.5,) * 3, patch=14, merge=2, temporal=2)
    prompts: list[tuple[list[int], list[np.ndarray]]] = [pictured(picture, seed, 2 + 4 * seed) for seed in range(4)]
    prompts.append(([5, 6, 7, 8, 9, 10, 12], []))

    def inputs(chosen: list[int]) -> dict[str, np.ndarray]:
        rows, pixels = zip(*(prompts[index] for index in chosen), strict=True)
        return scorer_batch(rows, IMAGE, picture, pixels)

    scorer = vision_scorer(model, LABELS, patch_grid(picture))
    example = {name: torch.from_numpy(value) for name, value in inputs([0, 3]).items()}
    write_onnx(scorer, example, VISION_AXES, "logits", tmp_path / "model.onnx")
    references = [expected(model, ids, pixels, picture) for ids, pixels in prompts]
    checks = check_scorer("planner", tmp_path / "model.onnx", references, inputs, 1e-4)
    assert all(check.passed for check in checks), checks


@pytest.mark.parametrize("kind", VISION_CLASSES)
@pytest.mark.parametrize(("width", "height"), [(112, 112), (84, 140)])
def test_a_graph_of_several_pictures_equals_transformers_whatever_each_row_shows(
    tmp_path: Path, kind: str, width: int, height: int
) -> None:
    model = made(kind)
    picture = Patched(width=width, height=height, mean=(0.5,) * 3, std=(0.5,) * 3, patch=14, merge=2, temporal=2)
    prompts = [pictured(picture, count, 3 + 2 * count, count) for count in (1, 2, 3, 2)]
    prompts.append(([5, 6, 7, 8, 9, 10, 12], []))

    def inputs(chosen: list[int]) -> dict[str, np.ndarray]:
        rows, pixels = zip(*(prompts[index] for index in chosen), strict=True)
        return scorer_batch(rows, IMAGE, picture, pixels)

    scorer = vision_scorer(model, LABELS, patch_grid(picture), several=True)
    example = {name: torch.from_numpy(value) for name, value in inputs([0, 4]).items()}
    path = tmp_path / "model.onnx"
    write_onnx(scorer, example, VISION_AXES | {"pixel_values": SEVERAL}, "logits", path)
    references = [expected(model, ids, pixels, picture) for ids, pixels in prompts]
    checks = check_scorer("planner", path, references, inputs, 1e-4)
    assert all(check.passed for check in checks), checks
    run = session(path)
    ids, pixels = prompts[1]
    shown, turned = (run.run(None, scorer_batch([ids], IMAGE, picture, [each]))[0] for each in (pixels, pixels[::-1]))
    assert np.abs(shown - turned).max() > 1e-3
