"""Greedy completions of a checkpoint of transformers', as a bundle's generator writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import transformers


def complete(model: Any, inputs: Mapping[str, Any], stop: Sequence[int], most: int) -> Any:
    """The likeliest token, one after the other, by the model's logits and nothing else.

    What `generation_config.json` asks for has no part in it, such as the repetition penalty of Qwen2.5-VL: llama.cpp
    serves none.

    Args:
        model: perhaps with an adapter in PEFT's layers.
        inputs: of `generate`.
        stop: ids of tokens that end an answer; the first fills up what ended before others.
        most: tokens of an answer.

    Returns:
        transformers' output, with `sequences` [B, S] and the `logits` [B, V] of each step.
    """
    how = transformers.GenerationConfig(
        do_sample=False,
        max_new_tokens=most,
        eos_token_id=list(stop),
        pad_token_id=stop[0],
        return_dict_in_generate=True,
        output_logits=True,
    )
    return model.generate(**inputs, generation_config=how, use_model_defaults=False)
