"""Vision-language scorers for CUDA give what the plain graphs compute in PyTorch; on the CPU, one prompt a run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from quizglass_bundle.inputs.prompts import PromptTokenizer  # noqa: E402
from quizglass_bundle.inputs.vision_inputs import image_span, patch_grid  # noqa: E402
from quizglass_export.graphs.card_decoder import card_vision_scorer  # noqa: E402
from quizglass_export.graphs.qwen_vl import vision_scorer  # noqa: E402
from quizglass_export.onnx.precision import to_float16  # noqa: E402
from quizglass_export.onnx.scorer_inputs import scorer_batch  # noqa: E402
from quizglass_export.onnx.tracing import write_onnx  # noqa: E402
from quizglass_export.parity import session  # noqa: E402
from quizglass_export.roles.shared.scorers import ONE_PROMPT  # noqa: E402
from tests.support.bundles import tiny_qwen  # noqa: E402

_LABELS = [3, 4, 9]
_IMAGE = "<|image_pad|>"


def tensors(given: dict[str, Any]) -> dict[str, Any]:
    return {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in given.items()}


_WINDOWS = {"fullatt_block_indexes": [2], "window_size": 112}


@pytest.mark.parametrize(
    ("make", "side"),
    [
        (lambda path: tiny_qwen.qwen2_5_vl(path, _WINDOWS, initializer_range=0.06), 224),
        (tiny_qwen.qwen2_vl, 112),
        (tiny_qwen.qwen3_vl, 112),
    ],
    ids=["qwen2_5_vl", "qwen2_vl", "qwen3_vl"],
)
def test_fused_operators_compute_the_model(tmp_path: Path, make: Callable[[Path], Any], side: int) -> None:
    tokenizer = tiny_qwen.write_tokenizer(tmp_path / "tokenizer.json")
    model, spec, known = make(tokenizer), tiny_qwen.spec(side, side), PromptTokenizer(tokenizer)
    span, image = image_span(known, _IMAGE, spec), known.token_id(_IMAGE)
    rng = np.random.default_rng(1)
    prompts = [[*[5, 6][:before], *span, *rng.integers(1, 99, after)] for before, after in ((2, 3), (1, 17), (2, 9))]
    pictures = [rng.integers(0, 255, (spec.height, spec.width, 3)).astype(np.uint8) for _ in prompts]
    given = [scorer_batch([ids], image, spec, [[seen]]) for ids, seen in zip(prompts, pictures, strict=True)]
    plain = vision_scorer(model, _LABELS, patch_grid(spec))
    with torch.no_grad():
        expected = np.concatenate([plain(*tensors(each).values()).numpy() for each in given])
    path = tmp_path / "model.onnx"
    fused = card_vision_scorer(model, _LABELS, patch_grid(spec))
    write_onnx(fused, tensors(given[0]), ONE_PROMPT, "logits", path)
    to_float16(path, path)
    run = session(path)
    found = np.concatenate([run.run(["logits"], each)[0] for each in given])
    assert np.ptp(expected) > 0.1
    np.testing.assert_allclose(found, expected, atol=5e-3)


def test_a_form_without_fused_operators_is_named(tmp_path: Path) -> None:
    from quizglass_export.errors import ExportError

    model = tiny_qwen.qwen2_vl(tiny_qwen.write_tokenizer(tmp_path / "tokenizer.json"))
    model.model.language_model.config.hidden_act = "gelu"
    with pytest.raises(ExportError, match=r"hidden_act 'gelu' has no graph for a card.* choose precision fp16"):
        card_vision_scorer(model, _LABELS, patch_grid(tiny_qwen.spec()))
