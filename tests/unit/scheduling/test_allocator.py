"""What the allocator keeps of freed memory, in a process of its own: its settings are for good."""

from __future__ import annotations

import subprocess
import sys

import pytest

_FAULTS = """
import ctypes, resource
from quizglass_server.scheduling.memory import return_large_blocks

return_large_blocks()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]


def faults(size, times):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(times):
        block = libc.malloc(size)
        ctypes.memset(block, 1, size)
        libc.free(block)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


faults(1 << 20, 3)
print(faults(1 << 20, 50), faults(32 << 20, 2))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the allocator's settings are glibc's")
def test_what_a_turn_frees_is_used_again_and_what_is_larger_goes_back_to_the_system() -> None:
    run = subprocess.run([sys.executable, "-c", _FAULTS], capture_output=True, text=True, check=True)
    small, large = map(int, run.stdout.split())
    assert small < 256, "pages of one block of 1 MiB"
    assert large >= 2, "a block of 32 MiB comes from the system each time"
