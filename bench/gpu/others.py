"""The models beside the reranker, of real shapes and random weights: a planner that sees, and two encoders.

Each is exported as a bundle has it for CUDA, and run by the server's session beside the same model in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from bench.gpu import peers
from bench.gpu.measure import in_turn, rows_of
from bench.hostile.sections import Setup
from bench.results import against
from bench.sections import Part
from quizglass_export.graphs.card_decoder import card_vision_scorer
from quizglass_export.graphs.card_operators import picture_attention
from quizglass_export.onnx.optimum_encoders import write_image_encoder, write_text_encoder
from quizglass_export.onnx.precision import fuse_encoder, to_float16
from quizglass_export.onnx.tracing import write_onnx
from quizglass_export.roles.shared.scorers import ONE_PROMPT
from quizglass_server.engines.onnx.providers import InputRange
from quizglass_server.engines.onnx.session import OnnxOptions, OnnxSession, Signature

Tensors = dict[str, np.ndarray[Any, Any]]
_MOST = 0.7
"""Of the encoders' time in PyTorch."""
_MOST_OF_PLANNER = 0.9
_MOST_OF_GENERATE = 0.3
_TOKENS = 32


def run(setup: Setup) -> Part:
    """Time each; `--quick` takes small shapes, wherever ONNX Runtime runs them."""
    part = Part()
    folder = setup.folder / "gpu"
    folder.mkdir(exist_ok=True)
    torch.manual_seed(1)
    for name, time in (("ViT-B", _pictures), ("MiniLM", _texts), ("planner", _planner)):
        setup.say(f"writing {name} with random weights")
        time(setup, part, folder)
    return part


def _pictures(setup: Setup, part: Part, folder: Path) -> None:
    side = 32 if setup.quick else 224
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.CLIPVisionConfig(
        **(sizes if setup.quick else {}), projection_dim=32 if setup.quick else 512, image_size=side, patch_size=16
    )
    model = transformers.CLIPVisionModelWithProjection(config).eval()
    peer = peers.of(lambda pixel_values: model(pixel_values=pixel_values).image_embeds, model)
    transformers.AttentionInterface.register("quizglass_card", picture_attention)
    exported = transformers.CLIPVisionModelWithProjection(config).eval()
    exported.set_attn_implementation("quizglass_card")
    path = _new(folder / "pictures")
    write_image_encoder(exported, side, path)
    session = _session(setup, path, "vit", "image_embeds", {"pixel_values": ((1, 3, side, side), (16, 3, side, side))})
    for rows in (1, 8):
        pixels = np.random.default_rng(1).normal(size=(rows, 3, side, side)).astype(np.float32)
        _time(setup, part, f"ViT-B image encoder, {rows}", session, peer, {"pixel_values": pixels}, _MOST)


def _texts(setup: Setup, part: Part, folder: Path) -> None:
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    real = {"hidden_size": 384, "intermediate_size": 1536, "num_hidden_layers": 6, "num_attention_heads": 12}
    model = transformers.BertModel(transformers.BertConfig(**(sizes if setup.quick else real)), False).eval()
    path = _new(folder / "texts")
    write_text_encoder(model, path)
    names = ("input_ids", "attention_mask", "token_type_ids")
    session = _session(setup, path, "bert", "last_hidden_state", dict.fromkeys(names, ((1, 1), (32, _TOKENS))))
    peer = peers.of(lambda **given: model(**given).last_hidden_state, model)
    for rows in (1, 32):
        ids = np.random.default_rng(1).integers(1, 400, (rows, _TOKENS))
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        _time(setup, part, f"MiniLM text encoder, {rows} x {_TOKENS} tokens", session, peer, given, _MOST)


def _planner(setup: Setup, part: Part, folder: Path) -> None:
    """Qwen2-VL-2B's shape: a picture of 448 x 448 is 256 tokens, and the text beside it 120."""
    side, text, image = (4, 6, 3) if setup.quick else (32, 120, 151_655)
    model = transformers.Qwen2VLForConditionalGeneration(_seeing(image, small=setup.quick)).eval()
    pictures = side * side // 4
    ids = np.random.default_rng(1).integers(4, 400, (1, pictures + text))
    ids[0, 3 : 3 + pictures] = image
    length = ids.shape[1]
    given: Tensors = {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "position_ids": np.broadcast_to(np.arange(length), (3, 1, length)).copy(),
        "pixel_values": np.random.default_rng(1).normal(size=(1, side * side, 1176)).astype(np.float32),
    }
    path = _new(folder / "planner")
    example = {name: torch.from_numpy(value) for name, value in given.items()}
    write_onnx(card_vision_scorer(model, [5, 6, 7, 8], (side, side)), example, ONE_PROMPT, "logits", path)
    ranges = {name: (value.shape, value.shape) for name, value in given.items()}
    session = _session(setup, path, "", "logits", ranges)
    grid = torch.tensor([[1, side, side]])

    def logits(input_ids: Any, attention_mask: Any, position_ids: Any, pixel_values: Any) -> Any:
        return model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            pixel_values=pixel_values[0],
            image_grid_thw=grid.to(input_ids.device),
            use_cache=False,
            logits_to_keep=1,
        ).logits

    name = f"planner, a picture and {text} tokens"
    _time(setup, part, name, session, peers.of(logits, model), given, _MOST_OF_PLANNER)
    generate = peers.one_token(model, (side, side), anywhere=setup.quick)
    if generate is not None:
        ours, theirs = in_turn(setup, lambda: session.run(given), partial(generate, given))
        part.rows.append(against(name, ours, "ms", peers.GENERATED, theirs, _MOST_OF_GENERATE))
        part.data[f"{name}, generate_ms"] = {"ours": ours, "generate": theirs}


def _seeing(image: int, *, small: bool) -> Any:
    """Qwen2-VL-2B, as its published config.json has it, or a small one."""
    text: dict[str, Any] = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "vocab_size": 500}
    text |= {"num_attention_heads": 2, "num_key_value_heads": 1}
    tower: dict[str, Any] = {"depth": 2, "embed_dim": 32, "num_heads": 2, "hidden_size": 64}
    if not small:
        text = {"hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 28, "vocab_size": 151_936}
        text |= {"num_attention_heads": 12, "num_key_value_heads": 2}
        tower = {"hidden_size": 1536}
    sections = [4, 6, 6] if small else [16, 24, 24]
    text["rope_scaling"] = {"type": "mrope", "mrope_section": sections}
    return transformers.Qwen2VLConfig(text_config=text, vision_config=tower, image_token_id=image)


def _new(folder: Path) -> Path:
    """A model's file: optimum names it itself."""
    folder.mkdir(exist_ok=True)
    return folder / "model.onnx"


def _session(
    setup: Setup, path: Path, form: str, output: str, shapes: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]]
) -> OnnxSession:
    """In float16 for CUDA, and opened as the server opens it."""
    if form:
        fuse_encoder(path, form)
    to_float16(path, path)
    ranges = {name: InputRange(least, least, most) for name, (least, most) in shapes.items()}
    provider = "auto" if setup.quick else "cuda"
    return OnnxSession(path, Signature(output, ranges, stepped=True), OnnxOptions(provider=provider))


def _time(
    setup: Setup,
    part: Part,
    name: str,
    session: OnnxSession,
    peer: Callable[[Tensors], None] | None,
    given: Tensors,
    most: float,
) -> None:
    ours, theirs = in_turn(setup, lambda: session.run(given), None if peer is None else partial(peer, given))
    part.rows += rows_of(name, ours, theirs, most, 0)
    part.data[f"{name}_ms"] = {"ours": ours, "compiled": theirs}
