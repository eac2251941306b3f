"""Q-Former and detectors: their graphs equal transformers, in torch and in ONNX Runtime."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from transformers.models.grounding_dino import modeling_grounding_dino  # noqa: E402

from quizglass_export.graphs.detectors import GroundingDino, Owlv2Phrases, Owlv2Pictures, exportable_masks, phrase_masks  # noqa: E402
from quizglass_export.graphs.q_former import QFormerClassifier, QFormerQuestion, QFormerText  # noqa: E402
from quizglass_export.onnx.tracing import write_onnx  # noqa: E402
from quizglass_export.parity import session  # noqa: E402
from tests.support.bundles.tiny_checkpoints import blip2, grounding_dino, owlv2  # noqa: E402

ROWS = {0: "batch", 1: "sequence"}
MASKS = modeling_grounding_dino.generate_masks_with_special_tokens_and_transfer_map


def texts(rows: int, longest: int, vocabulary: int, seed: int = 0) -> dict[str, Any]:
    """Padded rows of different lengths."""
    random = np.random.default_rng(seed)
    ids, mask = torch.zeros(rows, longest, dtype=torch.int64), torch.zeros(rows, longest, dtype=torch.int64)
    for row in range(rows):
        length = longest - row
        ids[row, :length] = torch.from_numpy(random.integers(1, vocabulary, length))
        mask[row, :length] = 1
    return {"input_ids": ids, "attention_mask": mask}


def run(path: Path, inputs: dict[str, Any], outputs: list[str] | None = None) -> list[np.ndarray]:
    return session(path).run(outputs, {name: value.numpy() for name, value in inputs.items()})


def test_q_former_vectors_and_logits_equal_transformers(tmp_path: Path) -> None:
    model = blip2()
    pixels = torch.randn(3, 3, 28, 28)
    given = texts(3, 9, 60)
    with torch.no_grad():
        expected = model(pixel_values=pixels, **given)
        matched = model(pixel_values=pixels, **given, use_image_text_matching_head=True).logits_per_image
    example = texts(2, 5, 60)
    batch = {"pixel_values": {0: "batch"}, "image_embeds": {0: "batch"}, "text_embeds": {0: "batch"}}
    axes = batch | {"input_ids": ROWS, "attention_mask": ROWS, "logits": {0: "batch"}}

    def export(module: Any, names: tuple[str, ...], output: str) -> Path:
        inputs = {name: ({"pixel_values": pixels[:2]} | example)[name] for name in names}
        chosen = {name: axes[name] for name in (*names, output)}
        write_onnx(module.eval(), inputs, chosen, output, tmp_path / f"{output}.onnx")
        return tmp_path / f"{output}.onnx"

    names = ("pixel_values", "input_ids", "attention_mask")
    caught: list[Any] = []
    model.qformer.register_forward_hook(lambda *call: caught.append(call[2].last_hidden_state))
    with torch.no_grad():
        model(pixel_values=pixels, **given, use_image_text_matching_head=True)
        asked = torch.nn.functional.normalize(
            model.vision_projection(caught[0][:, : model.config.num_query_tokens]), dim=-1
        )
    images = run(export(QFormerQuestion(model), names, "image_embeds"), {"pixel_values": pixels, **given})[0]
    assert np.abs(images - asked.numpy()).max() < 1e-5
    assert np.abs(images - expected.image_embeds.numpy()).max() > 1e-3
    words = run(export(QFormerText(model), ("input_ids", "attention_mask"), "text_embeds"), given)[0]
    assert np.abs(words - expected.text_embeds.numpy()).max() < 1e-5
    head = QFormerClassifier(model, model.itm_head.weight, model.itm_head.bias)
    logits = run(export(head, names, "logits"), {"pixel_values": pixels, **given})[0]
    assert np.abs(logits - matched.numpy()).max() < 1e-4


TOKENS = st.sampled_from([*modeling_grounding_dino.SPECIAL_TOKENS, 5, 6, 7, 0])


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 12).flatmap(lambda n: st.lists(st.lists(TOKENS, min_size=n, max_size=n), min_size=1, max_size=3)))
def test_phrase_masks_equal_transformers_loop(rows: list[list[int]]) -> None:
    ids = torch.tensor([[101, *row] for row in rows])  # every text begins with [CLS]
    mask, places = phrase_masks(ids)
    expected_mask, expected_places = MASKS(ids)
    assert torch.equal(mask, expected_mask)
    assert torch.equal(places, expected_places)


def phrases(*lengths: int) -> dict[str, Any]:
    """One row: [CLS] words . words . [SEP]."""
    random = np.random.default_rng(3)
    row = [101]
    for length in lengths:
        row += [*random.integers(200, 1000, length).tolist(), 1012]
    ids = torch.tensor([[*row, 102]])
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def test_grounding_dino_finds_the_same_boxes_for_texts_of_any_length(tmp_path: Path) -> None:
    model = grounding_dino()
    module = GroundingDino(model).eval()
    axes = {"input_ids": {1: "tokens"}, "attention_mask": {1: "tokens"}, "logits": {2: "tokens"}}
    pixels = torch.randn(1, 3, 128, 128)
    with exportable_masks():
        write_onnx(
            module, {"pixel_values": pixels, **phrases(1, 2)}, axes, ["logits", "pred_boxes"], tmp_path / "m.onnx"
        )
    for lengths in ((1, 2), (2, 1, 4)):
        inputs = {"pixel_values": torch.randn(1, 3, 128, 128), **phrases(*lengths)}
        with torch.no_grad():
            expected = model(**inputs)
        logits, boxes = run(tmp_path / "m.onnx", inputs)
        count = inputs["input_ids"].shape[1]
        finite = expected.logits[:, :, :count].clamp(min=-1e9).numpy()
        assert np.abs(boxes - expected.pred_boxes.numpy()).max() * 128 < 0.5
        assert np.abs(logits - finite).max() < 1e-3


def test_the_halves_of_owlv2_find_the_same_boxes_for_any_number_of_phrases(tmp_path: Path) -> None:
    model = owlv2()
    axes = {name: {0: "phrases"} for name in ("input_ids", "attention_mask", "phrase_vectors")}
    sees, reads = tmp_path / "pictures.onnx", tmp_path / "phrases.onnx"
    outputs = ["box_vectors", "pred_boxes"]
    write_onnx(
        Owlv2Pictures(model).eval(), {"pixel_values": torch.randn(1, 3, 56, 56)}, {}, ["pred_boxes", outputs[0]], sees
    )
    write_onnx(Owlv2Phrases(model).eval(), texts(2, 16, 60), axes, "phrase_vectors", reads)
    for count in (1, 2, 5):
        pixels, words = {"pixel_values": torch.randn(1, 3, 56, 56)}, texts(count, 16, 60, seed=count)
        with torch.no_grad():
            expected = model(**pixels, **words)
        vectors, boxes = run(sees, pixels, outputs)
        (phrases,) = run(reads, words, ["phrase_vectors"])
        assert np.abs(boxes - expected.pred_boxes.numpy()).max() * 56 < 0.5
        assert np.abs(vectors @ phrases.T - expected.logits.numpy()).max() < 1e-3
