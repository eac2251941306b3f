"""A generator from ready-made GGUF files: looked into by their headers, then copied byte by byte, or
written anew with adapters merged into it.

What llama.cpp makes of a text is what is served, so its own tokenizer is the one that counts. A `tokenizer.json` is
only compared with it: the one that comes with the model, or one that transformers rebuilds from the file.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import transformers

from quizglass_bundle.errors import BundleError
from quizglass_bundle.fields import Size
from quizglass_bundle.inputs.prompts import CHATML, Prompt, PromptError, PromptTokenizer, Segment, SegmentKind
from quizglass_bundle.parts import GeneratorPart
from quizglass_export.checkpoints.loading import read_tokenizer
from quizglass_export.checkpoints.source import GgufSource
from quizglass_export.checks import Check
from quizglass_export.errors import ExportError
from quizglass_export.gguf.chat import beginning, chat_format, endings
from quizglass_export.gguf.header import GgufHeader, read_gguf
from quizglass_export.gguf.jobs import GenerationJob, generate, tokenise
from quizglass_export.gguf.slow_types import slow_notice
from quizglass_export.roles.generator import Generator, check_prompts, check_tokens, generator_part
from quizglass_export.roles.ready.adapted_generator import compare_adapted, write_adapted
from quizglass_export.roles.shared.job import Exported, Exporter, RoleJob
from quizglass_export.roles.starting import check_pictures
from quizglass_server.roles.generator import generator_prompts as generator_prompts_of

_SOME_PICTURE = Size(width=320, height=240)
_UNSAFE = (gguf.TokenType.NORMAL, gguf.TokenType.USER_DEFINED)


def prepare(job: RoleJob, spec: Generator) -> None:
    """Check a model and its projector by their headers, and the prompts.

    Raises:
        ExportError: a file is damaged, of another architecture, or does not fit the other or the tokenizer.
    """
    source = _source(job)
    model = read_gguf(source.model)
    _check_model(source, model, spec)
    _tokens(source.model, model)
    if source.tokenizer is not None:
        _check_vocabulary(source.model, model, source.tokenizer_file())
    if source.projector is not None:
        read_gguf(source.projector)
        check_pictures(source.model, source.projector, generator_part(spec, "model.gguf", "mmproj.gguf"))
    _stop_ids(job, source.model, _stop(spec, model))
    check_prompts(job, spec, sees=source.projector is not None)
    _rewritten(job, spec, model)


def export(job: RoleJob, spec: Generator) -> Exported:
    """Copy or merge the files that `prepare` has checked, and write prompts in the model's own chat format."""
    source = _source(job)
    model = read_gguf(source.model)
    vision = f"{job.role}/mmproj.gguf" if source.projector else None
    name = f"model-{spec.quantisation}" if source.adapters else "model"
    part = generator_part(spec, f"{job.role}/{name}.gguf", vision)
    if source.adapters:
        write_adapted(job, spec, source, job.path(part.model))
    else:
        shutil.copyfile(source.model, job.path(part.model))
    if source.projector is not None and vision is not None:
        shutil.copyfile(source.projector, job.path(vision))
    prompts = dict(part.prompts)
    for task, text in _rewritten(job, spec, model).items():
        prompts[task] = f"prompts/{job.role}/{spec.templates()[task]}.jinja"
        job.path(prompts[task]).write_text(text, encoding="utf-8")
    _check_rewritten(job, prompts, sees=vision is not None)
    written = read_gguf(job.path(part.model))
    types = sorted({tensor.type for tensor in written.tensors.values()})
    notes = {
        "precision": "/".join(types),
        "ready_made": not source.adapters,
        "architecture": model.metadata["general.architecture"],
        "chat_template": "tokenizer.chat_template" in model.metadata,
        "rewritten_prompts": sorted(set(prompts.values()) - set(part.prompts.values())),
        "notice": slow_notice(written),
    }
    return Exported(part.model_copy(update={"prompts": prompts, "stop": _stop(spec, model)}), notes)


def check(job: RoleJob, spec: Generator, part: GeneratorPart) -> list[Check]:
    """Whether llama.cpp loads the files, splits texts as the tokenizer does, and answers, about a picture if it can.

    A model with adapters is compared with transformers and PEFT too.
    """
    source, path = _source(job), job.path(part.model)
    picture = None
    prompt: Prompt = (Segment(SegmentKind.DATA, "What is this?"),)
    if part.projector is not None:
        shown = part.picture or _SOME_PICTURE
        picture = np.random.default_rng(0).integers(0, 256, (shown.height, shown.width, 3), dtype=np.uint8)
        prompt = (Segment(SegmentKind.IMAGE), *prompt)
    stop = _stop_ids(job, path, part.stop)
    served = generate(
        GenerationJob(
            model=path,
            projector=None if part.projector is None else job.path(part.projector),
            prompts=[(prompt, picture)],
            stop=stop,
            image_token=None if picture is None else 0,  # what stands for it is not looked at
            context=part.context,
            max_new_tokens=1,
        )
    )
    finite = bool(np.isfinite(served.first[0]).all())
    return [
        *_compared_tokens(job.role, source, path),
        Check(job.role, "finite logits after a prompt", float(finite), ">= 1", 1, finite),
        *(compare_adapted(job, spec, source, part, stop) if source.adapters else ()),
    ]


