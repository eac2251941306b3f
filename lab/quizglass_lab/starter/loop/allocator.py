"""How the C library's allocator treats memory that training gives back."""

from __future__ import annotations

import ctypes
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
"""Names of `mallopt`'s parameters, as <malloc.h> has them."""
_NEVER = -1


def keep_freed_memory() -> None:
    """Have freed memory stay with this process, where the allocator is GNU's.

    By default every large tensor is mapped anew and unmapped when it is freed. On a CPU a step of training then faults
    a hundred thousand pages in, and zeroing these took a quarter of its time.
    """
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_MAX, 0)
        library.mallopt(_TRIM_THRESHOLD, _NEVER)
