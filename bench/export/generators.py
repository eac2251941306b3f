"""Generators as GGUF beside transformers: logits, 64 tokens of greedy text, and how far each quantised type drifts.

An untrained model prefers hardly any token to the next, so its text says nothing. Each model is taught to recite: every
prompt, picture included, has 64 tokens of its own, learned by heart in some hundred steps.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from bench.export.architectures import samples
from bench.export.parity import checked, plan_role
from bench.export.setup import Setup
from bench.results import Row
from bench.sections import Part
from quizglass_export.assembly.plan import Plan
from quizglass_export.checks import Check
from quizglass_export.roles.generator import Generator, generator_prompts
from quizglass_export.roles.shared.job import RoleJob
from quizglass_export.roles.shared.scorers import processed
from tests.support.bundles import tiny_qwen

TOKENS = 64
"""Of each greedy text."""
_PROMPTS = 3
_STEPS, _SURE = 600, 5e-3
"""Most steps of teaching, and the loss at which it ends."""
_TEMPLATES = {
    "answer": "<|im_start|>{{ image }}{{ question }}<|im_end|>",
    "rewrite": "<|im_start|>{{ image }}{{ question }} again<|im_end|>",
}
_RATE = 4e-3
_PICTURE = {"width": 168, "height": 112}
"""Of two windows, where a tower has windows."""
_LOGITS = "largest difference of logits of texts"
_RELATIVE = f"{_LOGITS}, in standard deviations of them"
_BEST = "equal best tokens of texts"
_ABSOLUTE = 1e-2
"""The bar of the difference as it stands, whatever the logits' size; a build is bound by the relative one."""
_TYPES = ("q8_0", "q6_k", "q5_k_m", "q4_k_m", "q4_0")
FAMILIES: dict[str, tuple[Callable[[Path], Any], bool]] = {
    "Qwen2-VL": (tiny_qwen.qwen2_vl, True),
    "Qwen2.5-VL": (tiny_qwen.qwen2_5_vl, True),
    "Qwen2.5-VL with windows": (tiny_qwen.windowed, True),
    "Qwen3 text": (partial(tiny_qwen.qwen3, width=256), False),
}
"""Name to what makes a model, and whether it sees pictures."""


def run(setup: Setup) -> Part:
    """Every family as f16; Qwen3, whose rows suit all types, in the others too."""
    torch.set_num_threads(1)
    part = Part()
    for family, (make, sees) in FAMILIES.items():
        with tempfile.TemporaryDirectory(prefix="quizglass-bench-") as name:
            folder = Path(name)
            setup.say(f"generators: {family}")
            model = _write(make, folder)
            part.rows += _logits(f"{family}, f16", _checks(folder, "f16", sees))
            setup.say(f"generators: {family} learns its texts")
            _teach(model, sees, folder, setup.count(_STEPS, 40))
            setup.say(f"generators: {family}, taught")
            taught = _checks(folder, "f16", sees)
            part.rows += [*_logits(f"{family}, taught, f16", taught), _texts(family, sees, taught)]
            for quantisation in () if sees else _TYPES:
                part.rows += _drift(f"{family}, {quantisation}", _checks(folder, quantisation, sees))
    return part


def _plan(folder: Path, quantisation: str, sees: bool) -> Plan:
    spec: dict[str, Any] = {
        "checkpoint": folder / "checkpoint",
        "quantisation": quantisation,
        "context": 512,
        "max_new_tokens": TOKENS,
        "stop": ["<|endoftext|>"],
        "prompts": {"plan": ""},
    } | ({"picture": _PICTURE} if sees else {})
    given = {"source": "random", "count": _PROMPTS, "generated": _PROMPTS}
    return plan_role(folder, "generator", spec, given, prompts="prompts")


def _checks(folder: Path, quantisation: str, sees: bool) -> dict[str, Check]:
    checks = checked(_plan(folder, quantisation, sees), "generator", samples(_PROMPTS), folder / "files" / quantisation)
    return {check.measure: check for check in checks}


