"""Batched greedy decoding for the starter's small models, with the keys and values of the prompt kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from quizglass_lab.starter.data.batches import positions_of
from quizglass_lab.starter.data.examples import Encoder, Request
from quizglass_lab.starter.loop.training import Pictures, shown
from quizglass_lab.starter.model.precision import device_of
from quizglass_lab.starter.model.vlm import (
    HEADS,
    KEY_VALUE_HEADS,
    Model,
    logits,
    normed,
    picture_features,
    rotate,
    text_angles,
)
from quizglass_server.steps.calculator import worked_out

MOST_NEW_TOKENS = 32
_TOGETHER = {"cpu": 128, "cuda": 1024}
"""Prompts of one length that are decoded at once, by device."""


class _Cache:
    """Keys and values of one batch, per layer; prompts of equal length, so no padding inside."""

    def __init__(self) -> None:
        self.layers: list[tuple[Tensor, Tensor]] = []

    def extend(self, index: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        if index == len(self.layers):
            self.layers.append((key, value))
        else:
            old_key, old_value = self.layers[index]
            self.layers[index] = (torch.cat((old_key, key), 2), torch.cat((old_value, value), 2))
        return self.layers[index]


def _forward(model: Model, embeddings: Tensor, positions: Tensor, cache: _Cache) -> Tensor:
    """Hidden state [B, 192] of the last token."""
    language = model.model.language_model
    cos, sin = text_angles(language, positions)
    batch, length, _ = embeddings.shape
    x = embeddings
    for index, layer in enumerate(language.layers):
        attention = layer.self_attn
        inner = normed(x, layer.input_layernorm)
        query = attention.q_proj(inner).view(batch, length, HEADS, -1).transpose(1, 2)
        key = attention.k_proj(inner).view(batch, length, KEY_VALUE_HEADS, -1).transpose(1, 2)
        value = attention.v_proj(inner).view(batch, length, KEY_VALUE_HEADS, -1).transpose(1, 2)
        query, key = rotate(query, cos, sin), rotate(key, cos, sin)
        key, value = cache.extend(index, key, value)
        groups = HEADS // KEY_VALUE_HEADS
        mixed = F.scaled_dot_product_attention(
            query, key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1), is_causal=length > 1
        )
        x = x + attention.o_proj(mixed.transpose(1, 2).reshape(batch, length, -1))
        x = x + layer.mlp(normed(x, layer.post_attention_layernorm))
    return normed(x[:, -1], language.norm)


@dataclass(frozen=True)
class GreedyAnswer:
    """A greedy answer, worked out, and the probability of each of its tokens, the end token among them."""

    text: str
    probabilities: tuple[float, ...]


def generate(model: Model, encoder: Encoder, requests: Sequence[Request], store: Pictures | None) -> list[str]:
    """Greedy answers to requests, in their order."""
    return [written.text for written in write(model, encoder, requests, store)]


@torch.inference_mode()
def write(
    model: Model, encoder: Encoder, requests: Sequence[Request], store: Pictures | None, most: int = MOST_NEW_TOKENS
) -> list[GreedyAnswer]:
    """Greedy answers of at most `most` tokens, in the requests' order; prompts of one length are decoded together."""
    prompts = [encoder.prompt(request) for request in requests]
    order = sorted(range(len(requests)), key=lambda index: (len(prompts[index]), requests[index].picture is None))
    answers = [GreedyAnswer("", ())] * len(requests)
    together, start = _TOGETHER[device_of(model).type], 0
    while start < len(order):
        first = order[start]
        same = (len(prompts[first]), requests[first].picture is None)
        end = start
        while end < len(order) and end - start < together:
            if (len(prompts[order[end]]), requests[order[end]].picture is None) != same:
                break
            end += 1
        rows = order[start:end]
        pictures = [requests[row].picture for row in rows]
        for row, written in zip(
            rows, _decode(model, encoder, [prompts[row] for row in rows], pictures, store, most), strict=True
        ):
            answers[row] = written
        start = end
    return answers


def _decode(
    model: Model,
    encoder: Encoder,
    prompts: Sequence[tuple[int, ...]],
    pictures: Sequence[int | None],
    store: Pictures | None,
    most: int,
) -> list[GreedyAnswer]:
    device = device_of(model)
    ids = torch.tensor(prompts, device=device)
    embeddings = model.model.language_model.embed_tokens(ids)
    seen = [picture for picture in pictures if picture is not None]
    if seen and store is not None:
        features = picture_features(model, shown(store, seen, device))
        slots = (ids == encoder.pad).nonzero(as_tuple=True)
        embeddings = embeddings.index_put(slots, features.reshape(-1, features.shape[-1]))
    positions = torch.from_numpy(np.stack([positions_of(prompt, encoder.pad) for prompt in prompts], 1)).to(device)
    cache = _Cache()
    hidden = _forward(model, embeddings, positions, cache)
    following = positions[:, :, -1:].max(0, keepdim=True).values.expand(3, -1, -1)
    written: list[list[int]] = [[] for _ in prompts]
    sure: list[list[float]] = [[] for _ in prompts]
    open_rows = set(range(len(prompts)))
    for _ in range(most):
        shares, best = logits(model, hidden).float().softmax(-1).max(-1)
        tokens, chances = best.tolist(), shares.tolist()
        for row in list(open_rows):
            token = tokens[row]
            sure[row].append(chances[row])
            if token == encoder.end:
                open_rows.discard(row)
            else:
                written[row].append(token)
        if not open_rows:
            break
        following = following + 1
        hidden = _forward(model, model.model.language_model.embed_tokens(best[:, None]), following, cache)
    texts = (worked_out(encoder.decode(ids)) for ids in written)
    return [GreedyAnswer(text, tuple(each)) for text, each in zip(texts, sure, strict=True)]
