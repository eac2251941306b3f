"""The generator of a bundle: written as GGUF, quantised, and compared with PyTorch by its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import Field, model_validator

from quizglass_bundle.errors import BundleError
from quizglass_bundle.fields import Count, Patched, Size
from quizglass_bundle.inputs import vision_inputs
from quizglass_bundle.inputs.prompts import Prompt, PromptError, PromptTokenizer, Segment, SegmentKind
from quizglass_bundle.inputs.resizing import RGB
from quizglass_bundle.parts import ANSWER, GeneratorPart
from quizglass_export.checkpoints.files import CONFIG
from quizglass_export.checkpoints.greedy import complete
from quizglass_export.checkpoints.loading import config_errors, read_config
from quizglass_export.checks import Check, at_least, at_most, share
from quizglass_export.errors import ExportError
from quizglass_export.gguf.drift import drift
from quizglass_export.gguf.header import read_gguf
from quizglass_export.gguf.hostile_texts import HOSTILE_TEXTS
from quizglass_export.gguf.jobs import GenerationJob, Generations, generate, logits, quantise, tokenise
from quizglass_export.gguf.text import check_text, write_text_gguf
from quizglass_export.gguf.vision import check_vision, write_vision_gguf
from quizglass_export.graphs.qwen_vl import VISION_CLASSES
from quizglass_export.roles.shared.entry import IMAGE_TOKEN, Adapters, Entry, TemplateName
from quizglass_export.roles.shared.job import Exported, Exporter, RoleJob, by_type, prompt_name
from quizglass_export.roles.shared.scorers import processed
from quizglass_server.roles.generator import generator_prompts as generator_prompts_of

GENERATOR_CLASSES = {kind: VISION_CLASSES[kind] for kind in ("qwen2_vl", "qwen2_5_vl")} | {"qwen3": "Qwen3ForCausalLM"}
"""transformers' model type to its class; Qwen3 reads text alone."""
_DRIFT_TEXTS, _DRIFT_TOKENS = 16, 64
_FLOAT16 = 10
"""llama.cpp multiplies in float16: so many times as much as `demands.logits` may its logits differ."""
COMPARED = (ANSWER, "rewrite")
"""Tasks that are compared with PyTorch by what is written."""
BOUNDED = ("f32", "f16")
"""Types whose logits are bounded; of the others the drift is reported."""


STOP = "<|im_end|>"
GENERATOR_TEMPLATES = {task: task for task in ("answer", "rewrite", "plan")}
GgufType = Literal["f32", "f16", "bf16", "q8_0", "q4_0", "q4_k_m", "q5_k_m", "q6_k"]
TensorType = Literal["f32", "f16", "bf16", "q8_0", "q4_0", "q4_k", "q5_k", "q6_k"]


