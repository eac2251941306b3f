"""Qwen2.5-VL as a scorer: one prefill pass over a picture and a prompt that returns the label rows of its head.

The picture's grid is fixed when the scorer is built, so that window order, rotary angles and masks are constants;
batch and sequence stay dynamic, and so may the number of pictures a row. Patches keep a batch dimension: transformers'
own vision tower chains all pictures in one sequence and splits it by lengths, which no exporter can leave dynamic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from quizglass_export.graphs.decoder import PrefillDecoder, rotate

Attend = Callable[["VisionTower", Tensor, float, Tensor | None], Tensor]
"""Attention of a tower: queries, keys and values [B * P, 3 * D], the scores' factor and what is added to them [P, P],
to the heads' answers [B * P, D]."""


def _attend(tower: VisionTower, mixed: Tensor, scaling: float, mask: Tensor | None) -> Tensor:
    size = tower.width // tower.heads
    parts = mixed.reshape(-1, tower.patches, 3, tower.heads, size)
    turned = rotate(parts[:, :, :2], tower.cos[:, None], tower.sin[:, None], size)
    query, key = turned.permute(2, 0, 3, 1, 4).unbind(0)
    value = parts[:, :, 2]
    scores = query @ key.transpose(-1, -2) * scaling
    if mask is not None:
        scores = scores + mask
    return (scores.softmax(dim=-1) @ value.transpose(1, 2)).transpose(1, 2).reshape(-1, tower.width)


