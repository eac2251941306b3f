"""Which compiled variant of llama.cpp computes in this process.

A wheel that was built for every CPU holds one module per instruction set beside the libraries; one that was compiled
for a single machine holds none and needs nothing. Knows nothing of models.
"""

from __future__ import annotations

import ctypes
import logging
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import llama_cpp.llama_cpp as llama

_PREFIX = "libggml-cpu-"
_PRINTING = "llama-cpp-python"
"""The logger by whose level the package decides which of llama.cpp's lines it prints: without one, all of them."""
NATIVE = "native"
"""The variant's name where the libraries were compiled for one machine."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Variant:
    """llama.cpp's CPU code, compiled for one set of instructions."""

    name: str
    """ggml's name for it, after the first CPU that had it: haswell (AVX2), skylakex (AVX-512), …"""
    score: int
    """Higher is better; 0: this CPU cannot run it."""


@cache
def variants() -> tuple[Variant, ...]:
    """The CPU variants that were compiled, best first; empty where llama.cpp was compiled for one machine."""
    modules = _directory().glob(f"{_PREFIX}*.so")
    compiled = [Variant(path.stem.removeprefix(_PREFIX), _score(path)) for path in modules]
    return tuple(sorted(compiled, key=lambda variant: (-variant.score, variant.name)))


def variant_in_use() -> str | None:
    """What `load_backends` takes on this CPU; None where no compiled variant runs on it."""
    compiled = variants()
    if not compiled:
        return NATIVE
    return compiled[0].name if compiled[0].score else None


def load_backends() -> None:
    """Load what was compiled as modules, each kind in the best variant for this machine. Harmless when called again."""
    if not variants() or _library().ggml_backend_reg_count() > 0:
        return
    logging.getLogger(_PRINTING).setLevel(logging.ERROR)
    # By path: left alone, llama.cpp would look in the working directory, where anybody may have put anything.
    load = _library().ggml_backend_load_all_from_path
    load.argtypes, load.restype = [ctypes.c_char_p], None
    load(str(_directory()).encode())
    logger.debug("llama.cpp computes with variant %s", variant_in_use())


def _directory() -> Path:
    return Path(llama.__file__).parent / "lib"


def _library() -> ctypes.CDLL:
    """llama.cpp with what it is linked to: ggml opened by its own file name would be a second copy of it."""
    library: ctypes.CDLL = llama._lib
    return library


def _score(module: Path) -> int:
    """What a module says of itself on this CPU; 0 for one that cannot be loaded."""
    try:
        return int(ctypes.CDLL(str(module)).ggml_backend_score())
    except (OSError, AttributeError):
        return 0
