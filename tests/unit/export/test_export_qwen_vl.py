"""Every Qwen vision-language family as a scorer equals transformers, in torch and in ONNX Runtime."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from quizglass_export.graphs.qwen_vl import VISION_CLASSES, vision_scorer  # noqa: E402
from quizglass_export.onnx.file import write_onnx  # noqa: E402
from quizglass_export.onnx.scorer_inputs import scorer_batch  # noqa: E402
from quizglass_export.parity import check_scorer, session  # noqa: E402
from quizglass_export.roles.shared.scorers import SEVERAL, VISION_AXES  # noqa: E402
from quizglass_server.models.fields import Patched  # noqa: E402
from quizglass_server.models.vision_inputs import image_tokens, patch_grid, patches  # noqa: E402

IMAGE, START, END = 90, 91, 92
LABELS = [7, 3, 11]
TEXT = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "vocab_size": 100,
    "initializer_range": 0.2,
}
TOKENS = {"image_token_id": IMAGE, "video_token_id": 93, "vision_start_token_id": START, "vision_end_token_id": END}


def qwen2_vl() -> Any:
    return transformers.Qwen2VLConfig(
        text_config={**TEXT, "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}},
        vision_config={"depth": 3, "embed_dim": 32, "hidden_size": 32, "num_heads": 2, "mlp_ratio": 2},
        **TOKENS,
    )


def qwen2_5_vl() -> Any:
    return transformers.Qwen2_5_VLConfig(
        text_config={**TEXT, "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}},
        vision_config={
            "depth": 3,
            "hidden_size": 32,
            "intermediate_size": 40,
            "num_heads": 2,
            "out_hidden_size": 32,
            "window_size": 56,
            "fullatt_block_indexes": [1],
        },
        **TOKENS,
    )


def qwen3_vl(deep: tuple[int, ...] = (2, 0)) -> Any:
    return transformers.Qwen3VLConfig(
        text_config={
            **TEXT,
            "head_dim": 16,
            "rope_scaling": {"rope_type": "default", "mrope_section": [2, 3, 3], "mrope_interleaved": True},
        },
        vision_config={
            "depth": 3,
            "hidden_size": 32,
            "intermediate_size": 40,
            "num_heads": 2,
            "out_hidden_size": 32,
            "patch_size": 14,
            "num_position_embeddings": 25,
            "deepstack_visual_indexes": list(deep),
        },
        **TOKENS,
    )


CONFIGS = {"qwen2_vl": qwen2_vl, "qwen2_5_vl": qwen2_5_vl, "qwen3_vl": qwen3_vl}


def made(kind: str) -> Any:
    torch.manual_seed(4)
    config = CONFIGS[kind]()
    config._attn_implementation = "eager"
    model = getattr(transformers, VISION_CLASSES[kind])(config).eval()
    with torch.no_grad():  # every weight matters, also those that start as zeros or ones
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    return model


def pictured(picture: Patched, seed: int, words: int, count: int = 1) -> tuple[list[int], list[np.ndarray]]:
    """Token ids with so many pictures, and the pictures; before each picture but the first stand two words."""
    rng = np.random.default_rng(seed)
    pixels = [rng.integers(0, 256, (picture.height, picture.width, 3), dtype=np.uint8) for _ in range(count)]
    span = [START, *[IMAGE] * image_tokens(picture), END]
    ids = [1, *span]
    for _ in pixels[1:]:
        ids += [*rng.integers(12, 80, 2).tolist(), *span]
    return [*ids, *rng.integers(12, 80, words).tolist()], pixels


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
