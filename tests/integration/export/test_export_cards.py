"""Models with a precision for a card: built by a recipe and compared with PyTorch."""

import asyncio
import json
import shutil
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import quizglass_export  # noqa: E402
from bench.export.cards import CUDA, FLOAT32, TENSORRT, compare_all, random_role  # noqa: E402
from bench.export.setup import Setup  # noqa: E402
from quizglass_bundle.files import Bundle  # noqa: E402
from quizglass_export.bundles.change import repack  # noqa: E402
from quizglass_export.parity import session  # noqa: E402
from quizglass_export.trt.engine import Limits, input_ranges  # noqa: E402
from quizglass_export.trt.operators import check_operators  # noqa: E402
from quizglass_server.config.settings import EngineOptions  # noqa: E402
from quizglass_server.domain.turns import Picture  # noqa: E402
from quizglass_server.engines.onnx.stepped import SteppedRuns  # noqa: E402
from quizglass_server.roles.load import load_models  # noqa: E402
from tests.support.bundles.exported_bundle import exported_bundle, exported_role, write_manifest  # noqa: E402
from tests.support.bundles.tiny_checkpoints import (  # noqa: E402
    bert_tokenizer,
    convolutional,
    grounding_dino,
    image_model,
    owlv2,
    text_model,
)
from tests.support.bundles.tiny_qwen import qwen2_5_vl, qwen3  # noqa: E402

_ACCEPT = {"labels": 1.0, "drift": 0.0025}
"""A logit's difference of 0.005 changes a probability by 0.00125 at most."""


@pytest.fixture
def reranker(tokenizer: Path, tmp_path: Path) -> dict[str, Any]:
    folder = tmp_path / "base"
    qwen3(tokenizer).save_pretrained(folder)
    (folder / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    return {"checkpoint": folder, "accept": _ACCEPT}


@pytest.mark.parametrize("precision", ["cuda-fp16", "tensorrt-fp16"])
def test_a_reranker_for_a_card_is_near_pytorch_and_padded_in_steps(
    tmp_path: Path, reranker: dict[str, Any], precision: str
) -> None:
    part, checks = exported_role(tmp_path, "reranker", {**reranker, "precision": precision}, 10)
    assert part.pad_to == "steps"
    assert [check.measure for check in checks][:2] == ["equal labels", "mean change of a probability"]
    packed = [check.measure for check in checks if check.measure.endswith(", prompts packed")]
    assert len(packed) == (3 if precision == "cuda-fp16" else 0)
    assert all(check.passed for check in checks), checks
    assert checks[1].value > 0


async def test_passages_of_one_question_are_scored_by_the_packed_graph_and_one_alone_by_the_plain_one(
    tmp_path: Path, reranker: dict[str, Any]
) -> None:
    """The same scores; and the other ones of a packed graph whose labels are the other way round."""
    shutil.copytree(Path(quizglass_export.__file__).parent / "prompts", tmp_path / "prompts")
    bundle = exported_bundle(tmp_path, {"reranker": {**reranker, "precision": "cuda-fp16"}})
    passages = ["a mug", "an old clock", "a mug of tea", "two boats"]
    question = "what is the thing on the wall next to the door?"
    found = await _scored(bundle, question, passages)
    parts = json.loads((tmp_path / "manifest.json").read_text())["roles"]
    packed = tmp_path / parts["reranker"]["packed"]
    model = onnx.load(str(packed), load_external_data=False)
    labels = next(each for each in model.graph.initializer if each.name == "labels")
    labels.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(labels)[:, ::-1].copy(), "labels"))
    onnx.save(model, str(packed))
    turned = await _scored(write_manifest(tmp_path, parts), question, passages)
    assert turned == pytest.approx([1 - score for score in found], abs=1e-4)
    assert min(abs(score - 0.5) for score in found) > 1e-3
    (alone,) = await _scored(write_manifest(tmp_path, parts), question, passages[:1])
    assert alone == pytest.approx(found[0], abs=1e-3)
    plain = repack(write_manifest(tmp_path, parts), tmp_path / "plain", settings={"roles.reranker.packed": None})
    assert await _scored(plain, question, passages) == pytest.approx(found, abs=1e-3)