class Generator(Entry):
    """A model for llama.cpp: a checkpoint to convert, GGUF files as they are, or a GGUF file to merge adapters into."""

    checkpoint: Path | None = None
    adapters: Adapters = ()
    """Of `checkpoint` or, for a model of text alone, of `model`: that is then dequantised and quantised again."""
    model: Path | None = None
    projector: Path | None = None
    """The GGUF file of the vision projector that goes with `model`, where that sees pictures."""
    tokenizer: Path | None = None
    """Default: `tokenizer.json` of the checkpoint, or beside `model`; without one there, one that transformers rebuilds
    from the GGUF file is compared with llama.cpp's own, which is reported and not demanded."""
    quantisation: GgufType = "q8_0"
    token_embedding: TensorType | None = None
    """Type of the input embedding; default: as the quantisation has it."""
    output: TensorType | None = None
    """Type of the output matrix; default: as the quantisation has it."""
    prompts: dict[str, TemplateName] = Field(default_factory=dict)
    """Task to the name of a template, besides `GENERATOR_TEMPLATES` and the tasks that a recipe's directory has
    templates of; an empty one leaves a task out."""
    picture: Size = Size(width=448, height=448)
    """Width and height to which the pictures of a model that sees are stretched, in pixels. Left out beside `model`:
    they keep their shape."""
    image_token: str = IMAGE_TOKEN
    stop: Annotated[tuple[str, ...], Field(min_length=1)] = (STOP,)
    """Texts that end an answer. Left out beside `model`: the tokens that the file names as endings."""
    context: Count = 4096
    max_new_tokens: Count = 64

    @property
    def shown(self) -> Size | None:
        """The size to which pictures are stretched; None: they keep their shape."""
        return None if self.model is not None and "picture" not in self.model_fields_set else self.picture

    def templates(self) -> dict[str, str]:
        """Task to the name of its template."""
        return {task: name for task, name in {**GENERATOR_TEMPLATES, **self.prompts}.items() if name}

    @model_validator(mode="after")
    def _one_source(self) -> Generator:
        ready = self.model is not None
        if self.projector is not None and not ready:
            raise ValueError("projector: goes with model; give both GGUF files")
        if ready == (self.checkpoint is not None):
            raise ValueError("give either checkpoint, or model with its projector")
        if self.adapters and self.projector is not None:
            raise ValueError("adapters: cannot be merged into a GGUF model that sees; merge them into its checkpoint")
        as_is = ready and not self.adapters
        if as_is and (self.token_embedding or self.output):
            raise ValueError("token_embedding and output: GGUF files without adapters are taken as they are")
        if as_is and "quantisation" in self.model_fields_set:
            raise ValueError("quantisation: ready-made GGUF files are taken as they are; leave it out")
        if ready and self.projector is None and "picture" in self.model_fields_set:
            raise ValueError("picture: a model without projector reads text alone; leave it out, or name the projector")
        return self


ENTRY = Generator
"""What a recipe says of the role."""


def prepare_generator(job: RoleJob, spec: Generator) -> None:
    """Check what is known without weights: prompts, stop texts, tokenizer, picture size."""
    sees = job.source.model_type in VISION_CLASSES
    if not sees and "picture" in spec.model_fields_set:
        raise ExportError(f"roles.{job.role}.picture: {job.source.model_type} reads text alone; leave it out")
    config = read_config(job.source.folder)
    with config_errors(job.source.folder / CONFIG):
        check_text(config, job.source.tokenizer_file(), spec.context)
        if sees:
            check_vision(config)
    _picture(job, spec)
    check_prompts(job, spec, sees=sees)
    stop_tokens(job, spec.stop)
    if sees:
        job.prompt_tokenizer().token_id(spec.image_token)
    _check_length(job, spec)


def check_prompts(job: RoleJob, spec: Generator, *, sees: bool) -> None:
    """Raise ExportError where the server would refuse the generator's prompts."""
    named = {task: job.prompts[name] for task, name in spec.templates().items()}
    try:
        generator_prompts_of(named, sees=sees)
    except BundleError as error:
        raise ExportError(str(error)) from error


def stop_tokens(job: RoleJob, stop: Sequence[str]) -> list[int]:
    """Token ids of the texts that end an answer; ExportError where one is not one token."""
    tokenizer = job.prompt_tokenizer()
    try:
        return [tokenizer.label(text, "stop text") for text in stop]
    except PromptError as error:
        raise ExportError(f"roles.{job.role}.stop: {error}") from error


def export_generator(job: RoleJob, spec: Generator) -> Exported:
    """Write the generator's text model and, if it sees pictures, its projector."""
    tokenizer = job.source.tokenizer_file()
    model = job.source.load(GENERATOR_CLASSES[job.source.model_type])
    picture = _picture(job, spec)
    model_file = f"{job.role}/model-{spec.quantisation}.gguf"
    projector = f"{job.role}/mmproj-f16.gguf" if picture else None
    full = job.path(f"{job.role}/full.gguf")
    write_text_gguf(model, tokenizer, full, job.title)
    if picture and projector:
        write_vision_gguf(model, picture, job.path(projector))
    del model  # before llama.cpp reads as much again
    quantise(
        full,
        job.path(model_file),
        spec.quantisation,
        token_embedding=spec.token_embedding,
        output=spec.output,
        threads=job.threads,
    )
    full.unlink()
    return Exported(generator_part(spec, model_file, projector), _stored(job.path(model_file), spec))