def _write(make: Callable[[Path], Any], folder: Path) -> Any:
    """An untrained checkpoint and short templates; returns the model."""
    checkpoint = folder / "checkpoint"
    checkpoint.mkdir()
    (folder / "prompts").mkdir()
    for name, text in _TEMPLATES.items():
        (folder / "prompts" / f"{name}.jinja").write_text(text)
    model = make(tiny_qwen.write_tokenizer(checkpoint / "tokenizer.json"))
    _save(model, folder)
    return model


def _save(model: Any, folder: Path) -> None:
    """In half precision's grid, so that f16 loses nothing of the weights."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.half().float())
    model.eval().save_pretrained(folder / "checkpoint")


def _teach(model: Any, sees: bool, folder: Path, steps: int) -> None:
    """Let a model answer each prompt with its own 64 tokens, and save it."""
    plan = _plan(folder, "f16", sees)
    job = plan.job("generator", folder, "t.json", samples(_PROMPTS))
    lessons = list(_lessons(job, plan.spec("generator"), sees))
    optimiser = torch.optim.AdamW(model.parameters(), lr=_RATE)
    model.train()
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = _RATE * min(1.0, 2 - 2 * step / steps)
        losses = [_loss(model, *lesson) for lesson in lessons]
        optimiser.zero_grad()
        torch.autograd.backward(torch.stack(losses).mean())
        optimiser.step()
        if max(losses).item() < _SURE:
            break
    _save(model, folder)


def _lessons(job: RoleJob, spec: Generator, sees: bool) -> list[tuple[list[int], list[int], Mapping[str, Any]]]:
    """Of each prompt: its token ids, those to recite, and its picture as transformers takes it."""
    picture = job.picture(spec.picture) if sees else None
    prompts, rows = generator_prompts(job, spec, picture)
    random = torch.Generator().manual_seed(2)
    texts = [torch.randint(0, 256, (TOKENS,), generator=random).tolist() for _ in rows]
    return [
        (row, text, processed([] if pixels is None else [pixels], picture))
        for row, text, (_, pixels) in zip(rows, texts, prompts, strict=True)
    ]


def _loss(model: Any, prompt: list[int], text: list[int], picture: Mapping[str, Any]) -> torch.Tensor:
    ids = torch.tensor([prompt + text])
    logits = model(input_ids=ids, attention_mask=torch.ones_like(ids), **picture).logits
    return functional.cross_entropy(logits[0, len(prompt) - 1 : -1], torch.tensor(text))


def _logits(name: str, checks: Mapping[str, Check]) -> list[Row]:
    """At every position of texts: as it stands, and relative; what was taught has larger logits and differences."""
    found, relative, best = checks[_LOGITS], checks[_RELATIVE], checks[_BEST]
    tokens = checks["equal tokens of hostile texts"]
    beside = f"transformers, {found.samples} texts; {tokens.samples} hostile texts tokenised"
    absolute = found.value <= _ABSOLUTE and tokens.passed
    ok = relative.passed and best.passed and tokens.passed
    bar = f"{relative.demand}, equal best tokens {best.demand}, equal tokens"
    return [
        Row(f"{name}: {_LOGITS}", found.value, "", beside, bar=f"<= {_ABSOLUTE:g}, equal tokens", ok=absolute),
        Row(f"{name}: {_RELATIVE}", relative.value, "", f"{beside}; {found.detail}", bar=bar, ok=ok),
    ]


def _texts(family: str, sees: bool, checks: Mapping[str, Check]) -> Row:
    """Of the taught model."""
    answers, prompts = checks["equal greedy answers"], checks["equal tokens of prompts"]
    beside = f"transformers, {prompts.samples} prompts{' with pictures' if sees else ''}"
    ok = answers.value == 1 and prompts.passed
    name = f"{family}, f16: equal greedy texts of {TOKENS} tokens"
    return Row(name, 100 * answers.value, "%", beside, bar=">= 100", ok=ok)


def _drift(name: str, checks: Mapping[str, Check]) -> list[Row]:
    texts, answers = checks[_LOGITS], checks["equal greedy answers"]
    beside = f"transformers: {texts.detail}"
    return [
        Row(f"{name}: {texts.measure}", texts.value, "", beside),
        Row(f"{name}: equal greedy texts of {TOKENS} tokens", 100 * answers.value, "%", "transformers"),
    ]
