"""What of a card is left for the generator, beside the models that ONNX Runtime runs there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from quizglass_bundle.parts import RolePart
from quizglass_server.config.options import EngineOptions, GeneratorOptions
from quizglass_server.engines.generator.process.card import CardRoom, room
from quizglass_server.engines.generator.process.programs import find_program
from quizglass_server.engines.onnx.providers import NAMES, choose
from quizglass_server.engines.onnx.session import import_onnxruntime
from quizglass_server.errors import EngineFailed, SettingsError
from quizglass_server.roles.shared.loading import ModelFiles

_RUNTIME = 700 << 20
"""Bytes that CUDA and ONNX Runtime take of a card beside the weights, about."""


def card_room(
    parts: Sequence[RolePart], files: ModelFiles, engines: EngineOptions, generator: GeneratorOptions
) -> CardRoom | None:
    """What a generator of this machine may take of its cards; None where its llama-server uses none."""
    try:
        program = find_program(generator.llama_server)
    except (EngineFailed, SettingsError):  # said by name when it is started
        return None
    return room(program, engines.gpu_memory, _of_onnx_runtime(parts, files, engines.provider))


def _of_onnx_runtime(parts: Sequence[RolePart], files: ModelFiles, provider: str) -> int:
    """Bytes of the card that ONNX Runtime's models take, about; 0 where it runs them on the CPU."""
    try:
        runs = choose(provider, import_onnxruntime().get_available_providers())[0]
    except (EngineFailed, SettingsError):
        return 0
    paths = {path for part in parts if part.engine == "onnx" for path in _paths(part, files)}
    if runs == NAMES["cpu"] or not paths:
        return 0
    return _RUNTIME + sum(path.stat().st_size for path in paths)


def _paths(part: RolePart, files: ModelFiles) -> Iterator[Path]:
    """A role's graphs with the weights beside them."""
    names = [getattr(part, "model", None), getattr(part, "text_model", None)]
    for name in [*names, *(grid.model for grid in getattr(part, "grids", None) or ())]:
        if name is not None:
            path = files.path(name)
            yield from (each for each in (path, path.with_name(f"{path.name}.data")) if each.exists())
