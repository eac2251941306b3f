"""A causal language model as a scorer for CUDA: few and large kernels, and no shape arithmetic on the host.

A graph traced from PyTorch launches about a thousand kernels for a model of 28 layers, and leaves a few nodes on the
CPU. Here a layer is attention as one operator (GroupQueryAttention, rotary positions inside), norms fused with their
residuals, and products: 10 to 13 kernels, all of them on the card, so that CUDA graphs can be captured for each shape.
Weights and arithmetic are float16; the logits are float32. Not run on a card yet: compared on the CPU, which has the
same operators.

A packed graph is for prompts that begin alike. Attention with a past takes one row alone on every provider, so nothing
is kept between runs: norms and products, where nearly all of the time goes, see every token of a batch once, and a
Gather before each layer's attention gives each row its own sequence again, another behind it takes one of each token.
What a token's states are hangs on the tokens before it alone, so rows share those up to where they part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from quizglass_export.errors import ExportError
from quizglass_export.written_graphs.writer import MICROSOFT, GraphWriter

Array = NDArray[np.generic]
_HEAD_STEP = 16
"""The attention operator takes heads of a multiple of this size."""
_ACTIVATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "silu": ("QuickGelu", {"alpha": 1.0}),
    "gelu_pytorch_tanh": ("FastGelu", {}),
}
"""transformers' name of the gate's activation to ONNX Runtime's operator; QuickGelu with alpha 1 is SiLU."""
SHARED = "weights.data"
"""File of the weights of a plain and a packed graph."""
_WHOLE: dict[str, tuple[str, tuple[str, ...]]] = dict.fromkeys(
    ("input_ids", "attention_mask"), ("int64", ("batch", "sequence"))
)
_PACKED: dict[str, tuple[str, tuple[str, ...]]] = {
    "tokens": ("int64", ("tokens",)),
    "places": ("int64", ("batch", "sequence")),
    "back": ("int64", ("tokens",)),
    "last": ("int64", ("batch",)),
    "ends": ("int32", ("batch",)),
}
"""Inputs: types and axes."""


@dataclass(frozen=True, slots=True)
class DecoderShape:
    """What a decoder is, beside its weights."""

    layers: int
    heads: int
    groups: int
    """Heads of keys and values."""
    size: int
    """Of a head."""
    width: int
    epsilon: float
    activation: str
    embedding_scale: float = 1.0
    norm_offset: float = 0.0
    """Added to the weights of every norm: Gemma stores them less 1."""
    windows: tuple[int, ...] = ()
    """Of each layer, how far back it sees; -1 for no limit; empty: no layer has one."""

    def check(self) -> None:
        """Raise ExportError where the card's operators do not know this form."""
        if self.activation not in _ACTIVATIONS:
            raise ExportError(
                f"config.json: hidden_act {self.activation!r} has no graph for a card, only {', '.join(_ACTIVATIONS)}; "
                "choose precision fp16"
            )
        if self.size % _HEAD_STEP:
            raise ExportError(
                f"config.json: head_dim {self.size} is no multiple of {_HEAD_STEP}, which attention on a card needs; "
                "choose precision fp16"
            )


@dataclass(frozen=True, slots=True)
class Rotary:
    """Tables of rotary positions, float32 [positions, size / 2]."""

    cos: NDArray[np.float32]
    sin: NDArray[np.float32]


