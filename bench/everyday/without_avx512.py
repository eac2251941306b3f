"""How a process is run so that it finds a CPU without AVX-512: natively where CPUID can be answered, else emulated.

ONNX Runtime asks the CPU what it can do and has no option to be told less. Where Linux lets CPUID fault, a small
library answers it with those bits cleared (`no_avx512.c`). Elsewhere QEMU's user mode runs the process as on a Haswell.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bench.everyday.fetched.debian import unpacked

SOURCE = Path(__file__).with_name("no_avx512.c")
EMULATOR, CPU = "qemu-user-static", "Haswell"
_FAULTS = "cpuid_fault"


@dataclass(frozen=True)
class Way:
    """How a process is run."""

    name: str
    under: Sequence[str] = ()
    """What stands before the command."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What is set besides."""


def way_without(folder: Path, cpuinfo: Path = Path("/proc/cpuinfo")) -> Way:
    """The native way where the CPU and a compiler allow it, else the emulator, fetched into `folder`.

    Raises:
        PackageMissing: there is no native way, and the emulator cannot be had.
    """
    if _FAULTS in _flags(cpuinfo) and (library := _compiled(folder)) is not None:
        return Way("CPUID answered without it", environment={"LD_PRELOAD": str(library)})
    emulator = unpacked(EMULATOR, folder / "debian")[0] / "usr/bin/qemu-x86_64-static"
    return Way(f"QEMU as a {CPU}", under=[str(emulator), "-cpu", CPU])


def has_avx512() -> bool:
    """Whether this process finds AVX-512, as numpy asks the CPU for it."""
    found = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
    return any(name.startswith("AVX512") or name == "X86_V4" for name in found)


def _flags(cpuinfo: Path) -> frozenset[str]:
    """Of the first CPU; none where there is no such file."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line.partition(":")[2] for line in lines if line.startswith("flags")), "").split())


def _compiled(folder: Path) -> Path | None:
    """The library, made by `cc`; None where there is no compiler, or it failed."""
    library = folder.resolve() / "no_avx512.so"
    try:
        command = ["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
        done = subprocess.run(command, capture_output=True, check=False)  # our own source, no shell
    except OSError:
        return None
    return library if done.returncode == 0 else None