def _picture(job: RoleJob, spec: Generator) -> Patched | None:
    """How its pictures are; None for a model of text alone."""
    return job.picture(spec.picture) if job.source.model_type in VISION_CLASSES else None


def generator_part(spec: Generator, model: str, projector: str | None) -> GeneratorPart:
    """The manifest's entry of a generator with these files."""
    return GeneratorPart(
        engine="llama",
        kind="generator",
        model=model,
        projector=projector,
        prompts={task: prompt_name(name) for task, name in spec.templates().items()},
        picture=spec.shown if projector else None,
        stop=spec.stop,
        context=spec.context,
        max_new_tokens=spec.max_new_tokens,
    )


def _stored(model: Path, spec: Generator) -> dict[str, Any]:
    """How the text model's tensors were quantised: llama.cpp chooses by tensor."""
    types: dict[str, int] = {}
    for tensor in read_gguf(model).tensors.values():
        types[tensor.type] = types.get(tensor.type, 0) + tensor.bytes
    return {"precision": spec.quantisation, "bytes_by_type": types}


def check_generator(job: RoleJob, spec: Generator, part: GeneratorPart) -> list[Check]:
    """Compare the generator's tokens, logits and answers with transformers'."""
    picture = _picture(job, spec)
    tokenizer = job.prompt_tokenizer()
    prompts, rows = generator_prompts(job, spec, picture)
    stop = stop_tokens(job, part.stop)
    served = generate(
        GenerationJob(
            model=job.path(part.model),
            projector=None if part.projector is None else job.path(part.projector),
            prompts=prompts,
            stop=stop,
            image_token=tokenizer.token_id(spec.image_token) if picture else None,
            context=part.context,
            max_new_tokens=part.max_new_tokens,
        )
    )
    model = job.source.reference(GENERATOR_CLASSES[job.source.model_type])  # after llama.cpp has gone
    expected = [
        greedy_answer(model, row, pixels, picture, stop, part.max_new_tokens)
        for row, (_, pixels) in zip(rows, prompts, strict=True)
    ]
    checks = _compare(job, tokenizer, served, rows, expected)
    texts = drift_rows(job, lambda text: tokenizer.encode((Segment(SegmentKind.DATA, text),), []))
    return [
        *checks,
        check_tokens(job.role, job.path(part.model), tokenizer),
        *check_drift(job, spec, part, model, texts),
    ]


def _check_length(job: RoleJob, spec: Generator) -> None:
    """Raise ExportError where the longest prompt of the samples and its answer do not fit the context."""
    encode = _encoder(job, spec, _picture(job, spec))
    longest = max(len(encode(prompt)) for prompt, _ in _prompted(job, spec))
    if longest + spec.max_new_tokens > spec.context:
        raise ExportError(
            f"roles.{job.role}.context: {spec.context}; the longest prompt of the samples has {longest} tokens, and "
            f"its answer up to {spec.max_new_tokens}"
        )


def check_tokens(role: str, model: Path, tokenizer: PromptTokenizer, *, demanded: bool = True) -> Check:
    """Whether llama.cpp splits hostile texts as the tokenizer does, as data and as templates; only told of where that
    is not `demanded`.
    """
    wrong = []
    for special, kind in ((False, SegmentKind.DATA), (True, SegmentKind.TEXT)):
        expected = [tokenizer.encode((Segment(kind, text),), []) for text in HOSTILE_TEXTS]
        found = tokenise(model, HOSTILE_TEXTS, special=special)
        wrong += [text for text, a, b in zip(HOSTILE_TEXTS, expected, found, strict=True) if a != b]
    count = 2 * len(HOSTILE_TEXTS)
    detail = f"differs: {', '.join(repr(text[:30]) for text in wrong[:3])}" if wrong else ""
    equal = 1 - len(wrong) / count
    demand = ">= 1" if demanded else "reported"
    return Check(role, "equal tokens of hostile texts", equal, demand, count, not (wrong and demanded), detail)


