from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from quizglass_bundle.fields import Patched  # noqa: E402
from quizglass_bundle.inputs.vision_inputs import patch_grid, patches  # noqa: E402
from quizglass_export.checks import at_least, at_most  # noqa: E402
from quizglass_export.gguf.drift import drift  # noqa: E402
from quizglass_export.graphs.scorer_text import TextScorer  # noqa: E402
from quizglass_export.graphs.scorer_vl import VisionScorer  # noqa: E402
from quizglass_export.onnx.file import halve_weights  # noqa: E402
from quizglass_export.onnx.scorer_file import without_past, write_text_scorer  # noqa: E402
from quizglass_export.onnx.scorer_inputs import scorer_batch  # noqa: E402
from quizglass_export.onnx.tracing import write_onnx  # noqa: E402
from quizglass_export.parity import check_scorer, check_vectors, session  # noqa: E402
from tests.support.bundles import tiny_vision_scorers  # noqa: E402
from tests.support.bundles.tiny_vision_scorers import IMAGE, LABELS, qwen2_5_vl  # noqa: E402

ROWS = {0: "batch", 1: "sequence"}
TEXT_AXES = {"input_ids": ROWS, "attention_mask": ROWS, "logits": {0: "batch"}}
AXES = TEXT_AXES | {"position_ids": {1: "batch", 2: "sequence"}, "pixel_values": {0: "batch"}}


def spec(width: int, height: int) -> Patched:
    return Patched(width=width, height=height, mean=(0.5,) * 3, std=(0.5,) * 3, patch=14, merge=2, temporal=2)


def vision_model(full_blocks: list[int]) -> Any:
    torch.manual_seed(1)
    config = qwen2_5_vl(full_blocks)
    config._attn_implementation = "eager"
    return transformers.Qwen2_5_VLForConditionalGeneration(config).eval()


def pictured(picture: Patched, seed: int, words: int) -> tuple[list[int], np.ndarray]:
    ids, (pixels,) = tiny_vision_scorers.pictured(picture, seed, words)
    return ids, pixels


def expected(model: Any, ids: list[int], pixels: np.ndarray | None, picture: Patched) -> np.ndarray:
    more = {}
    if pixels is not None:
        more["pixel_values"] = torch.from_numpy(patches(pixels, picture))
        more["image_grid_thw"] = torch.tensor([[1, *patch_grid(picture)]])
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids]), **more).logits[0, -1, LABELS].numpy()


def tensors(batch: dict[str, np.ndarray]) -> dict[str, Any]:
    return {name: torch.from_numpy(value) for name, value in batch.items()}


@pytest.mark.parametrize(
    ("full_blocks", "width", "height"),
    [([0, 1, 2], 112, 112), ([1], 112, 112), ([2], 140, 84), ([], 84, 140), ([0], 56, 56)],
)
def test_the_scorer_equals_transformers_with_full_and_windowed_layers(
    tmp_path: Path, full_blocks: list[int], width: int, height: int
) -> None:
    model, picture = vision_model(full_blocks), spec(width, height)
    prompts = [pictured(picture, seed, 4 + 3 * seed) for seed in range(3)]
    batch = scorer_batch([ids for ids, _ in prompts], IMAGE, picture, [[pixels] for _, pixels in prompts])
    scorer = VisionScorer(model, LABELS, patch_grid(picture)).eval()
    with torch.no_grad():
        found = scorer(**tensors(batch)).numpy()
    for row, (ids, pixels) in zip(found, prompts, strict=True):
        assert np.abs(row - expected(model, ids, pixels, picture)).max() < 1e-4
    write_onnx(scorer, tensors(batch), AXES, "logits", tmp_path / "model.onnx")
    assert np.abs(session(tmp_path / "model.onnx").run(None, batch)[0] - found).max() < 1e-4


def test_one_graph_takes_any_batch_length_and_padding_and_rows_without_a_picture(tmp_path: Path) -> None:
    model, picture = vision_model([0, 1, 2]), spec(56, 56)
    prompts: list[tuple[list[int], np.ndarray | None]] = [pictured(picture, seed, 2 + seed) for seed in range(4)]
    prompts.append(([5, 6, 7, 8, 9, 10, 12], None))
    scorer = VisionScorer(model, LABELS, patch_grid(picture)).eval()
    path = tmp_path / "model.onnx"

    def inputs(chosen: list[int]) -> dict[str, np.ndarray]:
        rows, pixels = zip(*(prompts[index] for index in chosen), strict=True)
        return scorer_batch(rows, IMAGE, picture, [[] if each is None else [each] for each in pixels])

    write_onnx(scorer, tensors(inputs([0, 1])), AXES, "logits", path)
    references = [expected(model, ids, pixels, picture) for ids, pixels in prompts]
    assert all(check.passed for check in check_scorer("planner", path, references, inputs, 1e-4))

    run = session(path)
    alone = run.run(None, inputs([0]))[0]
    padded_left = inputs([0])
    for name, filler in (("input_ids", 1), ("attention_mask", 0), ("position_ids", 0)):
        value = padded_left[name]
        padded_left[name] = np.concatenate([np.full((*value.shape[:-1], 5), filler, np.int64), value], axis=-1)
    assert np.abs(run.run(None, padded_left)[0] - alone).max() < 1e-4


