"""A decoder's prefill pass, written for few and large operations in the exported graph.

transformers' own forward traces to hundreds of shape computations and rotates every layer's positions anew. Here
rotary tables are made once, heads are grouped instead of repeated, and the last layer works on each row's last token
alone: nothing else of it is read. All of it is the same arithmetic; the parity check holds it to that.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from quizglass_export.errors import ExportError
from quizglass_export.graphs.attention import causal_masks, last_positions

STATIC_ROPE = ("default", "mrope", "linear", "yarn", "llama3")
"""Rotary embeddings whose angles do not depend on the length of the prompt."""


class PrefillDecoder(nn.Module):
    """The layers of a text decoder with grouped-query attention, gated feed-forward and rotary positions.

    Qwen2, Qwen2-VL, Qwen2.5-VL and Qwen3 have this form, and what shares their layer names.
    """

    frequencies: Tensor
    axes: Tensor

    def __init__(self, model: Any) -> None:
        """Args:
            model: transformers' text model (`embed_tokens`, `layers`, `norm`, `rotary_emb`).

        Raises:
            ExportError: its rotary embedding changes with the length of the prompt.
        """
        super().__init__()
        self.config = model.config
        kind = getattr(model.rotary_emb, "rope_type", "default")
        if kind not in STATIC_ROPE:
            raise ExportError(
                f"config.json: rope_type {kind!r} cannot be exported; use one of {', '.join(STATIC_ROPE)}"
            )
        self.layers = nn.ModuleList([self.layer_of(layer, self.config) for layer in model.layers])
        self.kinds: list[str] = [getattr(layer, "attention_type", "full_attention") for layer in model.layers]
        self.norm = model.norm
        self.cache_shape = (
            len(self.kinds),
            int(self.config.num_key_value_heads),
            int(model.layers[0].self_attn.head_dim),
        )
        """Layers, heads of keys and values, and size of each."""
        frequencies = model.rotary_emb.inv_freq.detach().clone().float()
        sections = (getattr(self.config, "rope_scaling", None) or {}).get("mrope_section") or [len(frequencies)]
        axes = torch.repeat_interleave(torch.arange(len(sections)), torch.tensor(sections))
        self.register_buffer("frequencies", frequencies, persistent=False)
        self.register_buffer("axes", axes, persistent=False)
        self.scaling = float(model.rotary_emb.attention_scaling)

    @staticmethod
    def layer_of(layer: Any, config: Any) -> nn.Module:
        """What stands for one of transformers' layers."""
        return _Layer(layer, config)

    def forward(self, embedded: Tensor, attention_mask: Tensor, position_ids: Tensor) -> Tensor:
        """Run over a batch of prompts.

        Args:
            embedded: float32 [B, S, D].
            attention_mask: int64 [B, S], 1 for a token; padding on either side.
            position_ids: int64 [axes, B, S]; one axis, or three for M-RoPE.

        Returns:
            float32 [B, D], the normed state of each row's last token.
        """
        batch, length, width = embedded.shape
        masks = causal_masks(self.config, attention_mask)
        rotary = self._rotary(position_ids)
        last = last_positions(attention_mask) + torch.arange(batch) * length
        hidden: Tensor = embedded.reshape(-1, width)
        for index, (layer, kind) in enumerate(zip(self.layers, self.kinds, strict=True)):
            is_final = index == len(self.layers) - 1
            hidden = layer(hidden, masks[kind], rotary, last if is_final else None)
        normed: Tensor = self.norm(hidden)
        return normed

    def resume(
        self, embedded: Tensor, attention_mask: Tensor, position_ids: Tensor, past: Tensor, keep: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The same after a past.

        Args:
            embedded: float32 [B, S, D].
            attention_mask: int64 [B, P + S], 1 for a token; padding on either side of the past and of the rest.
            position_ids: int64 [axes, B, S].
            past: float32 [L, 2, B, H, P, D_head], keys and values of each layer; P may be 0.
            keep: int64 scalar: of how many leading positions, past and new, keys and values are returned.

        Returns:
            float32 [B, D], as `forward`, and [L, 2, B, H, keep, D_head].
        """
        batch, length, width = embedded.shape
        masks = causal_masks(self.config, attention_mask, length)
        rotary = self._rotary(position_ids)
        asking = attention_mask[:, attention_mask.shape[1] - length :]
        last = last_positions(asking) + torch.arange(batch) * length
        hidden, kept = embedded.reshape(-1, width), []
        layers: list[Any] = list(self.layers)
        for index, (layer, kind) in enumerate(zip(layers, self.kinds, strict=True)):
            wanted = last if index == len(self.layers) - 1 else None
            hidden, keys, values = layer.step(hidden, masks[kind], rotary, wanted, past[index])
            kept.append(torch.stack((keys[:, :, :keep], values[:, :, :keep])))
        return self.norm(hidden), torch.stack(kept)

    def _rotary(self, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and signed sines, float32 [B, S, 1, D_head], as `rotate` takes them."""
        angles = position_ids[self.axes].permute(1, 2, 0).to(torch.float32) * self.frequencies
        cos, sin = angles.cos() * self.scaling, angles.sin() * self.scaling
        return torch.cat((cos, cos), -1)[:, :, None], torch.cat((-sin, sin), -1)[:, :, None]


class _Layer(nn.Module):
    """One layer. States are float32 [B * S, D], so that a product and its bias become one operation."""

    def __init__(self, layer: Any, config: Any) -> None:
        super().__init__()
        attention = layer.self_attn
        self.groups = int(config.num_key_value_heads)
        self.heads = int(config.num_attention_heads)
        self.shared = self.heads // self.groups
        self.size = int(attention.head_dim)
        self.before, self.after, self.mlp = layer.input_layernorm, layer.post_attention_layernorm, layer.mlp
        self.asking = _Heads(attention.q_proj, getattr(attention, "q_norm", None), self.heads, attention.scaling)
        self.asked = _Heads(attention.k_proj, getattr(attention, "k_norm", None), self.groups)
        self.both = _Heads.joined(self.asking, self.asked)
        self.value, self.out = attention.v_proj, attention.o_proj

    def forward(
        self, hidden: Tensor, mask: Tensor, rotary: tuple[Tensor, Tensor], last: Tensor | None = None
    ) -> Tensor:
        """[B * S, D] to the same; with `last`, to the states [B, D] of those rows alone."""
        return self.step(hidden, mask, rotary, last)[0]

    def step(
        self,
        hidden: Tensor,
        mask: Tensor,
        rotary: tuple[Tensor, Tensor],
        last: Tensor | None = None,
        past: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Run like `forward`, after keys and values of a past [2, B, H, P, d]; gives all keys and values too."""
        length = mask.shape[1]
        normed = self.before(hidden)
        values = self.value(normed).reshape(-1, length, self.groups, self.size).transpose(1, 2)
        if last is None:
            turned = rotate(self.both(normed, length), *rotary, self.size)
            queries, keys = torch.split(turned, [self.heads, self.groups], 2)
        else:
            keys = rotate(self.asked(normed, length), *rotary, self.size)
            hidden, normed, length = hidden[last], normed[last], 1
            mask = mask.flatten(0, 1)[last][:, None]
            rotary = (rotary[0].flatten(0, 1)[last][:, None], rotary[1].flatten(0, 1)[last][:, None])
            queries = rotate(self.asking(normed, length), *rotary, self.size)
        keys = keys.transpose(1, 2)
        if past is not None:
            keys, values = torch.cat((past[0], keys), 2), torch.cat((past[1], values), 2)
        grouped = queries.reshape(-1, length, self.groups, self.shared, self.size).permute(0, 2, 3, 1, 4)
        scores = grouped @ keys.transpose(-1, -2)[:, :, None] + mask[:, None, None]
        mixed = scores.softmax(-1) @ values[:, :, None]
        hidden = hidden + self.out(mixed.permute(0, 3, 1, 2, 4).reshape(-1, self.heads * self.size))
        return hidden + self.mlp(self.after(hidden)), keys, values


class _Heads(nn.Module):
    """Projects states to heads, and norms each head where the model does so (Qwen3)."""

    def __init__(self, projection: Any, norm: Any, heads: int, factor: float = 1.0) -> None:
        """`factor` is the scores' scale, folded in where the heads get their size."""
        super().__init__()
        self.heads = heads
        self.size = projection.out_features // heads
        grown = factor if norm is None else 1.0
        self.weight = _constant(projection.weight * grown)
        self.bias = None if projection.bias is None else _constant(projection.bias * grown)
        self.norm: Any = None
        if norm is not None:
            self.scale = _constant((norm.weight * factor).expand(heads, self.size))
            self.norm = deepcopy(norm)
            nn.init.ones_(self.norm.weight)

    @classmethod
    def joined(cls, first: _Heads, second: _Heads) -> _Heads:
        """Both in one product."""
        whole = deepcopy(first)
        whole.heads = first.heads + second.heads
        whole.weight = _constant(torch.cat((first.weight, second.weight)))
        if first.bias is not None and second.bias is not None:
            whole.bias = _constant(torch.cat((first.bias, second.bias)))
        if first.norm is not None:
            whole.scale = _constant(torch.cat((first.scale, second.scale)))
        return whole

    def forward(self, states: Tensor, length: int) -> Tensor:
        """[B * S, D] to [B, S, heads, size]."""
        heads = functional.linear(states, self.weight, self.bias).reshape(-1, length, self.heads, self.size)
        return heads if self.norm is None else self.norm(heads) * self.scale


def rotate(states: Tensor, cos: Tensor, sin: Tensor, size: int) -> Tensor:
    """Rotary positions of [..., size]: halves swapped and weighed with the sine, whose first half has a minus sign."""
    first, second = torch.split(states, [size // 2, size // 2], -1)
    return states * cos + torch.cat((second, first), -1) * sin


def _constant(values: Tensor) -> nn.Parameter:
    return nn.Parameter(values.detach().clone().contiguous(), requires_grad=False)
