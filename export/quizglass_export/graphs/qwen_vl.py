"""Qwen2-VL and Qwen3-VL as scorers, beside Qwen2.5-VL, whose graph is `graphs.scorer_vl`.

All three read the same tensors: patches in processor order, M-RoPE positions, one picture size. Qwen2-VL (Wang et al.
2024) has full attention in a tower of plain layers. Qwen3-VL interpolates learned positions, interleaves the axes of
its rotary positions, and adds features of early tower layers to the first layers of the decoder (DeepStack).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from quizglass_export.errors import ExportError
from quizglass_export.graphs.attention import causal_masks, last_positions
from quizglass_export.graphs.decoder import PrefillDecoder
from quizglass_export.graphs.scorer_vl import VisionScorer, VisionTower

VISION_CLASSES = {
    "qwen2_vl": "Qwen2VLForConditionalGeneration",
    "qwen2_5_vl": "Qwen2_5_VLForConditionalGeneration",
    "qwen3_vl": "Qwen3VLForConditionalGeneration",
}
"""transformers' model type to its class."""


def vision_scorer(model: Any, labels: Sequence[int], grid: tuple[int, int], *, several: bool = False) -> nn.Module:
    """The scorer of a merged vision-language model.

    Args:
        model: one of `VISION_CLASSES`.
        labels: token ids in the order of the logits.
        grid: patches down and across of every picture.
        several: whether a prompt may show more than one.
    """
    kind = {"qwen2_vl": Qwen2Scorer, "qwen2_5_vl": VisionScorer, "qwen3_vl": Qwen3Scorer}[model.config.model_type]
    scorer = kind(model, labels, grid).eval()
    scorer.several = several
    return scorer


