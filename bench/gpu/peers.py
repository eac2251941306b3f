"""PyTorch on the card: the same decoder in float16, compiled, and what the card can do at most."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from bench.engine.contenders.larger import HEAD, LAYERS, TextSize
from bench.engine.contenders.shapes import VOCABULARY
from bench.gpu.models import LABELS, Size, as_transformers

WRITING = "transformers' generate, float16"
GENERATED = "transformers' generate of one token, float16"
COMPILED = "torch float16, torch.compile(mode='reduce-overhead')"
_WIDTH = 8192
_ROUNDS = 20


def compiled(size: Size) -> Callable[[np.ndarray], None] | None:
    """Runs transformers' model of this size, synchronised; None where torch has no card."""
    torch = _torch()
    if torch is None:
        return None
    from transformers import Qwen3Model

    with torch.device("cuda"):
        model = Qwen3Model(as_transformers(size)).half().eval()
        head = torch.randn(LABELS, size.shape.width, dtype=torch.float16)

    def scores(ids: Any) -> Any:
        return model(input_ids=ids, use_cache=False).last_hidden_state[:, -1] @ head.T

    fast = torch.compile(scores, mode="reduce-overhead")

    def run(ids: np.ndarray) -> None:
        with torch.inference_mode():
            fast(torch.from_numpy(ids).cuda()).cpu()

    return run


def of(call: Callable[..., Any], model: Any) -> Callable[[dict[str, np.ndarray]], None] | None:
    """Runs what `call` makes of inputs by name, compiled, of a model that is moved to the card in float16."""
    torch = _torch()
    if torch is None:
        return None
    placed: list[Any] = []
    fast = torch.compile(call, mode="reduce-overhead")

    def run(given: dict[str, np.ndarray]) -> None:
        if not placed:  # only now: it may still be exported before
            placed.append(model.cuda().half())
        tensors = {name: torch.from_numpy(value).cuda() for name, value in given.items()}
        halved = {name: value.half() if value.is_floating_point() else value for name, value in tensors.items()}
        with torch.inference_mode():
            fast(**halved).cpu()

    return run


def one_token(model: Any, size: tuple[int, int], *, anywhere: bool) -> Callable[[dict[str, np.ndarray]], None] | None:
    """Runs transformers' `generate` of one token, as a planner is asked without label rows; None where torch has no
    card.

    Args:
        model: a vision-language one, which is moved to the card in float16.
        size: rows and columns of the picture's patches.
        anywhere: whether the CPU does, in float32.
    """
    torch = _torch(anywhere)
    if torch is None:
        return None
    placed: list[Any] = []

    def run(given: dict[str, np.ndarray]) -> None:
        if not placed:
            placed.append(model.cuda().half() if torch.cuda.is_available() else model)
        where, number = placed[0].device, placed[0].dtype
        with torch.inference_mode():
            placed[0].generate(
                input_ids=torch.from_numpy(given["input_ids"]).to(where),
                attention_mask=torch.from_numpy(given["attention_mask"]).to(where),
                pixel_values=torch.from_numpy(given["pixel_values"][0]).to(where, number),
                image_grid_thw=torch.tensor([[1, *size]], device=where),
                max_new_tokens=1,
                do_sample=False,
                pad_token_id=0,
            ).cpu()

    return run


def writing(text: TextSize, streams: int, prompt: int, tokens: int) -> Callable[[], float] | None:
    """Tokens a second of transformers' `generate` in float16, of a model of this size; None where torch has no card.

    Args:
        text: the size; its vocabulary is that of the GGUF file.
        streams: prompts at once, in one batch.
        prompt: tokens of each.
        tokens: that are written of each.
    """
    torch = _torch()
    if torch is None:
        return None
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=text.width,
        intermediate_size=text.feed_forward,
        num_hidden_layers=LAYERS,
        num_attention_heads=text.heads,
        num_key_value_heads=text.shared_heads,
        head_dim=HEAD,
        tie_word_embeddings=True,
    )
    with torch.device("cuda"):
        model = Qwen3ForCausalLM(config).half().eval()
        ids = torch.randint(1, 400, (streams, prompt))

    def run() -> float:
        began = perf_counter()
        with torch.inference_mode():
            model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                min_new_tokens=tokens,
                max_new_tokens=tokens,
                do_sample=False,
                pad_token_id=0,
            ).cpu()
        return streams * tokens / (perf_counter() - began)

    return run


def products_a_second() -> float:
    """Float16 operations a second in products of large matrices; 0 where torch has no card."""
    torch = _torch()
    if torch is None:
        return 0.0
    left, right = (torch.randn(_WIDTH, _WIDTH, dtype=torch.float16, device="cuda") for _ in range(2))
    best = 0.0
    for _ in range(_ROUNDS):
        torch.cuda.synchronize()
        began = perf_counter()
        left @ right
        torch.cuda.synchronize()
        best = max(best, 2 * _WIDTH**3 / (perf_counter() - began))
    return best


def _torch(anywhere: bool = False) -> Any | None:
    try:
        import torch
    except ImportError:
        return None
    return torch if anywhere or torch.cuda.is_available() else None
