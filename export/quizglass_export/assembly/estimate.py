"""What a build will need, before it starts: disk in the work directory, and memory at its peak.

From the headers of the weight files alone. The figures are upper estimates; docs/bundles.md has what was measured.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quizglass_export.assembly.plan import Plan
from quizglass_export.assembly.work import kept_bytes
from quizglass_export.checkpoints.files import tensor_sizes
from quizglass_export.checkpoints.source import AnySource, GgufSource, LibrarySource, OnnxSource
from quizglass_export.checks import CARD_PRECISIONS, QUICKEST
from quizglass_export.errors import ExportError
from quizglass_export.gguf.header import read_gguf
from quizglass_export.gguf.slow_types import slow_notice
from quizglass_export.onnx.file import count_weights

_RUNTIME = 700 << 20
"""Bytes of memory that the interpreter takes with torch, transformers and ONNX Runtime loaded."""
_BYTES = {"fp32": 4.0, "fp16": 2.0, "int8": 1.2, "int8-rows": 1.2, "int8-weights": 1.3, "int4-weights": 0.8}
_BYTES |= dict.fromkeys(CARD_PRECISIONS, 2.0)
_BYTES[QUICKEST] = _BYTES["fp32"]  # unless another is chosen
_GGUF_BYTES = {"f32": 4.0, "f16": 2.0, "bf16": 2.0, "q8_0": 1.1, "q6_k": 0.9, "q5_k_m": 0.8, "q4_k_m": 0.7, "q4_0": 0.7}


@dataclass(frozen=True, slots=True)
class Estimate:
    """One role's needs, in bytes.

    Attributes:
        role: its name.
        checkpoint: size of its weight files.
        parameters: how many numbers they hold.
        result: what the role takes in the bundle.
        scratch: most that the work directory holds besides, while the role is made.
        memory: peak of the process.
        notice: why it will be slower than it could be, and what to take instead; empty where it will not.
    """

    role: str
    checkpoint: int
    parameters: int
    result: int
    scratch: int
    memory: int
    notice: str = ""


def estimate(plan: Plan) -> list[Estimate]:
    """Estimates of every role, in the order of the build.

    Raises:
        ExportError: a weight file's header cannot be read.
    """
    return [
        _estimate(role, source, plan.spec(role)) for role, source in plan.sources.items() if role not in plan.owners
    ]


def check_room(estimates: Sequence[Estimate], work: Path, out: Path) -> None:
    """Raise ExportError where there is not enough room for the work directory, or for a bundle on another file system.

    On the same one the bundle's files are links. What finished steps hold is there already.
    """
    results = sum(each.result for each in estimates)
    needed = results + max((each.scratch for each in estimates), default=0)
    _check_room(work, needed - kept_bytes(work))
    if _device(_existing(work)) != _device(_existing(out)):
        _check_room(out, results)


def _check_room(folder: Path, needed: int) -> None:
    place = _existing(folder)
    free = shutil.disk_usage(place).free
    if needed > free:
        raise ExportError(
            f"{place}: {free / 1e9:.1f} GB free, the build needs about {needed / 1e9:.1f} GB; free some, or choose "
            "another directory"
        )


def _existing(folder: Path) -> Path:
    """The directory itself if it exists, else its nearest parent that does."""
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    return place


def _device(place: Path) -> int:
    return place.stat().st_dev


def available_memory() -> int:
    """Bytes that a process may still take, as the kernel estimates it."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        return int(fields["MemAvailable"].split()[0]) << 10
    except (OSError, KeyError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _estimate(role: str, source: AnySource, spec: Any) -> Estimate:
    if isinstance(source, GgufSource):
        size = sum(path.stat().st_size for path in source.gguf_files())
        parameters = sum(read_gguf(path).parameters for path in source.gguf_files())
        if source.adapters:
            result, plain = int(_GGUF_BYTES[spec.quantisation] * parameters), 4 * parameters
            return Estimate(role, size, parameters, result, plain, _RUNTIME + 4 * plain)
        notice = slow_notice(read_gguf(source.model))
        return Estimate(role, size, parameters, size, 0, _RUNTIME + size, notice)
    if isinstance(source, OnnxSource):
        size = source.model.stat().st_size
        return Estimate(role, size, count_weights(source.model), size, 0, _RUNTIME + size)
    if isinstance(source, LibrarySource):
        size = source.file.stat().st_size
        parameters = size // 4  # such weights are float32
        return Estimate(role, size, parameters, int(_BYTES[spec.precision] * parameters), size, _RUNTIME + 3 * size)
    files = source.weights()
    tensors = [size for path in files for size in tensor_sizes(path)]
    parameters, largest = sum(tensors), max(tensors, default=0)
    per = _GGUF_BYTES[spec.quantisation] if role == "generator" else _BYTES[spec.precision]
    float32 = 4 * parameters
    graphs = 1 + len(getattr(spec, "grids", ()))
    intermediate = 0 if per == 4.0 else float32
    if getattr(spec, "precision", None) == QUICKEST:
        intermediate = int(sum(_BYTES[each] for each in spec.candidates) * parameters) * graphs
    return Estimate(
        role=role,
        checkpoint=sum(path.stat().st_size for path in files),
        parameters=parameters,
        result=int(per * parameters) * graphs,
        scratch=intermediate,
        memory=_RUNTIME + 2 * float32 + 8 * largest,
    )
