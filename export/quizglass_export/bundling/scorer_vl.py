"""Qwen2.5-VL as a scorer: one prefill pass over a picture and a prompt that returns the label rows of its head.

The picture's grid is fixed when the scorer is built, so that window order, rotary angles and masks are constants;
batch and sequence stay dynamic. The picture's patches keep a batch dimension: transformers' own vision tower chains
all pictures in one sequence and splits it by lengths, which no exporter can leave dynamic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from quizglass_export.bundling.attention import causal_masks, last_states


class VisionTower(nn.Module):
    """Qwen2.5-VL's vision tower for pictures of one size."""

    cos: Tensor
    sin: Tensor
    order: Tensor
    inverse: Tensor
    window_mask: Tensor

    def __init__(self, visual: Any, grid: tuple[int, int]) -> None:
        """Args:
        visual: transformers' Qwen2.5-VL vision model.
        grid: patches down and across.
        """
        super().__init__()
        self.visual = visual
        self.full_blocks = frozenset(visual.fullatt_block_indexes)
        self.heads = visual.blocks[0].attn.num_heads
        patches = grid[0] * grid[1]
        shape = torch.tensor([[1, *grid]])
        windows, bounds = visual.get_window_index(shape)
        unit = visual.spatial_merge_unit
        order = (windows[:, None] * unit + torch.arange(unit)).reshape(-1)
        angles = visual.rot_pos_emb(shape)[order]
        angles = torch.cat((angles, angles), dim=-1)
        members = torch.bucketize(torch.arange(patches), torch.tensor(sorted(set(bounds))), right=True)
        same_window = members[:, None] == members[None, :]
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        self.register_buffer("order", order, persistent=False)
        self.register_buffer("inverse", torch.argsort(windows), persistent=False)
        self.register_buffer("window_mask", torch.where(same_window, 0.0, -1e9), persistent=False)

    def forward(self, pixel_values: Tensor) -> Tensor:
        """float32 [B, P, F] patches in processor order to [B, P / merge², D] features in that order."""
        visual = self.visual
        # The kernel's stride is its size, so the 3-D convolution is a product with the flattened kernel.
        kernel = visual.patch_embed.proj.weight.flatten(1)
        states = functional.linear(pixel_values, kernel)[:, self.order]
        for index, block in enumerate(visual.blocks):
            mask = None if index in self.full_blocks else self.window_mask
            states = states + self._attend(block.attn, block.norm1(states), mask)
            states = states + block.mlp(block.norm2(states))
        merged = visual.merger.ln_q(states).reshape(states.shape[0], self.inverse.shape[0], -1)
        features: Tensor = visual.merger.mlp(merged)
        return features[:, self.inverse]

    def _attend(self, attention: Any, states: Tensor, mask: Tensor | None) -> Tensor:
        batch, patches, width = states.shape
        mixed = attention.qkv(states).reshape(batch, patches, 3, self.heads, width // self.heads)
        query, key, value = mixed.permute(2, 0, 3, 1, 4).unbind(0)
        query, key = self._rotate(query), self._rotate(key)
        scores = query @ key.transpose(-1, -2) * attention.scaling
        if mask is not None:
            scores = scores + mask
        out = (scores.softmax(dim=-1) @ value).transpose(1, 2).reshape(batch, patches, width)
        projected: Tensor = attention.proj(out)
        return projected

    def _rotate(self, states: Tensor) -> Tensor:
        first, second = states.chunk(2, dim=-1)
        return states * self.cos + torch.cat((-second, first), dim=-1) * self.sin


class VisionScorer(nn.Module):
    """Label logits after a prompt with at most one picture."""

    def __init__(self, model: Any, labels: Sequence[int], grid: tuple[int, int]) -> None:
        """Args:
        model: a merged Qwen2_5_VLForConditionalGeneration with eager attention.
        labels: token ids in the order of the logits.
        grid: patches down and across of every picture.
        """
        super().__init__()
        self.tower = VisionTower(model.model.visual, grid)
        self.decoder = model.model.language_model
        self.image_token = int(model.config.image_token_id)
        self.head = nn.Parameter(model.lm_head.weight[list(labels)].detach().clone(), requires_grad=False)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, position_ids: Tensor, pixel_values: Tensor) -> Tensor:
        """Score a batch.

        Args:
            input_ids: int64 [B, S]; a row holds one picture's run of image tokens, or none.
            attention_mask: int64 [B, S], 1 for a token; padding on either side.
            position_ids: int64 [3, B, S], M-RoPE.
            pixel_values: float32 [B, P, F]; unread for rows without image tokens.

        Returns:
            float32 [B, labels].
        """
        embedded = self._place(self.decoder.embed_tokens(input_ids), self.tower(pixel_values), input_ids)
        hidden = self.decoder(
            inputs_embeds=embedded,
            attention_mask=causal_masks(self.decoder.config, attention_mask),
            position_ids=position_ids,
            use_cache=False,
        ).last_hidden_state
        return functional.linear(last_states(hidden, attention_mask), self.head)

    def _place(self, embedded: Tensor, features: Tensor, input_ids: Tensor) -> Tensor:
        """Put each row's n-th feature where its n-th image token is.

        A gather and a select: a masked scatter would couple the rows of a batch and needs data-dependent shapes.
        """
        is_image = input_ids == self.image_token
        turn = (is_image.to(torch.int64).cumsum(1) - 1).clamp(0, features.shape[1] - 1)
        chosen = features.gather(1, turn[:, :, None].expand(-1, -1, features.shape[-1]))
        return torch.where(is_image[:, :, None], chosen, embedded)