async def _scored(bundle: Bundle, question: str, passages: list[str]) -> list[float]:
    async with asyncio.timeout(60):
        models: Any = await load_models(bundle, EngineOptions(provider="cpu"))
        try:
            return list(await models.get("reranker").score(question, passages))
        finally:
            await models.close()


@pytest.mark.parametrize(("role", "make"), [("reranker", qwen3), ("planner", qwen2_5_vl)])
def test_in_float32_a_graph_for_cuda_gives_pytorchs_logits(role: str, make: Callable[[Path], Any]) -> None:
    """So that what float16 does otherwise is rounding alone; a thousand prompts are in bench/export/cards.py."""
    part = compare_all(Setup(True, Path(), lambda text: None), [("m", partial(random_role, role, make, 12))])
    found = {row.name.removeprefix("m, "): row for row in part.rows}
    apart = found[f"{FLOAT32}: largest difference of logits"]
    assert apart.value is not None
    assert apart.value < 1e-4
    assert found[f"{FLOAT32}: equal labels"].ok
    for precision in (CUDA, TENSORRT):
        halved = found[f"{precision}: largest difference of logits"]
        assert halved.value is not None
        assert apart.value < halved.value < 2e-2


def test_tensorrt_has_an_operator_and_a_profile_for_all_of_it(tmp_path: Path, reranker: dict[str, Any]) -> None:
    part, _ = exported_role(tmp_path, "reranker", {**reranker, "precision": "tensorrt-fp16"}, 4)
    path = tmp_path / "files" / part.model
    assert check_operators(path).fits
    assert set(input_ranges(path, Limits(batch=16, tokens=256))) == {"input_ids", "attention_mask"}


