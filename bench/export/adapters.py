"""Parity of scorers with merged adapters: against PEFT's own adapters, which stay beside the base there."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import peft
import torch

from bench.export.architectures import BATCHES, qwen, samples
from bench.export.graphs import on
from bench.export.parity import exported, plan_role, row
from bench.export.setup import Setup
from bench.sections import Part
from quizglass_bundle.parts import VisionScorer
from quizglass_export.checkpoints.source import Source
from quizglass_export.parity import check_scorer
from quizglass_export.roles.shared.scorers import VisionPrompts, vision_logits
from tests.support.bundles import tiny_qwen

_CLASS = "Qwen2VLForConditionalGeneration"
_SIZE = (112, 84)
_SAMPLES, _FEW = 24, 6
_MODULES = ["q_proj", "k_proj", "down_proj"]
_PLAIN: dict[str, Any] = {"r": 4, "target_modules": _MODULES}
_DORA = {**_PLAIN, "use_dora": True}
_PATTERNS = {**_PLAIN, "rank_pattern": {"q_proj": 2}, "alpha_pattern": {"k_proj": 9}, "use_rslora": True}
KINDS: dict[str, Sequence[tuple[Mapping[str, Any], float]]] = {
    "LoRA": [(_PLAIN, 1.0)],
    "DoRA": [(_DORA, 1.0)],
    "LoRA with rank and alpha patterns, rank-stabilised": [(_PATTERNS, 1.0)],
    "LoRA with modules_to_save": [({**_PLAIN, "modules_to_save": ["merger"]}, 1.0)],
    "two LoRAs, weights 0.5 and -1.5": [(_PLAIN, 0.5), (_PATTERNS, -1.5)],
}
"""Name to the adapters, each with its weight."""


def run(setup: Setup) -> Part:
    """A scorer with each kind of adapter."""
    torch.set_num_threads(1)
    part, count = Part(), setup.count(_SAMPLES, _FEW)
    with tempfile.TemporaryDirectory(prefix="quizglass-bench-") as name:
        folder = Path(name)
        base = Source(qwen(tiny_qwen.qwen2_vl)(folder / "base"))
        for index, (kind, adapters) in enumerate(KINDS.items()):
            setup.say(f"adapters: {kind}")
            part.rows.append(_measured(base, kind, adapters, folder / str(index), count))
    return part


def _measured(
    base: Source, kind: str, adapters: Sequence[tuple[Mapping[str, Any], float]], folder: Path, count: int
) -> Any:
    made = [(_adapter(base, options, folder / f"a{index}"), weight) for index, (options, weight) in enumerate(adapters)]
    spec = {
        "checkpoint": base.folder,
        "adapters": [{"path": path, "weight": weight} for path, weight in made],
        "picture": {"width": _SIZE[0], "height": _SIZE[1]},
    }
    plan = plan_role(folder, "planner", spec, {"source": "random", "count": count})
    job, part = exported(plan, "planner", samples(count), folder / "files")
    if not isinstance(part, VisionScorer):
        raise TypeError(f"the planner is a {part.kind}")
    model, labels, prompts = _beside(base, made), job.head(part.labels), VisionPrompts(job, part)
    references = [
        vision_logits(model, ids, pictures, part.picture)[labels]
        for ids, pictures in zip(prompts.rows, prompts.pictures, strict=True)
    ]
    checks = check_scorer("planner", job.path(part.model), references, prompts.inputs, job.demands.logits, BATCHES)
    compared = on(count, [_SIZE], BATCHES).replace("transformers", "PEFT, not merged")
    return row(f"Qwen2-VL scorer, {kind}", "largest difference of logits", "", checks, compared)


def _adapter(base: Source, options: Mapping[str, Any], folder: Path) -> Path:
    """A random adapter in PEFT's form; every part of it changes the model's output."""
    torch.manual_seed(len(str(options)))
    config = peft.LoraConfig(lora_alpha=8, init_lora_weights=False, **options)
    adapted = peft.get_peft_model(base.load(_CLASS), config)
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if "lora_magnitude" in name or "modules_to_save" in name:
                parameter.mul_(1 + 0.2 * torch.rand_like(parameter))
    adapted.save_pretrained(str(folder))
    return folder


def _beside(base: Source, adapters: Sequence[tuple[Path, float]]) -> Any:
    """The base with its adapters in PEFT's own layers, all active, their changes weighed."""
    model = base.load(_CLASS)
    names = [f"adapter{index}" for index in range(len(adapters))]
    adapted = peft.PeftModel.from_pretrained(model, adapters[0][0], adapter_name=names[0])
    for name, (path, _) in zip(names[1:], adapters[1:], strict=True):
        adapted.load_adapter(path, adapter_name=name)
    adapted.base_model.set_adapter(names)
    for layer in adapted.modules():
        if isinstance(layer, peft.tuners.lora.LoraLayer):
            for name, (_, weight) in zip(names, adapters, strict=True):
                layer.scaling[name] *= weight
    return adapted.eval()
