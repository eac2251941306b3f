"""Which of ONNX Runtime's execution providers runs a model, said aloud instead of fallen back to silently."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quizglass_server.engines.onnx.plugins import PLUGINS
from quizglass_server.engines.onnx.stepped import CUDA_GRAPH
from quizglass_server.errors import EngineFailed, SettingsError

NAMES = {
    "tensorrt": "TensorrtExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "cpu": "CPUExecutionProvider",
}
"""Setting to ONNX Runtime's name of a provider that it is compiled with, best first."""
AUTO = "auto"
FIRST = -1
"""Number of the card that is taken where none is named."""
PREPARED = "tensorrt-engine"
"""What runs a model whose TensorRT engine was built ahead of time."""

Options = dict[str, str]
_CUDA: Options = {
    # Trying every algorithm takes gigabytes of workspace, for tiny models too; an arena grows by what is asked for.
    "cudnn_conv_algo_search": "HEURISTIC",
    "cudnn_conv_use_max_workspace": "0",
    "arena_extend_strategy": "kSameAsRequested",
    # TF32 has ten bits of mantissa: differences of 3e-3 in a planner's logits were seen.
    "use_tf32": "0",
}
_BUILDERS: Mapping[str, tuple[str, Options]] = {
    NAMES["tensorrt"]: (
        "trt",
        {
            "trt_engine_cache_enable": "1",
            "trt_engine_cache_path": "",
            "trt_timing_cache_enable": "1",
            "trt_timing_cache_path": "",
        },
    ),
    PLUGINS["tensorrt-rtx"].provider: ("nv", {"nv_runtime_cache_path": ""}),
}
"""Providers that build engines: what their options begin with, and those of their caches; an empty one is the
directory."""
_FLOAT16: Options = {"trt_fp16_enable": "1"}
_NUMBERED = (NAMES["tensorrt"], NAMES["cuda"])
"""Providers that take the number of a card."""
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
    """ONNX Runtime's names of the providers to try, best first; the CPU always comes last.

    A plug-in has to be named: "auto" takes what ONNX Runtime is compiled with.

    Raises:
        SettingsError: the setting is unknown, or names a provider that this ONNX Runtime lacks.
    """
    cpu = NAMES["cpu"]
    if setting == AUTO:
        return [name for name in NAMES.values() if name in available] or [cpu]
    if setting in PLUGINS:
        return [PLUGINS[setting].provider, cpu]
    if setting not in NAMES:
        raise SettingsError(f"provider: {setting!r} is unknown; use {AUTO}, {', '.join((*NAMES, *PLUGINS))}")
    if NAMES[setting] not in available:
        raise SettingsError(
            f"provider: {NAMES[setting]} is not in this ONNX Runtime, which has {', '.join(available) or 'none'}; "
            f"in the clone, pip install '.[gpu]', or set provider to {AUTO}"
        )
    # What TensorRT leaves out, CUDA runs: the CPU would have to be given it, and give it back.
    between = [NAMES["cuda"]] if setting == "tensorrt" and NAMES["cuda"] in available else []
    return list(dict.fromkeys([NAMES[setting], *between, cpu]))


def options(
    provider: str,
    ranges: Ranges,
    cache: Path | None,
    stepped: bool = False,
    memory: int = 0,
    *,
    device: int = FIRST,
    float16: bool = False,
) -> Options:
    """Settings of a provider; `stepped` is `Signature.stepped`, the others are those of `OnnxOptions`.

    TensorRT, and TensorRT for RTX, build one engine for the whole range of shapes; without the ranges of all inputs
    they build again at run time.
    """
    settings = on_device(provider, device)
    if provider == NAMES["cuda"]:
        limit = {"gpu_mem_limit": str(memory)} if memory else {}
        return settings | _CUDA | (CUDA_GRAPH if stepped else {}) | limit
    if provider not in _BUILDERS:
        return settings
    if float16 and provider == NAMES["tensorrt"]:
        settings |= _FLOAT16
    prefix, caches = _BUILDERS[provider]
    profile = (("min", "smallest"), ("opt", "usual"), ("max", "largest")) if ranges else ()
    settings |= {f"{prefix}_profile_{key}_shapes": _shapes(ranges, field) for key, field in profile}
    return settings | ({key: value or str(cache) for key, value in caches.items()} if cache is not None else {})


def on_device(provider: str, device: int) -> Options:
    """The setting that names a card, for the providers that take one; plug-ins are given devices instead."""
    return {"device_id": str(max(0, device))} if provider in _NUMBERED else {}


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
    return short(first)


def short(provider: str) -> str:
    """A provider's name in settings, of ONNX Runtime's; itself where settings have none."""
    names = {name: setting for setting, name in NAMES.items()}
    names |= {plugin.provider: setting for setting, plugin in PLUGINS.items()}
    return names.get(provider, provider)


def _shapes(ranges: Ranges, field: str) -> str:
    """TensorRT's notation: `input_ids:1x8,attention_mask:1x8`."""
    return ",".join(f"{name}:{'x'.join(map(str, getattr(each, field)))}" for name, each in ranges.items())