def test_a_rows_score_does_not_depend_on_its_neighbours(tmp_path: Path) -> None:
    model, picture = vision_model([0, 1, 2]), spec(56, 56)
    prompts = [pictured(picture, seed, 6) for seed in range(3)]
    batch = scorer_batch([ids for ids, _ in prompts], IMAGE, picture, [[pixels] for _, pixels in prompts])
    write_onnx(VisionScorer(model, LABELS, (4, 4)).eval(), tensors(batch), AXES, "logits", tmp_path / "m.onnx")
    run = session(tmp_path / "m.onnx")
    before = run.run(None, batch)[0]
    batch["pixel_values"][2] *= 100
    after = run.run(None, batch)[0]
    assert np.abs(before[:2] - after[:2]).max() < 1e-5
    assert np.abs(before[2] - after[2]).max() > 1e-3


def text_model(sliding: bool) -> Any:
    torch.manual_seed(2)
    config = transformers.Qwen3Config(
        vocab_size=100,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        initializer_range=0.2,
        use_sliding_window=sliding,
        sliding_window=4 if sliding else None,
        max_window_layers=1,
        attn_implementation="eager",
    )
    return transformers.Qwen3ForCausalLM(config).eval()


@pytest.mark.parametrize("sliding", [False, True])
def test_the_text_scorer_equals_transformers_in_padded_batches(tmp_path: Path, sliding: bool) -> None:
    model = text_model(sliding)
    rows = [np.random.default_rng(seed).integers(1, 99, 5 + 6 * seed).tolist() for seed in range(4)]

    def inputs(chosen: list[int]) -> dict[str, np.ndarray]:
        return scorer_batch([rows[index] for index in chosen])

    write_onnx(TextScorer(model, LABELS).eval(), tensors(inputs([0, 2])), TEXT_AXES, "logits", tmp_path / "model.onnx")
    with torch.no_grad():
        references = [model(input_ids=torch.tensor([row])).logits[0, -1, LABELS].numpy() for row in rows]
    checks = check_scorer("reranker", tmp_path / "model.onnx", references, inputs, 1e-4)
    assert all(check.passed for check in checks), checks


@pytest.mark.parametrize("family", ["Llama", "Qwen2", "Gemma"])
def test_scorers_of_other_families_equal_transformers(tmp_path: Path, family: str) -> None:
    torch.manual_seed(3)
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
    own = {"head_dim": 16} if family == "Gemma" else {}
    config = getattr(transformers, f"{family}Config")(
        vocab_size=100, num_key_value_heads=1, initializer_range=0.2, attn_implementation="eager", **sizes, **own
    )
    model = getattr(transformers, f"{family}ForCausalLM")(config).eval()
    with torch.no_grad():  # norms and biases that begin with ones and zeros would hide how they are used
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    rows = [np.random.default_rng(seed).integers(1, 99, 5 + 6 * seed).tolist() for seed in range(4)]
    write_text_scorer(model, LABELS, tmp_path / "model.onnx")
    completed = without_past(tmp_path / "model.onnx")
    with torch.no_grad():
        references = [model(input_ids=torch.tensor([row])).logits[0, -1, LABELS].numpy() for row in rows]
    checks = check_scorer(
        "planner",
        tmp_path / "model.onnx",
        references,
        lambda chosen: completed(scorer_batch([rows[index] for index in chosen])),
        1e-4,
    )
    assert all(check.passed for check in checks), checks


def test_a_wrong_export_fails_the_check(tmp_path: Path) -> None:
    model = text_model(False)
    rows = [[1, 2, 3], [4, 5, 6, 7]]
    write_onnx(TextScorer(model, LABELS).eval(), tensors(scorer_batch(rows)), TEXT_AXES, "logits", tmp_path / "m.onnx")
    with torch.no_grad():
        right = [model(input_ids=torch.tensor([row])).logits[0, -1, LABELS].numpy() for row in rows]
    wrong = [right[0], right[1][::-1].copy()]
    checks = check_scorer("reranker", tmp_path / "m.onnx", wrong, lambda i: scorer_batch([rows[k] for k in i]), 1e-3)
    assert [check.passed for check in checks] == [False] * 3
    assert checks[2].value == 0.5
    assert not check_vectors("image_encoder", right[:1], [-right[0]], 0.9999).passed


@pytest.mark.parametrize("place", [0, 1, 2])
def test_nan_anywhere_fails_a_comparison(place: int) -> None:
    values = [0.5, 0.5, 0.5]
    values[place] = float("nan")
    assert not at_most("planner", "difference", values, 1).passed
    assert not at_least("planner", "cosine", values, 0.1).passed
    rows = [np.full((1, 2), value, np.float32) for value in values]
    assert np.isnan(drift(rows, [np.zeros((1, 2), np.float32)] * 3).largest)


def test_halving_loses_nothing_and_leaves_other_weights_alone(tmp_path: Path) -> None:
    class Two(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.exact = torch.nn.Parameter(torch.randn(80, 80).half().float())
            self.fine = torch.nn.Parameter(torch.randn(80, 80))
            self.huge = torch.nn.Parameter(torch.full((80, 80), 1e6))
            self.brain = torch.nn.Parameter(torch.randn(80, 80).bfloat16().float() * 2.0**40)

        def forward(self, x: Any) -> Any:
            return x @ self.exact @ self.fine + x @ self.huge + x @ self.brain

    path, x = tmp_path / "m.onnx", torch.randn(3, 80)
    write_onnx(Two().eval(), {"x": x}, {"x": {0: "batch"}, "y": {0: "batch"}}, "y", path)
    before = session(path).run(None, {"x": x.numpy()})[0]
    assert halve_weights(path) == 2 * 80 * 80 * 2  # float16 and bfloat16
    assert np.array_equal(session(path).run(None, {"x": x.numpy()})[0], before)
