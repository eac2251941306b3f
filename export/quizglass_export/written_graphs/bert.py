"""BERT: an encoder of texts, and with its pooler and a head a cross-encoder of pairs, as ONNX.

Names of weights are those of transformers. Post-norm layers, exact GELU, learned positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quizglass_export.checkpoints.files import CONFIG, read_json
from quizglass_export.errors import ExportError
from quizglass_export.written_graphs.weights import NamedWeights
from quizglass_export.written_graphs.writer import GraphWriter

_AXES = ("batch", "tokens")
_INPUTS = dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), ("int64", _AXES))
_MASKED = -1e9
"""Added to the scores of tokens that are not there: their share becomes 0."""


@dataclass(frozen=True, slots=True)
class BertShape:
    """The sizes of a BERT, as its `config.json` has them."""

    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    vocab_size: int
    type_vocab_size: int
    layer_norm_eps: float


def read_shape(folder: Path) -> BertShape:
    """The sizes of a checkpoint.

    Raises:
        ExportError: it is no BERT that is written here; names the key.
    """
    path = folder / CONFIG
    config = read_json(path)
    for key, expected in {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}.items():
        if config.get(key, expected) != expected:
            raise ExportError(f"{path}: {key} is {config[key]!r}; only {expected!r} is written without PyTorch")
    sizes: dict[str, Any] = {"layer_norm_eps": config.get("layer_norm_eps", 1e-12)}
    for key in BertShape.__dataclass_fields__.keys() - sizes.keys():
        if not isinstance(value := config.get(key), int) or value < 1:
            raise ExportError(f"{path}: {key} is {value!r}; it must be a number above 0")
        sizes[key] = value
    shape = BertShape(**sizes)
    if shape.hidden_size % shape.num_attention_heads:
        raise ExportError(f"{path}: hidden_size {shape.hidden_size} does not divide among the attention heads")
    return shape


def write_text_encoder(weights: NamedWeights, shape: BertShape, path: Path) -> None:
    """Write the encoder: three int64 inputs [B, S] to `last_hidden_state` [B, S, hidden].

    Raises:
        ExportError: the weights are another model's.
    """
    network = _Bert(weights, shape)
    network.states(output="last_hidden_state")
    weights.check_all_taken("pooler.", "position_ids")
    network.graph.write(path, _INPUTS, {"last_hidden_state": (*_AXES, shape.hidden_size)})


def write_cross_encoder(weights: NamedWeights, shape: BertShape, path: Path, *, labels: int = 1) -> None:
    """Write a classifier of pairs: three int64 inputs [B, S] to `logits` [B, labels].

    Raises:
        ExportError: the weights are another model's, or the head's are missing.
    """
    network = _Bert(weights, shape)
    states = network.states()
    first = network.graph.node("Gather", states, network.graph.constant(0), axis=1)
    pooled = network.graph.node("Tanh", network.linear(first, "pooler.dense", shape.hidden_size, shape.hidden_size))
    network.linear(pooled, "classifier", shape.hidden_size, labels, output="logits")
    weights.check_all_taken("position_ids")
    network.graph.write(path, _INPUTS, {"logits": ("batch", labels)})


class _Bert:
    """The graph as it grows."""

    def __init__(self, weights: NamedWeights, shape: BertShape) -> None:
        self.graph, self._weights, self._shape = GraphWriter(), weights, shape

    def states(self, output: str = "") -> str:
        """States of the tokens behind the last layer, [B, S, hidden]."""
        mask = self._mask()
        values = self._embedded()
        last = self._shape.num_hidden_layers - 1
        for number in range(last + 1):
            values = self._layer(values, mask, f"encoder.layer.{number}", output if number == last else "")
        return values

    def linear(self, values: str, name: str, width: int, out: int, output: str = "") -> str:
        """`values` [..., width] times a layer's weights, plus its bias: [..., out]."""
        weight = self.graph.weight(f"{name}.weight", self._weights.take(f"{name}.weight", out, width).T)
        bias = self.graph.weight(f"{name}.bias", self._weights.take(f"{name}.bias", out))
        return self.graph.node("Add", self.graph.node("MatMul", values, weight), bias, output=output)

    def _embedded(self) -> str:
        shape, graph = self._shape, self.graph
        tokens = graph.node("Gather", graph.node("Shape", "input_ids"), graph.constant([1]))
        rows = {
            "word": graph.node("Gather", self._table("word", shape.vocab_size), "input_ids"),
            "type": graph.node("Gather", self._table("token_type", shape.type_vocab_size), "token_type_ids"),
            "place": graph.node(
                "Slice",
                self._table("position", shape.max_position_embeddings),
                *(graph.constant([0]), tokens, graph.constant([0])),
            ),
        }
        both = graph.node("Add", rows["word"], rows["type"])
        return self._norm(graph.node("Add", both, rows["place"]), "embeddings.LayerNorm")

    def _table(self, kind: str, rows: int) -> str:
        name = f"embeddings.{kind}_embeddings.weight"
        return self.graph.weight(name, self._weights.take(name, rows, self._shape.hidden_size))

    def _mask(self) -> str:
        """What is added to attention scores, [B, 1, 1, S]."""
        graph = self.graph
        there = graph.node("Cast", "attention_mask", to=1)
        absent = graph.node("Sub", graph.constant(1.0, "float32"), there)
        added = graph.node("Mul", absent, graph.constant(_MASKED, "float32"))
        return graph.node("Unsqueeze", added, graph.constant([1, 2]))

    def _layer(self, values: str, mask: str, name: str, output: str) -> str:
        shape, graph = self._shape, self.graph
        attended = self.linear(
            self._attention(values, mask, f"{name}.attention.self"),
            *(f"{name}.attention.output.dense", shape.hidden_size, shape.hidden_size),
        )
        values = self._norm(graph.node("Add", attended, values), f"{name}.attention.output.LayerNorm")
        wide = self.linear(values, f"{name}.intermediate.dense", shape.hidden_size, shape.intermediate_size)
        narrow = self.linear(self._gelu(wide), f"{name}.output.dense", shape.intermediate_size, shape.hidden_size)
        return self._norm(graph.node("Add", narrow, values), f"{name}.output.LayerNorm", output)

    def _attention(self, values: str, mask: str, name: str) -> str:
        shape, graph = self._shape, self.graph
        width = shape.hidden_size // shape.num_attention_heads
        parted, joined = graph.constant([0, 0, shape.num_attention_heads, width]), graph.constant([0, 0, -1])

        def heads(part: str, order: list[int]) -> str:
            made = self.linear(values, f"{name}.{part}", shape.hidden_size, shape.hidden_size)
            return graph.node("Transpose", graph.node("Reshape", made, parted), perm=order)

        scores = graph.node("MatMul", heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1]))
        scaled = graph.node("Mul", scores, graph.constant(width**-0.5, "float32"))
        shares = graph.node("Softmax", graph.node("Add", scaled, mask), axis=-1)
        mixed = graph.node("MatMul", shares, heads("value", [0, 2, 1, 3]))
        return graph.node("Reshape", graph.node("Transpose", mixed, perm=[0, 2, 1, 3]), joined)

    def _gelu(self, values: str) -> str:
        """x * (1 + erf(x / sqrt 2)) / 2, in the form that ONNX Runtime computes in one step."""
        graph = self.graph
        inner = graph.node("Erf", graph.node("Div", values, graph.constant(2.0**0.5, "float32")))
        whole = graph.node("Mul", values, graph.node("Add", inner, graph.constant(1.0, "float32")))
        return graph.node("Mul", whole, graph.constant(0.5, "float32"))

    def _norm(self, values: str, name: str, output: str = "") -> str:
        parts = [
            self.graph.weight(f"{name}.{part}", self._weights.take(f"{name}.{part}", self._shape.hidden_size))
            for part in ("weight", "bias")
        ]
        epsilon = self._shape.layer_norm_eps
        return self.graph.node("LayerNormalization", values, *parts, axis=-1, epsilon=epsilon, output=output)
