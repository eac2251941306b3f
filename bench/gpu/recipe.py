"""The planner's recipe on Qwen3-VL-2B's shape with random weights: memory and time of its steps do not hang on them.

On a card as the paper trains: LoRA 32/128 on all linear layers, 16 examples a step, one at a time, pictures of
448 x 448. Elsewhere one example a step and pictures of 64 x 64; with `--quick` a small model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import transformers
from PIL import Image

from bench.gpu.first import card
from bench.hostile.sections import Setup
from bench.results import Row
from bench.sections import Part
from quizglass_lab.finetuning.recipes.planner import PlannerTraining
from quizglass_lab.finetuning.training.trainer import train
from quizglass_lab.starter.model.tokenizer import build_tokenizer

_ROTARY = {"rope_type": "default", "mrope_section": [24, 20, 20], "mrope_interleaved": True}
TEXT = {
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151_936,
    "rope_theta": 5_000_000,
    "rope_scaling": _ROTARY,
    "tie_word_embeddings": True,
}
VISION = {
    "depth": 24,
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_heads": 16,
    "out_hidden_size": 2048,
    "deepstack_visual_indexes": [5, 11, 17],
}
"""Of Qwen3-VL-2B, as its published config.json has it; patches and merging are transformers' defaults."""
SMALL_TEXT = TEXT | {
    **{"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 2},
    **{"num_key_value_heads": 1, "head_dim": 32, "vocab_size": 2304},
    "rope_scaling": _ROTARY | {"mrope_section": [4, 6, 6]},
}
SMALL_VISION = {
    **{"depth": 3, "hidden_size": 64, "intermediate_size": 96, "num_heads": 2, "out_hidden_size": 64},
    "deepstack_visual_indexes": [0, 2],
}
_EXAMPLES = 16


def run(setup: Setup) -> Part:
    """Write model and examples, train two steps: the first warms up."""
    on_card = card() is not None and torch.cuda.is_available()
    text, vision = (SMALL_TEXT, SMALL_VISION) if setup.quick else (TEXT, VISION)
    folder = setup.folder / "recipe"
    setup.say("writing a vision-language model with random weights")
    parameters = write_random(folder / "model", text, vision)
    examples(folder / "notes")
    size, together = ("448x448", _EXAMPLES) if on_card else ("64x64", 1)
    facts = {}
    for steps in (1, 3):
        setup.say(f"training {steps} steps of {together} examples")
        facts[steps] = train(_training(folder, steps, size, together), "planner", quiet=True)
    name = f"planner's recipe, {parameters / 1e9:.2f} billion parameters, pictures {size}, {together} a step"
    a_step = 30 * (facts[3]["minutes"] - facts[1]["minutes"])
    rows = [Row(f"{name}: a step", a_step, "s"), Row(f"{name}: memory", facts[3]["peak_memory_bytes"] / 2**30, "GiB")]
    return Part(rows, {"parameters": parameters, "runs": {str(steps): told for steps, told in facts.items()}})


def write_random(folder: Path, text: dict[str, Any], vision: dict[str, Any]) -> int:
    """Write a checkpoint as transformers does, in bfloat16; returns the number of its parameters."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = build_tokenizer(folder)
    ids = {
        name: tokenizer.convert_tokens_to_ids(f"<|{token}|>")
        for name, token in (
            ("image_token_id", "image_pad"),
            ("video_token_id", "video_pad"),
            ("vision_start_token_id", "vision_start"),
            ("vision_end_token_id", "vision_end"),
        )
    }
    config = transformers.Qwen3VLConfig(text_config=text, vision_config=vision, tie_word_embeddings=True, **ids)
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    try:
        model = transformers.Qwen3VLForConditionalGeneration(config)
    finally:
        torch.set_default_dtype(torch.float32)
    model.save_pretrained(folder)
    return sum(each.numel() for each in model.parameters())


def examples(folder: Path) -> None:
    """Write questions with a picture and a letter each, as `annotate planner` does."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for place in range(_EXAMPLES):
        Image.effect_noise((640, 480), 60 + place).convert("RGB").save(folder / f"{place}.jpg")
        letters = [" A", " B", " C", " D"]
        example = {"id": str(place), "objective": "plan", "task": "plan", "pictures": [f"{place}.jpg"]}
        asked = {"values": {"question": f"When was the car number {place} first made?"}}
        lines.append(json.dumps(example | asked | {"target": letters[place % 4], "labels": letters}))
    (folder / "train.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _training(folder: Path, steps: int, size: str, together: int) -> PlannerTraining:
    return PlannerTraining.model_validate(
        {
            "checkpoint": folder / "model",
            "data": folder / "notes",
            "out": folder / f"steps-{steps}",
            "steps": steps,
            "picture": size,
            "accumulation": together,
        }
    )
