"""ONNX Runtime's fused operators in graphs that are traced from PyTorch: what a card runs as one kernel.

Each function here is one node of the trace. Its forward pass only makes a tensor of the right shape, since a trace
reads no values. Source: ONNX Runtime's documentation of its contributed operators.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx
import torch
from torch import Tensor, nn

DOMAIN = "com.microsoft"
_NORM = "SimplifiedLayerNormalization"


class _GroupQueryAttention(torch.autograd.Function):
    """Causal attention with rotary positions: states of queries, keys and values to the heads' answers."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, *rest: Any) -> Tensor:
        """[B, S, heads * size], of the queries alone or of all three side by side."""
        heads, _, size, _ = rest[-4:]
        return query.new_zeros(*query.shape[:2], heads * size)

    @staticmethod
    def symbolic(g: Any, query: Any, key: Any, value: Any, lengths: Any, total: Any, cos: Any, *rest: Any) -> Any:
        """One node; `key` and `value` are None where `query` has all three."""
        sin, heads, groups, size, window = rest
        none = _absent(g)
        parts = (query, none if key is None else key, none if value is None else value)
        made = g.op(
            f"{DOMAIN}::GroupQueryAttention",
            *(*parts, none, none, lengths, total, cos, sin),
            outputs=3,
            num_heads_i=heads,
            kv_num_heads_i=groups,
            do_rotary_i=1,
            local_window_size_i=window,
        )
        return _typed(made[0], query, heads * size)


class _MultiHeadAttention(torch.autograd.Function):
    """Attention to all positions, [B, S, D] each to the same; `bias` float [1, 1, S, S] is added to the scores."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, heads: int) -> Tensor:
        """Of the queries' shape."""
        return torch.zeros_like(query)

    @staticmethod
    def symbolic(g: Any, query: Any, key: Any, value: Any, bias: Any, heads: int) -> Any:
        """One node."""
        none = _absent(g)
        further = () if bias is None else (none, none, bias)
        made = g.op(f"{DOMAIN}::MultiHeadAttention", query, key, value, *further, num_heads_i=heads)
        return made.setType(query.type())


class _RotaryEmbedding(torch.autograd.Function):
    """Turns heads [B, S, heads * size] by tables [S, size / 2], a row for each position."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, first: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Of the states' shape."""
        return torch.zeros_like(states)

    @staticmethod
    def symbolic(g: Any, states: Any, first: Any, cos: Any, sin: Any) -> Any:
        """One node; `first` int64 [1] is the first state's position."""
        return g.op(f"{DOMAIN}::RotaryEmbedding", states, first, cos, sin).setType(states.type())


class _AddAndNorm(torch.autograd.Function):
    """The sum of a change and the states before it, and its RMS norm: (norm, sum)."""

    @staticmethod
    def forward(ctx: Any, change: Tensor, hidden: Tensor, weight: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
        """Both of the states' shape."""
        return torch.zeros_like(hidden), torch.zeros_like(hidden)

    @staticmethod
    def symbolic(g: Any, change: Any, hidden: Any, weight: Any, epsilon: float) -> tuple[Any, Any]:
        """One node."""
        made = g.op(f"{DOMAIN}::SkipSimplifiedLayerNormalization", change, hidden, weight, outputs=4, epsilon_f=epsilon)
        return made[0].setType(hidden.type()), made[3].setType(hidden.type())


class _Norm(torch.autograd.Function):
    """RMS norm over the last axis."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        """Of the states' shape."""
        return torch.zeros_like(states)

    @staticmethod
    def symbolic(g: Any, states: Any, weight: Any, epsilon: float) -> Any:
        """One node, in a domain of its own until `settled`: the tracer checks those of ONNX."""
        return g.op(f"{DOMAIN}::{_NORM}", states, weight, axis_i=-1, epsilon_f=epsilon).setType(states.type())


class _Silu(torch.autograd.Function):
    """x times its sigmoid: QuickGelu with alpha 1."""

    @staticmethod
    def forward(ctx: Any, states: Tensor) -> Tensor:
        """Of the states' shape."""
        return torch.zeros_like(states)

    @staticmethod
    def symbolic(g: Any, states: Any) -> Any:
        """One node."""
        return g.op(f"{DOMAIN}::QuickGelu", states, alpha_f=1.0).setType(states.type())


class _Length(torch.autograd.Function):
    """S of int64 [B, S] as int32 [1]: a shape, which attention reads on the host."""

    @staticmethod
    def forward(ctx: Any, mask: Tensor) -> Tensor:
        """[1]."""
        return torch.tensor([mask.shape[1]], dtype=torch.int32)

    @staticmethod
    def symbolic(g: Any, mask: Any) -> Any:
        """Two nodes."""
        return g.op("Cast", g.op("Shape", mask, start_i=1, end_i=2), to_i=onnx.TensorProto.INT32)


group_query_attention: Callable[..., Any] = _GroupQueryAttention.apply
multi_head_attention: Callable[..., Any] = _MultiHeadAttention.apply
rotary_embedding: Callable[..., Any] = _RotaryEmbedding.apply
add_and_norm: Callable[..., Any] = _AddAndNorm.apply
rms_norm: Callable[..., Any] = _Norm.apply
silu: Callable[..., Any] = _Silu.apply
length_of: Callable[..., Any] = _Length.apply


def picture_attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: None, **more: Any
) -> tuple[Tensor, None]:
    """transformers' attention interface for pictures of one size, [B, H, S, D] each to [B, S, H, D]: one node."""
    heads, length, size = (int(each) for each in query.shape[1:])
    flat = [states.transpose(1, 2).reshape(-1, length, heads * size) for states in (query, key, value)]
    mixed: Tensor = multi_head_attention(*flat, None, heads)
    return mixed.reshape(-1, length, heads, size), None


class FusedNorm(nn.Module):
    """An RMS norm as one node, with the weight of the module that it stands for."""

    def __init__(self, norm: Any) -> None:
        """`norm`: transformers' RMS norm."""
        super().__init__()
        self.weight = norm.weight
        self.epsilon = float(norm.variance_epsilon)

    def forward(self, states: Tensor) -> Tensor:
        """Of the states' shape."""
        normed: Tensor = rms_norm(states, self.weight, self.epsilon)
        return normed


def fuse_norms(module: nn.Module) -> None:
    """Put `FusedNorm` in place of transformers' RMS norms."""
    for name, child in module.named_children():
        if type(child).__name__.endswith("RMSNorm"):
            setattr(module, name, FusedNorm(child))
        else:
            fuse_norms(child)


def settle(model: onnx.ModelProto) -> None:
    """Finish a traced graph: outputs that nothing reads have no name, and norms stand where ONNX Runtime has them."""
    graph = model.graph
    read = {name for node in graph.node for name in node.input} | {value.name for value in graph.output}
    for node in graph.node:
        if node.domain == DOMAIN and node.op_type == _NORM:
            node.domain = ""
        elif node.op_type == "SkipSimplifiedLayerNormalization":
            kept = [name if name in read else "" for name in node.output]
            del node.output[:]
            node.output.extend(kept if kept[-1] else kept[:1])


def _absent(g: Any) -> Any:
    """An optional input that is left out."""
    value = g.op("prim::Constant")
    value.setType(torch._C.OptionalType.ofTensor())
    return value


def _typed(value: Any, like: Any, width: int) -> Any:
    """With the type of [B, S, ...] states, of another width."""
    kind = like.type()
    return value.setType(kind.with_sizes([*(kind.sizes() or [None, None, None])[:-1], width]))