class VisionTower(nn.Module):
    """Qwen2.5-VL's vision tower for pictures of one size."""

    cos: Tensor
    sin: Tensor
    order: Tensor
    inverse: Tensor
    window_mask: Tensor
    kernel: Tensor
    attend: Attend = staticmethod(_attend)
    """How its heads attend."""

    def __init__(self, visual: Any, grid: tuple[int, int]) -> None:
        """Args:
        visual: transformers' Qwen2.5-VL vision model.
        grid: patches down and across.
        """
        super().__init__()
        self.visual = visual
        self.full_blocks = frozenset(visual.fullatt_block_indexes)
        self.heads = int(visual.blocks[0].attn.num_heads)
        self.width = int(visual.config.hidden_size)
        self.unit = int(visual.spatial_merge_unit)
        self.out = int(visual.config.out_hidden_size)
        self.patches = patches = grid[0] * grid[1]
        shape = torch.tensor([[1, *grid]])
        windows, bounds = visual.get_window_index(shape)
        order = (windows[:, None] * self.unit + torch.arange(self.unit)).reshape(-1)
        self.in_order = bool((order == torch.arange(patches)).all())
        angles = visual.rot_pos_emb(shape)[order]
        members = torch.bucketize(torch.arange(patches), torch.tensor(sorted(set(bounds))), right=True)
        same_window = members[:, None] == members[None, :]
        cos, sin = angles.cos(), angles.sin()
        # The kernel's stride is its size, so the 3-D convolution is a product with the flattened kernel; the frames
        # of a still picture are equal, so the first is multiplied with the sum of their kernels.
        kernel = visual.patch_embed.proj.weight.detach()
        self.frames = int(kernel.shape[2])
        kernel = kernel.sum(2).flatten(1)
        self.register_buffer("kernel", kernel, persistent=False)
        self.register_buffer("cos", torch.cat((cos, cos), -1)[:, None], persistent=False)
        self.register_buffer("sin", torch.cat((-sin, sin), -1)[:, None], persistent=False)
        self.register_buffer("order", order, persistent=False)
        self.register_buffer("inverse", torch.argsort(windows), persistent=False)
        self.register_buffer("window_mask", torch.where(same_window, 0.0, -1e9), persistent=False)

    def forward(self, pixel_values: Tensor) -> Tensor:
        """Features of pictures.

        Args:
            pixel_values: float32 [B, n * P, F] patches in processor order, every frame the same, of n pictures a row.

        Returns:
            float32 [B * n, P / merge², D] in that order.
        """
        visual = self.visual
        values = int(self.kernel.shape[1])
        first = pixel_values.reshape(-1, 3, self.frames, values // 3)[:, :, 0]
        states = functional.linear(first.reshape(-1, values), self.kernel)
        if not self.in_order:
            states = states.reshape(-1, self.patches, self.width)[:, self.order].reshape(-1, self.width)
        for index, block in enumerate(visual.blocks):
            mask = None if index in self.full_blocks else self.window_mask
            states = states + self._attend(block.attn, block.norm1(states), mask)
            states = states + block.mlp(block.norm2(states))
        merged = visual.merger.ln_q(states).reshape(-1, self.width * self.unit)
        features: Tensor = visual.merger.mlp(merged)
        features = features.reshape(-1, self.patches // self.unit, self.out)
        return features if self.in_order else features[:, self.inverse]

    def features(self, pixel_values: Tensor) -> list[Tensor]:
        """What a decoder reads of pictures: what `forward` gives, and of some towers more of that shape after it."""
        return [self(pixel_values)]

    def _attend(self, attention: Any, states: Tensor, mask: Tensor | None) -> Tensor:
        """float32 [B * P, D] to the same."""
        projected: Tensor = attention.proj(self.attend(self, attention.qkv(states), attention.scaling, mask))
        return projected


class VisionScorer(nn.Module):
    """Label logits after a prompt with pictures of one size."""

    several = False
    """Whether a row may have more than one."""
    read = 1
    """How many features of an image token its tower gives."""

    def __init__(self, model: Any, labels: Sequence[int], grid: tuple[int, int]) -> None:
        """Args:
        model: a merged Qwen2_5_VLForConditionalGeneration.
        labels: token ids in the order of the logits.
        grid: patches down and across of every picture.
        """
        super().__init__()
        self.tower = VisionTower(model.model.visual, grid)
        self.embed = model.model.language_model.embed_tokens
        self.decoder = PrefillDecoder(model.model.language_model)
        self.image_token = int(model.config.image_token_id)
        self.head = nn.Parameter(model.lm_head.weight[list(labels)].detach().clone(), requires_grad=False)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, position_ids: Tensor, pixel_values: Tensor) -> Tensor:
        """Score a batch.

        Args:
            input_ids: int64 [B, S]; a row holds the runs of image tokens of up to n pictures, without `several` of one.
            attention_mask: int64 [B, S], 1 for a token; padding on either side.
            position_ids: int64 [3, B, S], M-RoPE.
            pixel_values: float32 [B, n * P, F]; unread beyond the pictures that a row has image tokens of.

        Returns:
            float32 [B, labels].
        """
        return self.decide(input_ids, attention_mask, position_ids, self.tower.features(pixel_values))

    def decide(
        self, input_ids: Tensor, attention_mask: Tensor, position_ids: Tensor, features: Sequence[Tensor]
    ) -> Tensor:
        """Score a batch about pictures of which the tower gave these features."""
        embedded = self._place(self.embed(input_ids), features[0], input_ids)
        return functional.linear(self.decoder(embedded, attention_mask, position_ids), self.head)

    def _place(self, embedded: Tensor, features: Tensor, input_ids: Tensor) -> Tensor:
        """Put each row's k-th feature, counted through its pictures, where its k-th image token is.

        A gather and a select: a masked scatter would couple the rows of a batch and needs data-dependent shapes.
        """
        if self.several:
            features = features.reshape(input_ids.shape[0], -1, features.shape[-1])
        is_image = input_ids == self.image_token
        turn = (is_image.to(torch.int64).cumsum(1) - 1).clamp(0, features.shape[1] - 1)
        chosen = features.gather(1, turn[:, :, None].expand(-1, -1, features.shape[-1]))
        return torch.where(is_image[:, :, None], chosen, embedded)


class TowerGraph(nn.Module):
    """The tower of a scorer by itself."""

    def __init__(self, scorer: VisionScorer) -> None:
        """Args:
        scorer: any of the three families'.
        """
        super().__init__()
        self.tower = scorer.tower

    def forward(self, pixel_values: Tensor) -> Tensor:
        """float32 [1, P, F] patches of a picture to all its features, side by side: [1, P / merge², read * D]."""
        features = self.tower.features(pixel_values)
        return torch.cat(features, -1) if len(features) > 1 else features[0]


class DecisionGraph(nn.Module):
    """A scorer without its tower."""

    def __init__(self, scorer: VisionScorer) -> None:
        """Args:
        scorer: any of the three families'; its tower is taken out.
        """
        super().__init__()
        del scorer.tower
        scorer.several = False  # features come by rows already
        self.scorer = scorer

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, position_ids: Tensor, image_features: Tensor
    ) -> Tensor:
        """As `VisionScorer.forward`, with `image_features` [B, n * P / merge², read * D] of `TowerGraph`."""
        parts = image_features.chunk(self.scorer.read, -1) if self.scorer.read > 1 else [image_features]
        return self.scorer.decide(input_ids, attention_mask, position_ids, parts)
