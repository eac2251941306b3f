"""A generator from a GGUF file with adapters merged into it: written, and compared with transformers and PEFT.

Tokens are llama.cpp's own on both sides, so what differs is the merge and the types of the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from quizglass_bundle.inputs.prompts import Prompt, PromptTemplate
from quizglass_bundle.parts import ANSWER, GeneratorPart
from quizglass_export.checkpoints.source import GgufSource
from quizglass_export.checks import Check, share
from quizglass_export.gguf.jobs import GenerationJob, generate, tokenise
from quizglass_export.gguf.merged import write_merged
from quizglass_export.roles.generator import COMPARED, Generator, check_drift, drift_rows, greedy_answer
from quizglass_export.roles.shared.job import RoleJob


def write_adapted(job: RoleJob, spec: Generator, source: GgufSource, path: Path) -> None:
    """Write the model with its adapters merged; ExportError as of `write_merged`."""
    write_merged(
        source.model,
        path,
        spec.quantisation,
        source.adapters,
        token_embedding=spec.token_embedding,
        output=spec.output,
        threads=job.threads,
    )


def compare_adapted(
    job: RoleJob, spec: Generator, source: GgufSource, part: GeneratorPart, stop: Sequence[int]
) -> list[Check]:
    """Greedy answers and logits beside the dequantised base with its adapters in PEFT's layers, not merged."""
    path = job.path(part.model)
    served = generate(
        GenerationJob(
            model=path,
            projector=None,
            prompts=[(prompt, None) for prompt in _prompts(job, part)],
            stop=stop,
            image_token=None,
            context=part.context,
            max_new_tokens=part.max_new_tokens,
            first_of=(),
        )
    )
    model = source.reference()
    expected = [greedy_answer(model, row, None, None, list(stop), part.max_new_tokens)[0] for row in served.prompts]
    equal = [first == second for first, second in zip(expected, served.answers, strict=True)]
    rows = drift_rows(job, lambda text: tokenise(path, [text], special=False)[0])
    return [
        share(job.role, "equal greedy answers", equal, job.demands.answers, "beside PEFT, not merged"),
        *check_drift(job, spec, part, model, rows),
    ]


def _prompts(job: RoleJob, part: GeneratorPart) -> list[Prompt]:
    """An answer prompt for every sample and a rewrite prompt for every fourth, as the bundle has them."""
    templates = {
        task: PromptTemplate.load(job.folder / name if (job.folder / name).is_file() else job.prompts[Path(name).stem])
        for task, name in part.prompts.items()
        if task in COMPARED
    }
    prompts: list[Prompt] = []
    for index, sample in enumerate(job.samples[: job.generated]):
        for task, template in templates.items():
            if task == ANSWER:
                prompts.append(template.render(pictures=0, **sample.values()))
            elif index % 4 == 0:
                prompts.append(template.render(pictures=0, **sample.values(found=[], query="")))
    return prompts