class PlainTower(VisionTower):
    """Qwen2-VL's vision tower: layer norms, full attention everywhere."""

    def __init__(self, visual: Any, grid: tuple[int, int]) -> None:
        """Args as `VisionTower`'s."""
        nn.Module.__init__(self)
        self.visual = visual
        config = visual.config
        self.heads = int(visual.blocks[0].attn.num_heads)
        self.width = int(getattr(config, "embed_dim", config.hidden_size))
        self.unit = int(config.spatial_merge_size) ** 2
        self.patches = grid[0] * grid[1]
        angles = visual.rot_pos_emb(torch.tensor([[1, *grid]]))
        cos, sin = angles.cos(), angles.sin()
        self.register_buffer("cos", torch.cat((cos, cos), -1)[:, None], persistent=False)
        self.register_buffer("sin", torch.cat((-sin, sin), -1)[:, None], persistent=False)

    def forward(self, pixel_values: Tensor) -> Tensor:
        """float32 [B, n * P, F] patches in processor order to [B * n, P / merge², D] features in that order."""
        states = self._embed(pixel_values)
        for block in self.visual.blocks:
            states = self._through(block, states)
        merger = self.visual.merger
        merged = merger.ln_q(states).reshape(-1, self.width * self.unit)
        return self._by_picture(merger.mlp(merged))

    def _embed(self, pixel_values: Tensor) -> Tensor:
        """[B, n * P, F] to [B * n * P, D]: the kernel's stride is its size, so the convolution is a product."""
        projection = self.visual.patch_embed.proj
        values = pixel_values.reshape(-1, pixel_values.shape[-1])
        return functional.linear(values, projection.weight.flatten(1), projection.bias)

    def _through(self, block: Any, states: Tensor) -> Tensor:
        states = states + self._attend(block.attn, block.norm1(states), None)
        fed: Tensor = block.mlp(block.norm2(states))
        return states + fed

    def _by_picture(self, features: Tensor) -> Tensor:
        return features.reshape(-1, self.patches // self.unit, features.shape[-1])


class Qwen2Scorer(VisionScorer):
    """Qwen2-VL's label logits after a prompt with pictures of one size."""

    def __init__(self, model: Any, labels: Sequence[int], grid: tuple[int, int]) -> None:
        """Args as `VisionScorer`'s, with a Qwen2VLForConditionalGeneration."""
        nn.Module.__init__(self)
        self.tower = PlainTower(model.model.visual, grid)
        self.embed = model.model.language_model.embed_tokens
        self.decoder = PrefillDecoder(model.model.language_model)
        self.image_token = int(model.config.image_token_id)
        self.head = nn.Parameter(model.lm_head.weight[list(labels)].detach().clone(), requires_grad=False)


class DeepTower(PlainTower):
    """Qwen3-VL's vision tower: learned positions, and features taken on the way (DeepStack)."""

    places: Tensor

    def __init__(self, visual: Any, grid: tuple[int, int]) -> None:
        """Args as `VisionTower`'s."""
        super().__init__(visual, grid)
        self.deep = [int(index) for index in visual.deepstack_visual_indexes]
        with torch.no_grad():
            places = visual.fast_pos_embed_interpolate(torch.tensor([[1, *grid]]))
        self.places = nn.Parameter(places.detach().clone(), requires_grad=False)

    def features(self, pixel_values: Tensor) -> list[Tensor]:
        """[B, n * P, F] to the last layer's features, then those of the DeepStack layers in the tower's order.

        Each float32 [B * n, P / merge², D].
        """
        states = self._embed(pixel_values).reshape(-1, self.patches, self.width) + self.places
        states, deep = states.reshape(-1, self.width), []
        for index, block in enumerate(self.visual.blocks):
            states = self._through(block, states)
            if index in self.deep:
                merger = self.visual.deepstack_merger_list[self.deep.index(index)]
                deep.append(self._merge(merger, states))
        return [self._merge(self.visual.merger, states), *deep]

    def _merge(self, merger: Any, states: Tensor) -> Tensor:
        wide = self.width * self.unit
        if merger.use_postshuffle_norm:
            normed = merger.norm(states.reshape(-1, wide))
        else:
            normed = merger.norm(states).reshape(-1, wide)
        return self._by_picture(merger.linear_fc2(merger.act_fn(merger.linear_fc1(normed))))


class DeepDecoder(PrefillDecoder):
    """A decoder whose first layers take further features of the picture, with interleaved M-RoPE."""

    def __init__(self, model: Any) -> None:
        """Args as `PrefillDecoder`'s, with Qwen3-VL's text model."""
        super().__init__(model)
        sections = model.rotary_emb.mrope_section
        axes = torch.zeros(len(self.frequencies), dtype=torch.int64)
        for axis in (1, 2):
            axes[axis : sections[axis] * 3 : 3] = axis
        self.register_buffer("axes", axes, persistent=False)

    def stacked(self, embedded: Tensor, attention_mask: Tensor, position_ids: Tensor, deep: list[Tensor]) -> Tensor:
        """Run like `forward`; `deep` [B, S, D] are added after each of the first layers."""
        batch, length, width = embedded.shape
        masks = causal_masks(self.config, attention_mask)
        rotary = self._rotary(position_ids)
        last = last_positions(attention_mask) + torch.arange(batch) * length
        hidden = embedded.reshape(-1, width)
        final = len(self.layers) - 1
        for index, (layer, kind) in enumerate(zip(self.layers, self.kinds, strict=True)):
            hidden = layer(hidden, masks[kind], rotary, last if index == final else None)
            if index < len(deep):
                added = deep[index].reshape(-1, width)
                hidden = hidden + (added[last] if index == final else added)
        normed: Tensor = self.norm(hidden)
        return normed


class Qwen3Scorer(VisionScorer):
    """Qwen3-VL's label logits after a prompt with pictures of one size."""

    def __init__(self, model: Any, labels: Sequence[int], grid: tuple[int, int]) -> None:
        """Args as `VisionScorer`'s, with a Qwen3VLForConditionalGeneration."""
        nn.Module.__init__(self)
        text = model.model.language_model
        if len(model.model.visual.deepstack_visual_indexes) > len(text.layers):
            raise ExportError("config.json: deepstack_visual_indexes has more entries than the decoder has layers")
        self.tower = DeepTower(model.model.visual, grid)
        self.read = 1 + len(self.tower.deep)
        self.embed = text.embed_tokens
        self.deep_decoder = DeepDecoder(text)
        self.image_token = int(model.config.image_token_id)
        self.head = nn.Parameter(model.lm_head.weight[list(labels)].detach().clone(), requires_grad=False)

    def decide(
        self, input_ids: Tensor, attention_mask: Tensor, position_ids: Tensor, features: Sequence[Tensor]
    ) -> Tensor:
        """Score a batch; beside the last layer's, `features` has those of the DeepStack layers."""
        embedded = self.embed(input_ids)
        first, *deep = features
        nothing = torch.zeros_like(embedded)
        added = [self._place(nothing, each, input_ids) for each in deep]
        placed = self._place(embedded, first, input_ids)
        return functional.linear(self.deep_decoder.stacked(placed, attention_mask, position_ids, added), self.head)
