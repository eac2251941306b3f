"""What the allocator keeps of freed memory, in a process of its own: its settings are for good."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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

_HEAPS = """
import ctypes, os, sys, threading
from quizglass_server.scheduling.memory import return_large_blocks

return_large_blocks()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.fopen.restype, libc.fclose.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
libc.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
threads = 4 * os.cpu_count() + 4
together = threading.Barrier(threads)


def work():
    together.wait()
    libc.malloc(1 << 12)
    together.wait()


working = [threading.Thread(target=work) for _ in range(threads)]
for thread in working:
    thread.start()
for thread in working:
    thread.join()
told = libc.fopen(sys.argv[1].encode(), b"w")
libc.malloc_info(0, told)
libc.fclose(told)
print(open(sys.argv[1]).read().count("<heap nr="), max(2, os.cpu_count()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the allocator's settings are glibc's")
def test_what_a_turn_frees_is_used_again_and_what_is_larger_goes_back_to_the_system() -> None:
    run = subprocess.run([sys.executable, "-c", _FAULTS], capture_output=True, text=True, check=True)
    small, large = map(int, run.stdout.split())
    assert small < 256, "pages of one block of 1 MiB"
    assert large >= 2, "a block of 32 MiB comes from the system each time"


@pytest.mark.skipif(sys.platform != "linux", reason="the allocator's settings are glibc's")
def test_threads_share_as_many_heaps_as_there_are_cores(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", _HEAPS, str(tmp_path / "told")], capture_output=True, text=True, check=True
    )
    heaps, most = map(int, run.stdout.split())
    assert heaps <= most
