"""A random-weight generator of a real shape, made once and kept in the work directory: its timing counts, not its text.

The generator has the language model of Qwen2.5-VL's smallest relatives (24 layers of 896, a vocabulary of 151,936) in
Q4_0 and a vision tower as large as a ViT-B. Its tokenizer is the starter's, filled up with words that no text becomes,
so that prompts are tokenised as the starter's are and every generated token still has a text to stream.
"""

from __future__ import annotations

import ctypes
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VOCABULARY = 151_936
SEED = 20_261_121
_Q4_0 = 2
"""llama.cpp's number (`llama_ftype`) of Q4_0."""
_PICTURE = 336
_EPSILON = 1e-6
"""llama.cpp reads none for this architecture."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A generator on disk, as every contender loads it."""

    name: str
    model: Path
    projector: Path | None
    """None: it reads text alone."""
    side: int
    """Pixels of its square picture; 0 without any."""
    stop: str = "<|im_end|>"
    trained: bool = False
    """Whether its text means something, and ends of its own accord."""


def starter(bundle: Path) -> Shape:
    """The starter bundle's own generator."""
    from quizglass_bundle.files import Bundle

    loaded = Bundle.load(bundle.resolve())
    spec = loaded.roles.generator
    if spec is None or spec.projector is None or spec.picture is None:
        raise ValueError(f"{bundle}: its generator sees no pictures, which the benchmark asks about")
    return Shape(
        "starter", loaded.path(spec.model), loaded.path(spec.projector), spec.picture.width, spec.stop[0], True
    )


def smollm2(file: Path) -> Shape:
    """SmolLM2-135M-Instruct in Q4_1, as `make everyday` fetches it."""
    return Shape("SmolLM2-135M", file, None, 0, trained=True)


def half_billion(folder: Path, tokenizer: Path, say: Callable[[str], None]) -> Shape:
    """The 0.5B shape, made on first use (a minute or two, 4 GiB of memory).

    Args:
        folder: where it is kept.
        tokenizer: `tokenizer.json` of the starter.
        say: told what is being done.
    """
    folder = folder.resolve()
    projector = folder / "mmproj-f16.gguf"
    shape = Shape("0.5B", folder / "model-q4_0.gguf", projector, _PICTURE)
    if shape.model.is_file() and projector.is_file():
        return shape
    say("making a random 0.5B generator (once)")
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / "unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    _write(unfinished, tokenizer)
    say("quantising it to Q4_0")
    quantise(unfinished / "full.gguf", unfinished / shape.model.name)
    for path in (projector, shape.model):
        (unfinished / path.name).rename(path)
    shutil.rmtree(unfinished)
    return shape


def _write(folder: Path, tokenizer: Path) -> None:
    from quizglass_bundle.fields import Patched
    from quizglass_export.clip_pixels import CLIP_MEAN, CLIP_STD
    from quizglass_export.gguf.text import write_text_gguf
    from quizglass_export.gguf.vision import write_vision_gguf

    filled = folder / "tokenizer.json"
    content = json.loads(tokenizer.read_text(encoding="utf-8"))
    filled.write_text(json.dumps(filled_up(content, VOCABULARY)), encoding="utf-8")
    model = _random_model({token["content"]: token["id"] for token in content["added_tokens"]})
    write_text_gguf(model, filled, folder / "full.gguf", "random 0.5B")
    picture = Patched(width=_PICTURE, height=_PICTURE, mean=CLIP_MEAN, std=CLIP_STD, patch=14, merge=2, temporal=2)
    write_vision_gguf(model, picture, folder / "mmproj-f16.gguf")


def filled_up(content: dict[str, Any], size: int) -> dict[str, Any]:
    """A tokenizer's content with a vocabulary of `size`: words that no merge leads to, each with a text of its own."""
    model = dict(content["model"])
    vocabulary = dict(model["vocab"])
    taken = {*vocabulary.values(), *(token["id"] for token in content["added_tokens"])}
    vocabulary |= {f"Ġfill{index}": index for index in range(size) if index not in taken}
    return {**content, "model": {**model, "vocab": vocabulary}}


def _random_model(special: dict[str, int]) -> Any:
    import torch
    import transformers

    depth = 12
    vision = {"depth": depth, "hidden_size": 768, "num_heads": 12, "intermediate_size": 2304, "out_hidden_size": 896}
    vision |= {"patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2, "window_size": 112}
    text = {"vocab_size": VOCABULARY, "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24}
    text |= {"num_attention_heads": 14, "num_key_value_heads": 2, "max_position_embeddings": 32_768}
    config = transformers.Qwen2_5_VLConfig(
        vision_config={**vision, "fullatt_block_indexes": list(range(depth))},
        text_config={
            **text,
            "rms_norm_eps": _EPSILON,
            "rope_theta": 1e6,
            "rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]},
            "tie_word_embeddings": True,
            "bos_token_id": None,
            "eos_token_id": special["<|im_end|>"],
            "pad_token_id": None,  # a padding row would stay zero, which llama.cpp turns into NaN
        },
        tie_word_embeddings=True,
        image_token_id=special["<|image_pad|>"],
        video_token_id=special["<|video_pad|>"],
        vision_start_token_id=special["<|vision_start|>"],
        vision_end_token_id=special["<|vision_end|>"],
    )
    torch.manual_seed(SEED)
    return transformers.Qwen2_5_VLForConditionalGeneration(config).float().eval()


def quantise(source: Path, target: Path, ftype: int = _Q4_0) -> None:
    """Quantise a GGUF to Q4_0, or another of llama.cpp's `llama_ftype`, and remove the original.

    Raises:
        RuntimeError: llama.cpp refused.
    """
    import llama_cpp.llama_cpp as llama

    parameters = llama.llama_model_quantize_default_params()
    parameters.ftype = ftype
    code = llama.llama_model_quantize(str(source).encode(), str(target).encode(), ctypes.byref(parameters))
    if code:
        raise RuntimeError(f"{source.name}: llama.cpp cannot quantise it (code {code})")
    source.unlink()