@pytest.fixture
def planner(tokenizer: Path, tmp_path: Path) -> dict[str, Any]:
    folder = tmp_path / "seeing"
    qwen2_5_vl(tokenizer, initializer_range=0.06).save_pretrained(folder)
    (folder / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    return {"checkpoint": folder, "accept": _ACCEPT, "picture": {"width": 112, "height": 112}}


def test_a_planner_for_cuda_is_near_pytorch_in_few_nodes_a_layer(tmp_path: Path, planner: dict[str, Any]) -> None:
    part, checks = exported_role(tmp_path, "planner", {**planner, "precision": "cuda-fp16"}, 10)
    assert part.pad_to == "steps"
    assert all(check.passed for check in checks), checks
    model = onnx.load(str(tmp_path / "files" / part.model))
    order = [node.op_type for node in model.graph.node if node.op_type not in ("Constant", "Identity", "Reshape")]
    places = [place for place, name in enumerate(order) if name == "GroupQueryAttention"]
    assert len(places) == 2
    assert places[1] - places[0] <= 12, order[places[0] : places[1]]
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 1
    tower = tmp_path / "files" / part.tower
    operators = Counter(node.op_type for node in onnx.load(str(tower)).graph.node)
    assert (operators["MultiHeadAttention"], operators["MultiHeadAttention"] + operators["Softmax"]) == (3, 3)
    pixels = {"pixel_values": np.random.default_rng(1).normal(size=(1, 64, 1176)).astype(np.float32)}
    bound = SteppedRuns(onnxruntime, session(tower), "cpu")
    for given in (pixels, {"pixel_values": pixels["pixel_values"] / 2}):
        (kept,) = bound.run(["image_features"], given)
        assert np.abs(kept - session(tower).run(["image_features"], given)[0]).max() == 0
    assert bound.shapes == [()], "one set of tensors, and one graph of kernels"


@pytest.mark.parametrize("tower", [True, False])
def test_a_planner_for_tensorrt_has_standard_operators_and_a_profile(
    tmp_path: Path, planner: dict[str, Any], tower: bool
) -> None:
    spec = {**planner, "precision": "tensorrt-fp16", "tower": tower}
    part, checks = exported_role(tmp_path, "planner", spec, 6)
    assert all(check.passed for check in checks), checks
    path = tmp_path / "files" / part.model
    assert check_operators(path).fits
    ranges = input_ranges(path, Limits(batch=16, tokens=256))
    seen = "image_features" if tower else "pixel_values"
    assert set(ranges) == {"input_ids", "attention_mask", "position_ids", seen}
    assert ranges["position_ids"].largest == (3, 16, 256)
    if tower:
        assert check_operators(tmp_path / "files" / part.tower).fits
        assert input_ranges(tmp_path / "files" / part.tower, Limits())["pixel_values"].largest == (1, 64, 1176)


@pytest.mark.parametrize("precision", ["cuda-fp16", "tensorrt-fp16"])
@pytest.mark.parametrize(
    ("role", "kind"),
    [
        ("text_encoder", "bert"),
        ("reranker", "bert"),
        ("image_encoder", "clip_vision_model"),
        ("image_encoder", "siglip_vision_model"),
        ("image_encoder", "efficientnet"),
    ],
)
def test_encoders_for_a_card_are_near_pytorch(tmp_path: Path, role: str, kind: str, precision: str) -> None:
    folder = tmp_path / "c"
    if role == "image_encoder":
        (convolutional if kind == "efficientnet" else image_model)(folder, kind)
    else:
        text_model(folder, kind, 1 if role == "reranker" else 0)
    spec = {"checkpoint": folder, "precision": precision, "accept": _ACCEPT | {"cosine": 0.9999}}
    part, checks = exported_role(tmp_path, role, spec, 4)
    assert part.pad_to == "steps"
    assert all(check.passed for check in checks), checks
    path = tmp_path / "files" / part.model
    operators = Counter(node.op_type for node in onnx.load(str(path)).graph.node)
    fused = operators["Attention"] + operators["MultiHeadAttention"]
    if precision == "tensorrt-fp16":
        assert check_operators(path).fits
        assert input_ranges(path, Limits())
        assert not fused
    elif kind != "efficientnet":
        assert fused >= 2


@pytest.mark.parametrize("kind", ["owlv2", "grounding_dino"])
def test_a_detector_for_a_card_is_near_pytorch(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "c"
    words = bert_tokenizer(folder)
    (owlv2(words) if kind == "owlv2" else grounding_dino()).eval().save_pretrained(folder)
    size = {} if kind == "owlv2" else {"picture": {"width": 128, "height": 128}}
    spec = {"checkpoint": folder, "precision": "cuda-fp16", **size}
    part, checks = exported_role(tmp_path, "detector", spec, 4)
    assert all(check.passed for check in checks), checks
    kinds = {tensor.data_type for tensor in onnx.load(str(tmp_path / "files" / part.model)).graph.initializer}
    assert onnx.TensorProto.FLOAT16 in kinds


@pytest.mark.parametrize("precision", ["cuda-fp16", "tensorrt-fp16"])
async def test_the_server_runs_them_on_a_cpu_too(
    tmp_path: Path, planner: dict[str, Any], reranker: dict[str, Any], precision: str
) -> None:
    text_model(tmp_path / "c", "bert")
    encoder = {"checkpoint": tmp_path / "c", "accept": _ACCEPT}
    folder = tmp_path / "picture"
    image_model(folder, "clip_vision_model")
    pictures = {"checkpoint": folder, "accept": _ACCEPT}
    shutil.copytree(Path(quizglass_export.__file__).parent / "prompts", tmp_path / "prompts")
    roles = {"planner": planner, "reranker": reranker, "text_encoder": encoder, "image_encoder": pictures}
    bundle = exported_bundle(tmp_path, {role: {**spec, "precision": precision} for role, spec in roles.items()})
    picture = Picture(b"key", np.full((90, 120, 3), 90, np.uint8))
    async with asyncio.timeout(60):
        models: Any = await load_models(bundle, EngineOptions(provider="cpu"))
        try:
            chosen = dict(await models.get("planner").probabilities([picture], {"question": "what is it?"}))
            assert sum(chosen.values()) == pytest.approx(1)
            assert len(set(await models.get("reranker").score("what is it?", ["a mug", "an old clock"]))) == 2
            one, other = await models.get("text_encoder").embed_passages(["a mug", "an old clock on a wall"])
            assert one.shape == other.shape
            assert len(await models.get("image_encoder").embed([picture])) == 1
        finally:
            await models.close()
