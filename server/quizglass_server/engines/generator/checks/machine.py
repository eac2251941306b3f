"""What tells why llama.cpp does not run on a CPU: the CPU's features, and the compiler that made the library.

Read from files, so that the server itself loads no llama.cpp.
"""

from __future__ import annotations

import platform
import re
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_TELLING = (
    *("avx", "avx2", "fma", "f16c", "bmi2", "avx_vnni", "avx512f", "avx512bw", "avx512vl", "avx512_vnni"),
    *("avx512vbmi", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16"),
    *("asimd", "asimddp", "i8mm", "bf16", "sve", "sve2", "sme"),
)
"""Features that decide which of ggml's code runs, as Linux calls them."""
_COMPILER = re.compile(rb"(?:GCC: \([^)\0]*\) [\d.]+|(?:[A-Za-z]+ )?clang version [\d.]+)")
_CPUINFO = Path("/proc/cpuinfo")


def cpu_features(cpuinfo: Path = _CPUINFO) -> tuple[str, ...]:
    """The features of this CPU that matter to llama.cpp; empty where the system does not say."""
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    line = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    features = set(line.group(1).split()) if line else set()
    return tuple(name for name in _TELLING if name in features)


def cpu_name(cpuinfo: Path = _CPUINFO) -> str:
    """What the CPU calls itself, with its features; its features alone where the system does not say."""
    with suppress(OSError):
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
        if (line := re.search(r"^model name\s*:(.*)$", text, re.MULTILINE)) is not None:
            return f"{line.group(1).strip()} {' '.join(cpu_features(cpuinfo))}"
    return f"{platform.machine()} {' '.join(cpu_features(cpuinfo))}"


@cache
def compiler() -> str:
    """What compiled llama.cpp for CPUs, as the compiler left its name in the library; "unknown" where it did not."""
    spec = find_spec("llama_cpp")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for library in sorted((Path(place) / "lib").glob("libggml-cpu*")):
            if (name := _COMPILER.search(library.read_bytes())) is not None:
                return name.group().decode("ascii", "replace")
    return "unknown"


def machine() -> str:
    """CPU features and compiler in one line."""
    return f"CPU features: {' '.join(cpu_features()) or 'unknown'}; llama.cpp was compiled by {compiler()}"
