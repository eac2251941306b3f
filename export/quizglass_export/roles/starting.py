"""What a server checks of a bundle at its start, by the server's own code and without starting one.

ONNX models are loaded and run once on one example, one after the other, as a start does it: nothing else shows which
shapes they give. The generator is not: its headers, its vocabulary and its prompts say whether it would start.
"""

from __future__ import annotations

import gguf

from quizglass_export.errors import ExportError
from quizglass_export.gguf.header import GgufHeader, read_gguf
from quizglass_export.gguf.jobs import tokenise
from quizglass_server.bundle.files import Bundle
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions
from quizglass_server.errors import EngineFailed
from quizglass_server.models.fields import Size
from quizglass_server.models.fitting import PictureFitter
from quizglass_server.models.loading import Loading
from quizglass_server.roles.generator import GeneratorPart, generator_prompts
from quizglass_server.roles.reader import ReaderPart

QWEN_PROJECTORS = ("qwen2vl_merger", "qwen2.5vl_merger")
"""Projectors whose output is as wide as the model's embedding, and whose tokens can be counted from the header."""


def check_start(bundle: Bundle) -> None:
    """Check every role that has files in the bundle.

    Raises:
        BundleError, ExportError: what a server would refuse; names file or key.
    """
    pool = EnginePool(1)
    loading = Loading(bundle, pool, PictureFitter(), OnnxOptions(provider="cpu"))
    try:
        for role, part in bundle.roles.filled():
            if isinstance(part, GeneratorPart):
                check_generator(bundle, part)
            elif not isinstance(part, ReaderPart):
                part.load(role, loading)
    except EngineFailed as error:
        raise ExportError(error.message) from error
    finally:
        pool.close()


def check_generator(bundle: Bundle, part: GeneratorPart) -> None:
    """Prompts, headers, stop texts and projector; errors as of `check_start`."""
    named = {task: bundle.path(name) for task, name in part.prompts.items()}
    generator_prompts(named, sees=part.picture is not None)
    model = read_gguf(bundle.path(part.model))
    architecture = model.metadata.get("general.architecture")
    if architecture not in gguf.MODEL_ARCH_NAMES.values():
        raise ExportError(f"{part.model}: general.architecture is {architecture!r}; llama.cpp knows no such model")
    for text, ids in zip(part.stop, tokenise(bundle.path(part.model), part.stop, special=True), strict=True):
        if len(ids) != 1:
            raise ExportError(f"{part.model}: stop text {text!r} is {len(ids)} tokens; choose a text of one token")
    if part.projector is not None and part.picture is not None:
        _check_projector(part, part.projector, part.picture, model, read_gguf(bundle.path(part.projector)))


def _check_projector(part: GeneratorPart, name: str, picture: Size, model: GgufHeader, projector: GgufHeader) -> None:
    found = projector.metadata
    if found.get("general.architecture") != "clip":
        raise ExportError(f"{name}: general.architecture is {found.get('general.architecture')!r}, not 'clip'")
    if found.get("clip.projector_type") not in QWEN_PROJECTORS:
        return
    wide = found.get("clip.vision.projection_dim")
    expected = model.metadata.get(f"{model.metadata['general.architecture']}.embedding_length")
    if wide != expected:
        raise ExportError(f"{name}: its vectors have {wide} numbers, those of {part.model} {expected}; wrong pair")
    side = found.get("clip.vision.patch_size", 0) * found.get("clip.vision.spatial_merge_size", 2)
    if side <= 0 or picture.width % side or picture.height % side:
        raise ExportError(f"roles.generator.picture: width and height must be multiples of {side}, as {name} has them")
    if (tokens := (picture.width // side) * (picture.height // side)) >= part.context:
        raise ExportError(f"{name}: one picture is {tokens} tokens, context {part.context}")