def _compared_tokens(role: str, source: GgufSource, path: Path) -> list[Check]:
    """Beside the model's own tokenizer, which must split alike, or one rebuilt from the file, which is reported."""
    if source.tokenizer is not None:
        return [check_tokens(role, path, PromptTokenizer(source.tokenizer))]
    with tempfile.TemporaryDirectory(prefix="quizglass-") as folder:
        rebuilt = Path(folder) / "tokenizer.json"
        try:
            fast = transformers.AutoTokenizer.from_pretrained(
                source.folder, gguf_file=source.model.name, local_files_only=True
            )
            fast.backend_tokenizer.save(str(rebuilt))
        except Exception:  # transformers rebuilds those of some architectures alone, and fails in many ways
            return []
        compared = check_tokens(role, path, PromptTokenizer(rebuilt), demanded=False)
    return [compared]


def _source(job: RoleJob) -> GgufSource:
    if not isinstance(job.source, GgufSource):
        raise ExportError(f"{job.source.folder}: no GGUF files")
    return job.source


def _stop(spec: Generator, model: GgufHeader) -> tuple[str, ...]:
    """What the recipe says, or else the tokens that the file names as endings."""
    return spec.stop if "stop" in spec.model_fields_set else endings(model) or spec.stop


def _stop_ids(job: RoleJob, path: Path, stop: Sequence[str]) -> list[int]:
    ids = tokenise(path, stop, special=True)
    for text, each in zip(stop, ids, strict=True):
        if len(each) != 1:
            raise ExportError(f"roles.{job.role}.stop: stop text {text!r} is {len(each)} tokens in {path.name}")
    return [each[0] for each in ids]


def _rewritten(job: RoleJob, spec: Generator, model: GgufHeader) -> dict[str, str]:
    """Task to its template, of those in ChatML, where the model was tuned with other markers; empty for none."""
    path = _source(job).model
    sources = {task: job.prompts[name].read_text(encoding="utf-8") for task, name in spec.templates().items()}
    chatml = {task: text for task, text in sources.items() if CHATML in text}
    form = chat_format(model, path.name) if chatml else None
    if form is None:
        if chatml and CHATML not in _tokens(path, model):
            task = next(iter(chatml))
            raise ExportError(
                f"roles.{job.role}.prompts.{task}: is in ChatML, and {path.name} has neither a chat template nor the "
                f"token {CHATML}; write prompts in its own form"
            )
        bos = beginning(model)
        return {task: bos + text for task, text in sources.items() if bos and not text.startswith(bos)}
    rewritten = {}
    for task, text in chatml.items():
        try:
            rewritten[task] = form.rewrite(text)
        except PromptError as error:
            raise ExportError(f"{job.prompts[spec.templates()[task]]}: {error}") from None
    bos = beginning(model)
    rewritten |= {task: bos + text for task, text in sources.items() if task not in chatml and not text.startswith(bos)}
    return {
        task: text for task, text in rewritten.items() if text.removesuffix("\n") != sources[task].removesuffix("\n")
    }


def _check_rewritten(job: RoleJob, prompts: dict[str, str], *, sees: bool) -> None:
    named = {task: job.folder / name for task, name in prompts.items() if (job.folder / name).is_file()}
    untouched = {task: job.prompts[Path(name).stem] for task, name in prompts.items() if task not in named}
    try:
        generator_prompts_of(untouched | named, sees=sees)
    except BundleError as error:
        raise ExportError(str(error)) from error


def _check_model(source: GgufSource, header: GgufHeader, spec: Generator) -> None:
    path = source.model
    if header.metadata.get("split.count", 1) != 1:
        parts = header.metadata["split.count"]
        raise ExportError(f"{path}: is one of {parts} files; join them with llama.cpp's `llama-gguf-split --merge`")
    architecture = header.metadata.get("general.architecture")
    if not isinstance(architecture, str):
        raise ExportError(f"{path}: general.architecture is {architecture!r}, which is no name; convert it again")
    key = f"{architecture}.context_length"
    context = header.metadata.get(key)
    if not isinstance(context, int) or context < spec.context:
        raise ExportError(f"{path}: {key} is {context!r}, the recipe's context {spec.context}; choose a shorter one")


def _tokens(path: Path, header: GgufHeader) -> list[Any]:
    tokens = header.metadata.get("tokenizer.ggml.tokens")
    types = header.metadata.get("tokenizer.ggml.token_type")
    if not isinstance(tokens, list) or not isinstance(types, list) or len(tokens) != len(types):
        raise ExportError(f"{path}: tokenizer.ggml.tokens and token_type must be lists of one length")
    return tokens


def _check_vocabulary(path: Path, header: GgufHeader, tokenizer: Path) -> None:
    """Equal ids have equal tokens, and special ones are never parsed from what comes from outside."""
    tokens, types = _tokens(path, header), header.metadata["tokenizer.ggml.token_type"]
    parsed = read_tokenizer(tokenizer)
    vocabulary = parsed.get_vocab(with_added_tokens=True)
    for token, index in sorted(vocabulary.items(), key=lambda item: item[1]):
        if index >= len(tokens) or tokens[index] != token:
            there = tokens[index] if index < len(tokens) else "nothing"
            raise ExportError(f"{path}: token {index} is {there!r}, {tokenizer} has {token!r}; wrong pair")
    for index, added in parsed.get_added_tokens_decoder().items():
        if added.special and types[index] in _UNSAFE:
            raise ExportError(
                f"{path}: {added.content!r} is no control token; texts could be taken for it. Convert it again"
            )


EXPORTERS = {"gguf": Exporter(prepare, export, check, {})}
"""The role's exporters; GGUF files have no model type of their own."""