class CardScorer:
    """Writes one scorer.

    Args:
        shape: of the decoder.
        read: a merged tensor by transformers' name, float32, or None where the model has none of that name.
        rotary: one row for each position that a prompt may have.
        labels: rows of the output matrix, float32 [labels, width].
        number: type of weights and arithmetic. float32 is for comparisons: what then differs from PyTorch is the
            graph's form, and what float16 adds is rounding.
        packed: whether tokens that prompts have in common are computed once.
    """

    def __init__(
        self,
        shape: DecoderShape,
        read: Callable[[str], NDArray[np.float32] | None],
        rotary: Rotary,
        labels: NDArray[np.float32],
        number: type[np.floating[Any]] = np.float16,
        *,
        packed: bool = False,
    ) -> None:
        shape.check()
        self._packed = packed
        self._shape, self._read, self._labels, self._number = shape, read, labels, number
        self._graph = GraphWriter()
        self._tables = [
            self._graph.weight(name, table.astype(number))
            for name, table in (("rotary.cos", rotary.cos), ("rotary.sin", rotary.sin))
        ]

    def write(self, path: Path, beside: str = "", like: Path | None = None) -> None:
        """Write `input_ids`, `attention_mask` int64 [B, S] (padding on the right) to `logits` float32 [B, labels].

        A packed graph takes `tokens` int64 [N], each once; `places` int64 [B, S], which of them stands where in a row;
        `back` int64 [N], one of the places of each, counted through all rows; `last` int64 [B], which of them ends a
        row; and `ends` int32 [B], where in the row that is.

        Args:
            path: the file.
            beside: name of the file for the weights; empty: in the graph, where they are small.
            like: a graph with the same weights beside it, which are then not written again.

        Raises:
            ExportError: a weight is missing, or has no number in float16.
        """
        lengths = self._lengths()
        hidden = self._embedded()
        normed = self._norm(hidden, self._name(0, "input_layernorm"))
        for index in range(self._shape.layers):
            last = index == self._shape.layers - 1
            after = "model.norm" if last else self._name(index + 1, "input_layernorm")
            hidden, normed = self._layer(index, hidden, normed, lengths, after)
        self._head(normed)
        inputs = _PACKED if self._packed else _WHOLE
        self._graph.write(path, inputs, {"logits": ("batch", len(self._labels))}, beside, like)

    def _lengths(self) -> tuple[str, str]:
        """What attention reads: the place of each row's last token, int32 [B], and S, int32 [1] on the host."""
        graph = self._graph
        length = graph.node("Shape", "places" if self._packed else "input_ids", start=1, end=2)
        whole = graph.node("Cast", length, to=TensorProto.INT32)
        if self._packed:
            return "ends", whole
        count = graph.node("ReduceSum", "attention_mask", graph.constant([1]), keepdims=0)
        self._last = graph.node("Sub", count, graph.constant(1))
        return graph.node("Cast", self._last, to=TensorProto.INT32), whole

    def _embedded(self) -> str:
        table = self._take("model.embed_tokens.weight") * np.float32(self._shape.embedding_scale)
        return self._graph.node("Gather", self._held("embedding", table), "tokens" if self._packed else "input_ids")

    def _layer(self, index: int, hidden: str, normed: str, lengths: tuple[str, str], after: str) -> tuple[str, str]:
        """States and normed states behind a layer; `after` is the norm that comes next."""
        mixed = self._attention(index, normed, lengths)
        hidden, normed = self._add_and_norm(
            self._product(mixed, [self._name(index, "self_attn.o_proj")]),
            hidden,
            self._name(index, "post_attention_layernorm"),
        )
        kind, more = _ACTIVATIONS[self._shape.activation]
        gate = self._product(normed, [self._name(index, "mlp.gate_proj")])
        gated = self._graph.node(
            "Mul",
            self._graph.node(kind, gate, domain=MICROSOFT, **more),
            self._product(normed, [self._name(index, "mlp.up_proj")]),
        )
        return self._add_and_norm(self._product(gated, [self._name(index, "mlp.down_proj")]), hidden, after)

    def _attention(self, index: int, normed: str, lengths: tuple[str, str]) -> str:
        """[B, S, width] to the heads' answers [B, S, heads * size]; of a packed graph [N, ...] to [N, ...]."""
        shape = self._shape
        names = [self._name(index, f"self_attn.{part}_proj") for part in "qkv"]
        together = self._product(normed, names)
        if self._packed:
            together = self._graph.node("Gather", together, "places")
        parts = [together, "", ""]
        if self._read(self._name(index, "self_attn.q_norm.weight")) is not None:
            sizes = [shape.heads * shape.size, shape.groups * shape.size, shape.groups * shape.size]
            parts = self._graph.nodes("Split", together, self._graph.constant(sizes), outputs=["q", "k", "v"], axis=-1)
            for place, part in enumerate("qk"):
                parts[place] = self._norm_heads(parts[place], self._name(index, f"self_attn.{part}_norm"))
        mixed = self._graph.nodes(
            "GroupQueryAttention",
            *(*parts, "", "", *lengths, *self._tables),
            outputs=["out", "keys", "values"],
            domain=MICROSOFT,
            num_heads=shape.heads,
            kv_num_heads=shape.groups,
            do_rotary=1,
            local_window_size=shape.windows[index] if shape.windows else -1,
        )[0]
        if not self._packed:
            return mixed
        flat = self._graph.node("Reshape", mixed, self._graph.constant([-1, shape.heads * shape.size]))
        return self._graph.node("Gather", flat, "back")

    def _norm_heads(self, states: str, name: str) -> str:
        """RMS norm of each head by itself (Qwen3)."""
        graph = self._graph
        heads = graph.node("Reshape", states, graph.constant([0, 0, -1, self._shape.size]))
        return graph.node("Reshape", self._norm(heads, name), graph.constant([0, 0, -1]))

    def _norm(self, states: str, name: str) -> str:
        return self._graph.node(
            "SimplifiedLayerNormalization", states, self._norm_weight(name), axis=-1, epsilon=self._shape.epsilon
        )

    def _add_and_norm(self, change: str, hidden: str, name: str) -> tuple[str, str]:
        """The sum of both, and its norm, by one kernel."""
        normed, total = self._graph.nodes(
            "SkipSimplifiedLayerNormalization",
            *(change, hidden, self._norm_weight(name)),
            outputs=["normed", "", "", "sum"],
            domain=MICROSOFT,
            epsilon=self._shape.epsilon,
        )[::3]
        return total, normed

    def _norm_weight(self, name: str) -> str:
        values = self._take(f"{name}.weight") + np.float32(self._shape.norm_offset)
        return self._held(f"{name}.weight", values)

    def _product(self, states: str, names: Sequence[str]) -> str:
        """States times the transposed weights of these layers side by side, and plus their biases."""
        weights = np.concatenate([self._take(f"{name}.weight") for name in names])
        label = names[0].rpartition(".")[0] + ".qkv" if len(names) > 1 else names[0]
        product = self._graph.node("MatMul", states, self._held(f"{label}.weight", weights.T))
        biases = [self._read(f"{name}.bias") for name in names]
        if all(bias is None for bias in biases):
            return product
        whole = [
            np.zeros(len(self._take(f"{name}.weight")), np.float32) if bias is None else bias
            for name, bias in zip(names, biases, strict=True)
        ]
        return self._graph.node("Add", product, self._held(f"{label}.bias", np.concatenate(whole)))

    def _head(self, normed: str) -> None:
        """Logits of each row's last token; the tokens' states before it are not read."""
        graph = self._graph
        if self._packed:
            last = graph.node("Gather", normed, "last")
        else:
            place = graph.node("Unsqueeze", self._last, graph.constant([1, 2]))
            places = graph.node("Expand", place, graph.constant([1, 1, self._shape.width]))
            last = graph.node("Squeeze", graph.node("GatherElements", normed, places, axis=1), graph.constant([1]))
        product = graph.node("MatMul", last, self._held("labels", self._labels.T))
        graph.node("Cast", product, output="logits", to=TensorProto.FLOAT)

    def _take(self, name: str) -> NDArray[np.float32]:
        values = self._read(name)
        if values is None:
            raise ExportError(f"the checkpoint has no {name}, which a scorer for a card needs; choose precision fp16")
        return values

    def _held(self, name: str, values: NDArray[np.float32]) -> str:
        """Hold weights in the graph's type under their name."""
        if float(np.abs(values).max(initial=0)) > float(np.finfo(self._number).max):
            raise ExportError(
                f"{name} has values beyond {float(np.finfo(self._number).max):g}; choose another precision"
            )
        return self._graph.weight(name, values.astype(self._number))

    @staticmethod
    def _name(index: int, part: str) -> str:
        return f"model.layers.{index}.{part}"
