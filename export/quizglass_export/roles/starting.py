"""What a server checks of a bundle at its start, by the server's own code and without starting one.

ONNX models are loaded and run once on one example, one after the other, as a start does it: nothing else shows which
shapes they give. The generator is not run: its header, its vocabulary and its prompts say whether it would start, and
llama.cpp says whether its projector goes with it.
"""

from __future__ import annotations

from pathlib import Path

from quizglass_bundle.files import Bundle
from quizglass_bundle.parts import GeneratorPart, ReaderPart
from quizglass_export.errors import ExportError
from quizglass_export.gguf.header import read_gguf
from quizglass_export.gguf.jobs import picture_tokens, tokenise
from quizglass_server.engines.onnx.pool import EnginePool
from quizglass_server.engines.onnx.session import OnnxOptions
from quizglass_server.errors import EngineFailed
from quizglass_server.roles.generator import generator_prompts
from quizglass_server.roles.load import load_role
from quizglass_server.roles.shared.fitting import PictureFitter
from quizglass_server.roles.shared.loading import Loading


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
            elif not isinstance(part, ReaderPart) or part.detector is not None:
                load_role(role, part, loading)
    except EngineFailed as error:
        raise ExportError(error.message) from error
    finally:
        pool.close()


def check_generator(bundle: Bundle, part: GeneratorPart) -> None:
    """Prompts, headers, stop texts and projector; errors as of `check_start`."""
    named = {task: bundle.path(name) for task, name in part.prompts.items()}
    generator_prompts(named, sees=part.sees_pictures)
    model = bundle.path(part.model)
    read_gguf(model)
    for text, ids in zip(part.stop, tokenise(model, part.stop, special=True), strict=True):
        if len(ids) != 1:
            raise ExportError(f"{part.model}: stop text {text!r} is {len(ids)} tokens; choose a text of one token")
    if part.projector is None:
        return
    projector = bundle.path(part.projector)
    read_gguf(projector)
    check_pictures(model, projector, part)


def check_pictures(model: Path, projector: Path, part: GeneratorPart) -> None:
    """Raise ExportError where model and projector do not go together, or a picture leaves no room in the context."""
    largest = part.largest_picture
    tokens = picture_tokens(model, projector, largest.width, largest.height)
    if tokens + part.max_new_tokens >= part.context:
        raise ExportError(
            f"{projector}: a picture of {largest.width} x {largest.height} is {tokens} tokens, and roles.generator."
            f"context is {part.context}; give roles.generator.picture a smaller size, or more context"
        )