def drift_rows(job: RoleJob, encode: Callable[[str], list[int]]) -> list[list[int]]:
    """Token ids of the beginnings of passages, on which logits are compared."""
    texts = [passage for sample in job.samples[:_DRIFT_TEXTS] for passage in sample.passages[:1]]
    rows = [encode(text)[:_DRIFT_TOKENS] for text in texts]
    return [row for row in rows if row]


def check_drift(
    job: RoleJob, spec: Generator, part: GeneratorPart, model: Any, rows: Sequence[list[int]]
) -> list[Check]:
    """Logits at every position of passages: reported, and bounded where nothing was quantised."""
    written = logits(job.path(part.model), rows)
    with torch.no_grad():
        found = drift((model(input_ids=torch.tensor([row])).logits[0].float().numpy() for row in rows), written)
    detail = (
        f"mean {found.mean:.3g}, standard deviation of the logits {found.spread:.3g}, equal best tokens "
        f"{found.agreement:.2%}, divergence {found.divergence:.3g} nats, {found.positions} positions"
    )
    count, largest = len(rows), "largest difference of logits of texts"
    checks = [Check(job.role, largest, found.largest, "reported", count, passed=True, detail=detail)]
    if spec.quantisation not in BOUNDED:
        return checks
    bound, best = _FLOAT16 * job.demands.logits, job.demands.answers
    return [
        *checks,
        at_most(job.role, f"{largest}, in standard deviations of them", [found.relative], bound),
        at_least(job.role, "equal best tokens of texts", [found.agreement], best),
    ]


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


Pictured = tuple[Prompt, RGB | None]
"""A prompt and its picture."""


def generator_prompts(
    job: RoleJob, generator: Generator, spec: Patched | None
) -> tuple[list[Pictured], list[list[int]]]:
    """An answer prompt for every sample and a rewrite prompt for every fourth, and the token ids of each.

    With pictures of the size `spec`; None: without.
    """
    encode = _encoder(job, generator, spec)
    prompts = [
        (prompt, vision_inputs.fit(picture, spec) if spec else None) for prompt, picture in _prompted(job, generator)
    ]
    return prompts, [encode(prompt) for prompt, _ in prompts]


def _encoder(job: RoleJob, generator: Generator, spec: Patched | None) -> Callable[[Prompt], list[int]]:
    """Makes token ids of a prompt; a picture of the size `spec` stands in it by its tokens."""
    tokenizer = job.prompt_tokenizer()
    span = vision_inputs.image_span(tokenizer, generator.image_token, spec) if spec else []
    return lambda prompt: tokenizer.encode(prompt, span)


def _prompted(job: RoleJob, generator: Generator) -> Iterator[tuple[Prompt, RGB]]:
    """The prompts of the samples, each with its picture as it was drawn."""
    tasks = {task: job.prompt(name) for task, name in generator.templates().items() if task in COMPARED}
    pictures = 1 if job.source.model_type in VISION_CLASSES else 0
    for index, sample in enumerate(job.samples[: job.generated]):
        for task, template in tasks.items():
            if task == ANSWER or index % 4 == 0:
                values = sample.values() if task == ANSWER else sample.values(found=[], query="")
                yield template.render(pictures=pictures, **values), sample.picture


def greedy_answer(
    model: Any, row: list[int], picture: RGB | None, spec: Patched | None, stop: list[int], limit: int
) -> tuple[list[int], torch.Tensor]:
    """PyTorch's greedy answer without the stop token, and the logits [V] it began from."""
    ids = torch.tensor([row])
    inputs = {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        **processed([] if picture is None else [picture], spec),
    }
    with torch.no_grad():
        output = complete(model, inputs, stop, limit)
    answer = output.sequences[0, len(row) :].tolist()
    if answer and answer[-1] in stop:
        answer.pop()
    return answer, output.logits[0][0].float()


EXPORTERS = by_type(Exporter(prepare_generator, export_generator, check_generator, GENERATOR_CLASSES))
"""transformers' model type to what exports the role from it."""
