"""A generator from GGUF files that somebody else made: checked, then copied byte by byte."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from quizglass_export.checkpoints.source import GgufSource
from quizglass_export.errors import ExportError
from quizglass_export.gguf.header import GgufHeader, read_gguf
from quizglass_export.gguf.jobs import GenerationJob, generate
from quizglass_export.parity import Check
from quizglass_export.recipe import schema
from quizglass_export.roles.generator import check_prompts, check_tokens, generator_part, stop_tokens
from quizglass_export.roles.job import Exported, RoleJob
from quizglass_export.roles.starting import QWEN_PROJECTORS
from quizglass_server.bundle import manifest
from quizglass_server.models.prompts import Prompt, PromptError, Segment, SegmentKind

ARCHITECTURES = {"qwen2vl": True, "qwen3": False}
"""llama.cpp's name, and whether the model sees pictures."""


def prepare_ready(job: RoleJob, spec: schema.Generator) -> None:
    """Check a pair of GGUF files by their headers, and the prompts.

    Raises:
        ExportError: a file is damaged, of another architecture, or does not fit the other or the tokenizer.
    """
    source = _source(job)
    model = read_gguf(source.model)
    _check_model(source, model, spec)
    if source.projector is not None:
        _check_projector(source.projector, read_gguf(source.projector), model, spec)
    sees = source.projector is not None
    _check_vocabulary(source.model, model, source.tokenizer_file(), spec, sees=sees)
    stop_tokens(job, spec.stop)
    check_prompts(job, spec, sees=sees)


def _source(job: RoleJob) -> GgufSource:
    if not isinstance(job.source, GgufSource):
        raise ExportError(f"{job.source.folder}: no GGUF files")
    return job.source


def export_ready(job: RoleJob, spec: schema.Generator) -> Exported:
    """Copy a pair of GGUF files that `prepare_ready` has checked."""
    source = _source(job)
    model = read_gguf(source.model)
    vision = f"{job.role}/mmproj.gguf" if source.projector else None
    part = generator_part(spec, f"{job.role}/model.gguf", vision)
    shutil.copyfile(source.model, job.path(part.model))
    if source.projector is not None and vision is not None:
        shutil.copyfile(source.projector, job.path(vision))
    types = sorted({tensor.type for tensor in model.tensors.values()})
    template = "tokenizer.chat_template" in model.metadata
    return Exported(part, {"precision": "/".join(types), "ready_made": True, "chat_template": template})


def check_ready(job: RoleJob, spec: schema.Generator, part: manifest.Generator) -> list[Check]:
    """Whether llama.cpp loads the files, splits texts as the tokenizer does, and answers, about a picture if it can."""
    tokenizer = job.prompt_tokenizer()
    picture = None
    prompt: Prompt = (Segment(SegmentKind.DATA, "What is this?"),)
    if part.picture is not None:
        size = (part.picture.height, part.picture.width, 3)
        picture = np.random.default_rng(0).integers(0, 256, size, dtype=np.uint8)
        prompt = (Segment(SegmentKind.IMAGE), *prompt)
    served = generate(
        GenerationJob(
            model=job.path(part.model),
            projector=None if part.projector is None else job.path(part.projector),
            prompts=[(prompt, picture)],
            stop=stop_tokens(job, part.stop),
            image_token=None if picture is None else tokenizer.token_id(spec.image_token),
            context=part.context,
            max_new_tokens=1,
        )
    )
    finite = bool(np.isfinite(served.first[0]).all())
    return [
        check_tokens(job.role, job.path(part.model), tokenizer),
        Check(job.role, "finite logits after a prompt", float(finite), ">= 1", 1, finite),
    ]


def _check_model(source: GgufSource, header: GgufHeader, spec: schema.Generator) -> None:
    path = source.model
    architecture = header.metadata.get("general.architecture")
    if not isinstance(architecture, str) or architecture not in ARCHITECTURES:
        raise ExportError(f"{path}: general.architecture is {architecture!r}; it can be {', '.join(ARCHITECTURES)}")
    if ARCHITECTURES[architecture] != (source.projector is not None):
        needs = "needs its projector" if ARCHITECTURES[architecture] else "reads text alone and takes no projector"
        raise ExportError(f"{path}: {architecture} {needs}; correct roles.generator.projector")
    key = f"{architecture}.context_length"
    context = header.metadata.get(key)
    if not isinstance(context, int) or context < spec.context:
        raise ExportError(f"{path}: {key} is {context!r}, the recipe's context {spec.context}; choose a shorter one")


def _check_projector(path: Path, header: GgufHeader, model: GgufHeader, spec: schema.Generator) -> None:
    found = header.metadata
    if found.get("general.architecture") != "clip" or found.get("clip.projector_type") not in QWEN_PROJECTORS:
        kind = found.get("clip.projector_type", found.get("general.architecture"))
        raise ExportError(f"{path}: a projector of type {kind!r}; it can be {', '.join(QWEN_PROJECTORS)}")
    wide = found.get("clip.vision.projection_dim")
    expected = model.metadata.get("qwen2vl.embedding_length")
    if wide != expected:
        raise ExportError(f"{path}: clip.vision.projection_dim is {wide}, the model's embedding_length {expected}")
    sides = found.get("clip.vision.patch_size"), found.get("clip.vision.spatial_merge_size", 2)
    if not all(isinstance(each, int) and each > 0 for each in sides):
        raise ExportError(f"{path}: clip.vision.patch_size and spatial_merge_size are {sides}; must be above 0")
    side = prod(sides)
    if spec.picture.width % side or spec.picture.height % side:
        raise ExportError(f"roles.generator.picture: width and height must be multiples of {side}, as {path} has them")


def _check_vocabulary(path: Path, header: GgufHeader, tokenizer: Path, spec: schema.Generator, *, sees: bool) -> None:
    """Equal ids have equal tokens, special ones are marked as such, and the texts that end an answer are tokens."""
    tokens = header.metadata.get("tokenizer.ggml.tokens")
    types = header.metadata.get("tokenizer.ggml.token_type")
    if not isinstance(tokens, list) or not isinstance(types, list) or len(tokens) != len(types):
        raise ExportError(f"{path}: tokenizer.ggml.tokens and token_type must be lists of one length")
    wanted, special = _read_tokenizer(tokenizer)
    for token, index in wanted.items():
        if index >= len(tokens) or tokens[index] != token:
            found = tokens[index] if index < len(tokens) else "nothing"
            raise ExportError(f"{path}: token {index} is {found!r}, {tokenizer} has {token!r}; wrong pair")
    for token in special:
        if types[wanted[token]] != gguf.TokenType.CONTROL:
            raise ExportError(f"{path}: {token!r} is no control token; texts could be taken for it. Convert it again")
    if sees and spec.image_token not in wanted:
        raise ExportError(f"{tokenizer}: has no token {spec.image_token!r}, which roles.generator names")
    if header.metadata.get("tokenizer.ggml.pre") != "qwen2":
        raise ExportError(f"{path}: tokenizer.ggml.pre is {header.metadata.get('tokenizer.ggml.pre')!r}, not 'qwen2'")


def _read_tokenizer(path: Path) -> tuple[Mapping[str, int], list[str]]:
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        added = {each["content"]: int(each["id"]) for each in content["added_tokens"]}
        special = [each["content"] for each in content["added_tokens"] if each["special"]]
        return {**content["model"]["vocab"], **added}, special
    except (OSError, ValueError, KeyError, TypeError, PromptError) as error:
        raise ExportError(f"{path}: not a tokenizer.json of byte-level BPE: {error}") from error
