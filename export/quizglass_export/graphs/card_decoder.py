"""The prefill pass of a vision-language scorer for CUDA: eleven kernels a layer, none of them a shape's arithmetic.

A traced `PrefillDecoder` launches about forty for each layer. Here attention with its rotary positions is one operator,
and so is a sum with the norm behind it. M-RoPE has three positions a token, so each token has a row of its own in the
tables of angles, which are computed once a run. The operator has one pair of tables for all rows of a batch, and where
a picture stands may differ between prompts: a run is one prompt. Not run on a card yet: compared on the CPU, which has
the same operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from quizglass_export.errors import ExportError
from quizglass_export.graphs.card_operators import (
    FusedNorm,
    add_and_norm,
    fuse_norms,
    group_query_attention,
    length_of,
    multi_head_attention,
    rotary_embedding,
    silu,
)
from quizglass_export.graphs.decoder import PrefillDecoder
from quizglass_export.graphs.qwen_vl import vision_scorer
from quizglass_export.graphs.scorer_vl import VisionTower

_HEAD_STEP = 16
"""The attention operator takes heads of a multiple of this size."""


class CardDecoder(PrefillDecoder):
    """The layers of a text decoder, as `PrefillDecoder` has them."""

    def __init__(self, model: Any, axes: Tensor) -> None:
        """Args:
            model: transformers' text model.
            axes: int64 [size / 2], which of a token's positions turns each pair of a head.

        Raises:
            ExportError: the card's operators do not know its form.
        """
        super().__init__(model)
        if self.cache_shape[2] % _HEAD_STEP:
            raise ExportError(
                f"config.json: head_dim {self.cache_shape[2]} is no multiple of {_HEAD_STEP}, which attention on a "
                "card needs; choose precision fp16"
            )
        if self.config.hidden_act != "silu":
            raise ExportError(
                f"config.json: hidden_act {self.config.hidden_act!r} has no graph for a card, only silu; choose "
                "precision fp16"
            )
        self.register_buffer("axes", axes, persistent=False)
        self.norm = FusedNorm(model.norm)

    @staticmethod
    def layer_of(layer: Any, config: Any) -> nn.Module:
        """What stands for one of transformers' layers."""
        return _CardLayer(layer, config)

    def forward(self, embedded: Tensor, attention_mask: Tensor, position_ids: Tensor) -> Tensor:
        """As `PrefillDecoder.forward`, of one row; padding stands on the right."""
        return self.stacked(embedded, attention_mask, position_ids, ())

    def stacked(self, embedded: Tensor, attention_mask: Tensor, position_ids: Tensor, deep: Sequence[Tensor]) -> Tensor:
        """The same; `deep` [B, S, D] are added after each of the first layers."""
        last = attention_mask.sum(1) - 1
        lengths = last.to(torch.int32), length_of(attention_mask)
        tables = self._tables(position_ids)
        layers: list[Any] = list(self.layers)
        norms = [layer.before for layer in layers[1:]] + [self.norm]
        hidden, normed = embedded, layers[0].before(embedded)
        for index, (layer, kind, norm) in enumerate(zip(layers, self.kinds, norms, strict=True)):
            window = int(self.config.sliding_window) if kind == "sliding_attention" else -1
            change, hidden = layer(hidden, normed, lengths, tables, window)
            if index < len(deep):
                change = change + deep[index]
            normed, hidden = add_and_norm(change, hidden, norm.weight, norm.epsilon)
        answer: Tensor = normed[0].index_select(0, last)
        return answer

    def _tables(self, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines [S, size / 2], a row for each token."""
        angles = position_ids[self.axes, 0].permute(1, 0).to(torch.float32) * self.frequencies
        return angles.cos() * self.scaling, angles.sin() * self.scaling


class _CardLayer(nn.Module):
    """One layer. States are [B, S, D]."""

    def __init__(self, layer: Any, config: Any) -> None:
        super().__init__()
        attention = layer.self_attn
        self.heads, self.groups = int(config.num_attention_heads), int(config.num_key_value_heads)
        self.size = int(attention.head_dim)
        parts = [attention.q_proj, attention.k_proj, attention.v_proj]
        self.weight = _constant(torch.cat([part.weight for part in parts]))
        biased = parts[0].bias is not None
        self.bias = _constant(torch.cat([part.bias for part in parts])) if biased else None
        normed = getattr(attention, "q_norm", None) is not None
        self.norms = nn.ModuleList([FusedNorm(attention.q_norm), FusedNorm(attention.k_norm)]) if normed else None
        self.before, self.after = FusedNorm(layer.input_layernorm), FusedNorm(layer.post_attention_layernorm)
        self.out, self.mlp = attention.o_proj, layer.mlp

    def forward(
        self, hidden: Tensor, normed: Tensor, lengths: tuple[Tensor, Tensor], tables: tuple[Tensor, ...], window: int
    ) -> tuple[Tensor, Tensor]:
        """The change that the feed-forward makes, and the states that it is added to."""
        parts: list[Tensor | None] = [functional.linear(normed, self.weight, self.bias), None, None]
        if self.norms is not None and parts[0] is not None:
            sizes = [each * self.size for each in (self.heads, self.groups, self.groups)]
            parts = list(torch.split(parts[0], sizes, -1))
            for place, norm in enumerate(self.norms):
                states = parts[place]
                assert states is not None
                parts[place] = norm(states.reshape(1, -1, sizes[place] // self.size, self.size)).reshape(
                    1, -1, sizes[place]
                )
        mixed = group_query_attention(*parts, *lengths, *tables, self.heads, self.groups, self.size, window)
        normed, hidden = add_and_norm(self.out(mixed), hidden, self.after.weight, self.after.epsilon)
        gated = silu(self.mlp.gate_proj(normed)) * self.mlp.up_proj(normed)
        change: Tensor = self.mlp.down_proj(gated)
        return change, hidden


def card_vision_scorer(model: Any, labels: Sequence[int], grid: tuple[int, int], *, several: bool = False) -> nn.Module:
    """A vision-language scorer with ONNX Runtime's fused operators; args as `vision_scorer`'s."""
    scorer: Any = vision_scorer(model, labels, grid, several=several)
    name = "deep_decoder" if hasattr(scorer, "deep_decoder") else "decoder"
    setattr(scorer, name, CardDecoder(model.model.language_model, getattr(scorer, name).axes))
    scorer.tower.attend = attend
    fuse_norms(scorer.tower)
    made: nn.Module = scorer.eval()
    return made


def attend(tower: VisionTower, mixed: Tensor, scaling: float, mask: Tensor | None) -> Tensor:
    """Attention in a vision tower: queries, keys and values [B * P, 3 * D] to the heads' answers of the same rows."""
    size = tower.width // tower.heads
    tables = [table[:, 0, half] for table, half in ((tower.cos, slice(size // 2)), (tower.sin, slice(size // 2, None)))]
    first = torch.zeros(1, dtype=torch.int64)
    query, key, value = torch.split(mixed.reshape(-1, tower.patches, 3 * tower.width), tower.width, -1)
    query, key = (rotary_embedding(states, first, *tables) for states in (query, key))
    bias = None if mask is None else mask[None, None]
    out: Tensor = multi_head_attention(query, key, value, bias, tower.heads)
    return out.reshape(-1, tower.width)


def _constant(values: Tensor) -> nn.Parameter:
    return nn.Parameter(values.detach().clone().contiguous(), requires_grad=False)
