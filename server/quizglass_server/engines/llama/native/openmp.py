"""How many threads OpenMP gives to a thread that computes: mtmd's own number cannot be changed once it is loaded."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

_RUNTIMES = ("libgomp.so.1", "libomp.so.5", "libiomp5.so")


@contextmanager
def alone(wanted: bool) -> Iterator[None]:
    """Within it the calling thread computes without helpers, if that is `wanted` and llama.cpp computes with OpenMP."""
    runtime = _runtime() if wanted else None
    if runtime is None:
        yield
        return
    before = runtime.omp_get_max_active_levels()
    runtime.omp_set_max_active_levels(0)
    try:
        yield
    finally:
        runtime.omp_set_max_active_levels(before)


@cache
def _runtime() -> ctypes.CDLL | None:
    """The OpenMP runtime that this process has loaded; None where there is none, or none that is known."""
    for name in _RUNTIMES:
        try:
            return ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
        except OSError:
            continue
    return None
