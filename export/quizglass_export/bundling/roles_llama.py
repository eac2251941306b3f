"""The generator of a bundle: written as GGUF, quantised, and compared with PyTorch by its answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import transformers

from quizglass_export.bundling.gguf_text import write_text_gguf
from quizglass_export.bundling.gguf_vision import write_vision_gguf
from quizglass_export.bundling.job import Exported, RoleJob, prompt_name
from quizglass_export.bundling.llama_jobs import GenerationJob, Generations, generate, quantise
from quizglass_export.bundling.parity import Check, share
from quizglass_export.recipe import schema
from quizglass_server import manifest
from quizglass_server.domain import RGB
from quizglass_server.models import vision_inputs
from quizglass_server.models.prompts import Prompt, PromptTokenizer

Prompts = Sequence[tuple[Prompt, RGB]]


def export_generator(job: RoleJob, spec: schema.Generator) -> Exported:
    """Write the generator's two files."""
    tokenizer = job.source.tokenizer_file()
    model = job.source.load("Qwen2_5_VLForConditionalGeneration")
    picture = job.picture(spec.picture)
    names = spec.prompts
    part = manifest.Generator(
        engine="llama",
        kind="generator",
        model=f"{job.role}/model-{spec.quantisation}.gguf",
        projector=f"{job.role}/mmproj-f16.gguf",
        prompts=manifest.GeneratorPrompts(
            answer=prompt_name(names.answer),
            rewrite=prompt_name(names.rewrite),
            plan=prompt_name(names.plan) if names.plan else None,
        ),
        picture=spec.picture,
        stop=spec.stop,
        context=spec.context,
        max_new_tokens=spec.max_new_tokens,
    )
    full = job.path(f"{job.role}/full.gguf")
    write_text_gguf(model, tokenizer, full, job.title)
    quantise(full, job.path(part.model), spec.quantisation)
    full.unlink()
    write_vision_gguf(model, picture, job.path(part.projector))
    return Exported(part, {"precision": spec.quantisation})


def check_generator(job: RoleJob, spec: schema.Generator, part: manifest.Generator) -> list[Check]:
    """Compare the generator's answers with transformers'."""
    model = job.source.load("Qwen2_5_VLForConditionalGeneration")
    picture = job.picture(spec.picture)
    tokenizer = job.prompt_tokenizer()
    prompts = _prompts(job, spec, picture)
    stop = [tokenizer.token_id(text) for text in part.stop]
    served = generate(
        GenerationJob(
            model=job.path(part.model),
            projector=job.path(part.projector),
            prompts=prompts,
            stop=stop,
            image_token=tokenizer.token_id(spec.image_token),
            context=part.context,
            max_new_tokens=part.max_new_tokens,
        )
    )
    span = vision_inputs.image_span(tokenizer, spec.image_token, picture)
    rows = [tokenizer.encode(prompt, span) for prompt, _ in prompts]
    expected = [
        _answer(model, row, pixels, picture, stop, part.max_new_tokens)
        for row, (_, pixels) in zip(rows, prompts, strict=True)
    ]
    return _compare(job, tokenizer, served, rows, expected)


def _compare(
    job: RoleJob,
    tokenizer: PromptTokenizer,
    served: Generations,
    rows: Sequence[list[int]],
    expected: Sequence[tuple[list[int], torch.Tensor]],
) -> list[Check]:
    answers = [tokenizer.decode(ids) for ids, _ in expected]
    found = [tokenizer.decode(ids) for ids in served.answers]
    equal = [first == second for first, second in zip(answers, found, strict=True)]
    differing = [f"{a[:60]!r} became {b[:60]!r}" for a, b in zip(answers, found, strict=True) if a != b]
    drift = [
        float(np.abs(first - other.numpy()).mean()) for first, (_, other) in zip(served.first, expected, strict=True)
    ]
    tokens = [first == second for first, second in zip(served.prompts, rows, strict=True)]
    broken = [str(index) for index, same in enumerate(tokens) if not same]
    detail = f"mean drift of the first logits {np.mean(drift):.4f}"
    return [
        share("generator", "equal greedy answers", equal, job.demands.answers, "; ".join([detail, *differing[:3]])),
        share("generator", "equal tokens of prompts", tokens, 1.0, f"prompts {', '.join(broken)}" if broken else ""),
    ]


def _prompts(job: RoleJob, generator: schema.Generator, spec: manifest.Patched) -> list[tuple[Prompt, RGB]]:
    """An answer prompt for every sample, and a rewrite prompt for every fourth."""
    answer, rewrite = job.prompt(generator.prompts.answer), job.prompt(generator.prompts.rewrite)
    prompts: list[tuple[Prompt, RGB]] = []
    for index, sample in enumerate(job.samples[: job.generated]):
        picture = vision_inputs.fit(sample.picture, spec)
        common: dict[str, Any] = {
            "picture": True,
            "question": sample.question,
            "history": sample.turns(),
            "words": sample.words or None,
            "seen": list(sample.seen),
        }
        prompts.append((answer.render(**common, found=list(sample.found), query=sample.query), picture))
        if index % 4 == 0:
            prompts.append((rewrite.render(**common), picture))
    return prompts


def _answer(
    model: Any, row: list[int], picture: RGB, spec: manifest.Patched, stop: list[int], limit: int
) -> tuple[list[int], torch.Tensor]:
    """PyTorch's greedy answer without the stop token, and the logits [V] it began from."""
    processor = transformers.Qwen2VLImageProcessor(
        do_resize=False,
        image_mean=list(spec.mean),
        image_std=list(spec.std),
        patch_size=spec.patch,
        merge_size=spec.merge,
        temporal_patch_size=spec.temporal,
    )
    ids = torch.tensor([row])
    with torch.no_grad():
        output = model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            **processor(images=[picture], return_tensors="pt"),
            do_sample=False,
            max_new_tokens=limit,
            eos_token_id=stop,
            pad_token_id=stop[0],
            return_dict_in_generate=True,
            output_logits=True,
        )
    answer = output.sequences[0, len(row) :].tolist()
    if answer and answer[-1] in stop:
        answer.pop()
    return answer, output.logits[0][0].float()
