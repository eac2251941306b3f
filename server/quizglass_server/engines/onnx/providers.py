"""Which of ONNX Runtime's execution providers runs a model, said aloud instead of fallen back to silently."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quizglass_server.errors import EngineFailed, SettingsError

NAMES = {
    "tensorrt": "TensorrtExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "cpu": "CPUExecutionProvider",
}
"""Setting to ONNX Runtime's name, best first."""
AUTO = "auto"
PREPARED = "tensorrt-engine"
"""What runs a model whose TensorRT engine was built ahead of time."""

Options = dict[str, str]
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InputRange:
    """The shapes an input may have: smallest, usual and largest."""

    smallest: tuple[int, ...]
    usual: tuple[int, ...]
    largest: tuple[int, ...]

    def holds(self, shape: Sequence[int]) -> bool:
        """Whether a shape lies inside."""
        return len(shape) == len(self.smallest) and all(
            low <= size <= high for low, size, high in zip(self.smallest, shape, self.largest, strict=True)
        )


Ranges = Mapping[str, InputRange]


def choose(setting: str, available: Sequence[str]) -> list[str]:
    """Names of the providers to try, best first; the CPU always comes last.

    Raises:
        SettingsError: the setting is unknown, or names a provider that this ONNX Runtime lacks.
    """
    cpu = NAMES["cpu"]
    if setting == AUTO:
        return [name for name in NAMES.values() if name in available] or [cpu]
    if setting not in NAMES:
        raise SettingsError(f"provider: {setting!r} is unknown; use {AUTO}, {', '.join(NAMES)}")
    if NAMES[setting] not in available:
        raise SettingsError(
            f"provider: {NAMES[setting]} is not in this ONNX Runtime, which has {', '.join(available) or 'none'}; "
            f"in the clone, pip install '.[gpu]', or set provider to {AUTO}"
        )
    return [NAMES[setting]] if NAMES[setting] == cpu else [NAMES[setting], cpu]


def options(provider: str, ranges: Ranges, cache: Path | None) -> Options:
    """Settings of a provider.

    TensorRT builds one engine for the whole range of shapes; without the ranges of all inputs it builds again at run
    time.
    """
    if provider != NAMES["tensorrt"]:
        return {}
    profile = (("min", "smallest"), ("opt", "usual"), ("max", "largest")) if ranges else ()
    settings = {f"trt_profile_{key}_shapes": _shapes(ranges, field) for key, field in profile}
    if cache is not None:
        settings |= {"trt_engine_cache_enable": "1", "trt_engine_cache_path": str(cache)}
    return settings


def confirm(setting: str, wanted: Sequence[str], running: Sequence[str], model: str) -> str:
    """Name (as in settings) of the provider that really runs a model.

    Raises:
        EngineFailed: a provider was asked for by name and ONNX Runtime fell back from it.
    """
    first = running[0] if running else ""
    if first != wanted[0]:
        message = f"{model}: {wanted[0]} could not be started and ONNX Runtime fell back to {first or 'nothing'}"
        if setting != AUTO:
            raise EngineFailed(f"{message}; install the provider's libraries, or set provider to {AUTO}")
        logger.warning("%s", message)
    return next((short for short, name in NAMES.items() if name == first), first)


def _shapes(ranges: Ranges, field: str) -> str:
    """TensorRT's notation: `input_ids:1x8,attention_mask:1x8`."""
    return ",".join(f"{name}:{'x'.join(map(str, getattr(each, field)))}" for name, each in ranges.items())
