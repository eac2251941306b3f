"""What the allocator keeps of memory that is freed, in a process of its own."""

import subprocess
import sys

import pytest

pytest.importorskip("torch")

PROGRAM = """
import resource, sys
import torch
from quizglass_lab.starter.loop.allocator import keep_freed_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

if sys.argv[1] == "kept":
    keep_freed_memory()
for _ in range(12):  # the heap grows to what it needs
    torch.ones(16_000_000)
before = faults()
for _ in range(20):
    torch.ones(16_000_000)
print(faults() - before)
"""


def faulted_in(how: str) -> int:
    """Pages that a process faults in where it makes and frees 64 MB twenty times, after it has done so before."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True, timeout=120)
    return int(done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the allocator is GNU's on Linux alone")
def test_freed_memory_is_not_faulted_in_again() -> None:
    # A kernel that is short of memory may take back what has lain idle: then some of it is faulted in, once.
    assert 4 * faulted_in("kept") < 20 * 15_000 < faulted_in("left")
