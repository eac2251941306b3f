"""A whole bundle of tiny models: real files in real formats, computing something simple."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from tests.support.bundles.tiny_models import HEIGHT, MEAN, STD, WIDTH, write_generator, write_tokenizer

DIMENSION = 8
PICTURE = {"width": WIDTH, "height": HEIGHT, "mean": MEAN, "std": STD}
WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "red", "car", "blue", "boat", "what", "is", "this", ":")
PROMPTS = {
    "plan": "<|im_start|>{{ image }}{% for t in history %}{{ t.question }}{% endfor %}{{ words }}{{ question }} Plan:",
    "rerank": "<|im_start|>{{ query }} {{ passage }} Relevant:",
    "answer": "<|im_start|>{{ image }}{% for s in seen %}{{ s }}{% endfor %}{{ question }}<|im_end|> Answer:",
    "rewrite": "<|im_start|>{{ image }}{{ question }} Rewrite:",
}
ROLES = ("planner", "reranker", "image_encoder", "text_encoder", "generator")


def write_bundle(root: Path, roles: tuple[str, ...] = ROLES) -> Path:
    """A bundle with the given roles."""
    root.mkdir(parents=True, exist_ok=True)
    writers = {
        "planner": _planner,
        "reranker": _reranker,
        "image_encoder": _image_encoder,
        "text_encoder": _text_encoder,
        "generator": _generator,
        "reader": lambda _: {"engine": "rapidocr", "kind": "reader"},
    }
    (root / "prompts").mkdir()
    for name, text in PROMPTS.items():
        (root / "prompts" / f"{name}.jinja").write_text(text)
    (root / "tokenizer").mkdir()
    write_tokenizer(root / "tokenizer" / "tokenizer.json")
    (root / "parity.json").write_text("{}")
    manifest = {
        "format": 1,
        "name": "tiny",
        "version": "0",
        "roles": {role: writers[role](root) for role in roles},
        "abstain": "I don't know",
        "parity": "parity.json",
        "provenance": {},
    }
    manifest["files"] = {
        path.relative_to(root).as_posix(): {
            "sha256": sha256(path.read_bytes()).hexdigest(),
            "bytes": path.stat().st_size,
        }
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }
    (root / "manifest.json").write_text(json.dumps(manifest))
    return root


def _planner(root: Path) -> dict[str, object]:
    """Label scores grow with the number of tokens and the picture's brightness."""
    nodes = [
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["mask", "last"], ["length"], keepdims=1),
        helper.make_node("ReduceMean", ["pixel_values"], ["bright"], axes=[1, 2], keepdims=0),
        helper.make_node("Unsqueeze", ["bright", "last"], ["brightness"]),
        helper.make_node("Mul", ["length", "by_length"], ["a"]),
        helper.make_node("Mul", ["brightness", "by_brightness"], ["b"]),
        helper.make_node("Cast", ["position_ids"], ["places"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMax", ["places"], ["end"], keepdims=0),
        helper.make_node("Mul", ["end", "nothing"], ["c"]),
        helper.make_node("Cast", ["input_ids"], ["ids"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMax", ["ids"], ["top"], keepdims=0),
        helper.make_node("Mul", ["top", "nothing"], ["d"]),
        helper.make_node("Sum", ["a", "b", "c", "d"], ["logits"]),
    ]
    weights = {
        "last": np.array([1], np.int64),
        "by_length": np.array([[0.0, 0.0, 0.01, 0.0]], np.float32),
        "by_brightness": np.array([[0.0, 1.0, 0.0, 0.0]], np.float32),
        "nothing": np.array(0.0, np.float32),
    }
    inputs = _text_inputs() | {
        "position_ids": (TensorProto.INT64, [3, "b", "s"]),
        "pixel_values": (TensorProto.FLOAT, ["b", 64, 1176]),
    }
    _save(root / "planner" / "model.onnx", nodes, weights, inputs, "logits")
    return {
        "engine": "onnx",
        "kind": "vl-scorer",
        "model": "planner/model.onnx",
        "tokenizer": "tokenizer/tokenizer.json",
        "prompt": "prompts/plan.jinja",
        "labels": [["none", " A"], ["image", " B"], ["text", " C"], ["both", " D"]],
        "picture": {**PICTURE, "patch": 14, "merge": 2, "temporal": 2},
        "image_token": "<|image_pad|>",
        "max_tokens": 128,
    }


def _reranker(root: Path) -> dict[str, object]:
    """The mean token id decides."""
    nodes = [
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["input_ids"], ["ids"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["ids", "mask"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "last"], ["sum"], keepdims=1),
        helper.make_node("ReduceSum", ["mask", "last"], ["length"], keepdims=1),
        helper.make_node("Div", ["sum", "length"], ["mean"]),
        helper.make_node("MatMul", ["mean", "head"], ["logits"]),
    ]
    weights = {"last": np.array([1], np.int64), "head": np.array([[0.01, -0.01]], np.float32)}
    _save(root / "reranker" / "model.onnx", nodes, weights, _text_inputs(), "logits")
    return {
        "engine": "onnx",
        "kind": "text-scorer",
        "model": "reranker/model.onnx",
        "tokenizer": "tokenizer/tokenizer.json",
        "prompt": "prompts/rerank.jinja",
        "labels": [["yes", " yes"], ["no", " no"]],
        "max_tokens": 96,
    }


def _image_encoder(root: Path) -> dict[str, object]:
    """A projection of the mean colour."""
    nodes = [
        helper.make_node("ReduceMean", ["pixel_values"], ["colour"], axes=[2, 3], keepdims=0),
        helper.make_node("MatMul", ["colour", "head"], ["image_embeds"]),
    ]
    head = np.random.default_rng(0).standard_normal((3, DIMENSION)).astype(np.float32)
    inputs = {"pixel_values": (TensorProto.FLOAT, ["b", 3, HEIGHT, WIDTH])}
    _save(root / "image_encoder" / "model.onnx", nodes, {"head": head}, inputs, "image_embeds")
    return {
        "engine": "onnx",
        "kind": "image-encoder",
        "model": "image_encoder/model.onnx",
        "picture": PICTURE,
        "dimension": DIMENSION,
    }


def _text_encoder(root: Path) -> dict[str, object]:
    """A table of word vectors."""
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    nodes.append(helper.make_node("Identity", ["attention_mask"], ["unused"]))
    table = np.random.default_rng(1).standard_normal((len(WORDS), DIMENSION)).astype(np.float32)
    _save(root / "text_encoder" / "model.onnx", nodes, {"table": table}, _text_inputs(), "last_hidden_state")
    tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(list(WORDS[:4]))
    special = [(name, WORDS.index(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=special)
    tokenizer.save(str(root / "text_encoder" / "tokenizer.json"))
    return {
        "engine": "onnx",
        "kind": "text-encoder",
        "model": "text_encoder/model.onnx",
        "tokenizer": "text_encoder/tokenizer.json",
        "dimension": DIMENSION,
        "pooling": "mean",
        "max_tokens": 16,
    }


def _generator(root: Path) -> dict[str, object]:
    (root / "generator").mkdir()
    write_generator(root / "generator")
    return {
        "engine": "llama",
        "kind": "generator",
        "model": "generator/model.gguf",
        "projector": "generator/mmproj.gguf",
        "prompts": {"answer": "prompts/answer.jinja", "rewrite": "prompts/rewrite.jinja"},
        "picture": {"width": WIDTH, "height": HEIGHT},
        "stop": ["<|im_end|>"],
        "context": 256,
        "max_new_tokens": 200,
    }


def _text_inputs() -> dict[str, tuple[int, list[int | str]]]:
    return {name: (TensorProto.INT64, ["b", "s"]) for name in ("input_ids", "attention_mask")}


def _save(
    path: Path,
    nodes: list[onnx.NodeProto],
    weights: dict[str, np.ndarray],
    inputs: dict[str, tuple[int, list[int | str]]],
    output: str,
) -> None:
    path.parent.mkdir()
    given = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()]
    wanted = [
        helper.make_tensor_value_info(output, TensorProto.FLOAT, ["b", "s", "d"] if "state" in output else ["b", "d"])
    ]
    stored = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "tiny", given, wanted, stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))
