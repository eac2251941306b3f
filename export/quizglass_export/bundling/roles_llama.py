"""The generator of a bundle: written as GGUF, quantised, and compared with PyTorch by its answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import transformers

from quizglass_export.bundling.checkpoints import TOKENIZER
from quizglass_export.bundling.gguf_text import write_text_gguf
from quizglass_export.bundling.gguf_vision import write_vision_gguf
from quizglass_export.bundling.job import TOKENIZER_FILE, BuildJob
from quizglass_export.bundling.llama_jobs import GenerationJob, Generations, generate, quantise
from quizglass_export.bundling.parity import Check, share
from quizglass_export.bundling.settings import IMAGE_TOKEN, STOP
from quizglass_server import manifest
from quizglass_server.domain import RGB
from quizglass_server.models import vision_inputs
from quizglass_server.models.prompts import Prompt, PromptTokenizer

Prompts = Sequence[tuple[Prompt, RGB]]


def build_generator(job: BuildJob) -> tuple[manifest.Generator, list[Check]]:
    """Write and check the generator's two files."""
    model = job.checkpoints.load("base")
    picture = job.picture()
    part = manifest.Generator(
        engine="llama",
        kind="generator",
        model=f"generator/model-{job.file_type}.gguf",
        projector="generator/mmproj-f16.gguf",
        prompts=manifest.GeneratorPrompts(
            answer="prompts/answer.jinja", rewrite="prompts/rewrite.jinja", plan="prompts/plan.jinja"
        ),
        picture=manifest.Size(width=picture.width, height=picture.height),
        stop=(STOP,),
        context=job.settings.context,
        max_new_tokens=job.settings.answer_tokens,
    )
    full = job.path("generator/full.gguf")
    write_text_gguf(model, job.checkpoints.part("base") / TOKENIZER, full, job.settings.name)
    quantise(full, job.path(part.model), job.file_type)
    full.unlink()
    write_vision_gguf(model, picture, job.path(part.projector))
    return part, _check(job, part, model, picture)


def _check(job: BuildJob, part: manifest.Generator, model: Any, picture: manifest.Patched) -> list[Check]:
    tokenizer = PromptTokenizer(job.path(TOKENIZER_FILE))
    prompts = _prompts(job, picture)
    stop = [tokenizer.token_id(text) for text in part.stop]
    served = generate(
        GenerationJob(
            model=job.path(part.model),
            projector=job.path(part.projector),
            prompts=prompts,
            stop=stop,
            image_token=tokenizer.token_id(IMAGE_TOKEN),
            context=part.context,
            max_new_tokens=part.max_new_tokens,
        )
    )
    span = vision_inputs.image_span(tokenizer, IMAGE_TOKEN, picture)
    rows = [tokenizer.encode(prompt, span) for prompt, _ in prompts]
    expected = [
        _answer(model, row, pixels, picture, stop, part.max_new_tokens)
        for row, (_, pixels) in zip(rows, prompts, strict=True)
    ]
    return _compare(job, tokenizer, served, rows, expected)


def _compare(
    job: BuildJob,
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


def _prompts(job: BuildJob, spec: manifest.Patched) -> list[tuple[Prompt, RGB]]:
    """An answer prompt for every sample, and a rewrite prompt for every fourth."""
    answer, rewrite = job.prompt("answer"), job.prompt("rewrite")
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
