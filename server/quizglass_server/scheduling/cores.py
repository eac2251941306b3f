"""One place that shares the machine's cores between ONNX Runtime and llama.cpp."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup/cpu.max")
_MOST_RUNS = 2
_NICE = 5
"""A third of the weight of a thread that answers."""


@dataclass(frozen=True, slots=True)
class CoreShares:
    """Threads of each engine."""

    llama: int
    """Of llama.cpp."""
    onnx: int
    """Of each ONNX run."""
    runs: int
    """ONNX runs that may go at the same time."""


def share_cores(cores: int, threads: int = 0) -> CoreShares:
    """Share out cores.

    llama.cpp decodes all the time that a turn answers, so half of the cores are its own. The other half is for the
    models before the answer. Two of those go at a time, because a turn reads words while it embeds its picture; on two
    cores one of them borrows llama.cpp's, which is idle until they are done.

    Args:
        cores: how many there are.
        threads: of every engine alike, when somebody has decided; 0: as above.

    Raises:
        ValueError: a number is negative, or there are no cores.
    """
    if cores < 1 or threads < 0:
        raise ValueError(f"cores must be 1 or more and threads 0 or more, not {cores} and {threads}")
    runs = min(_MOST_RUNS, cores)
    if threads:
        return CoreShares(threads, threads, runs)
    llama = max(1, cores // 2)
    return CoreShares(llama, max(1, (cores - llama) // runs), runs)


def give_way() -> None:
    """Make this thread wait for those that answer requests, for as long as they want a core.

    Threads that compute want one all the time and those that answer for microseconds; between equals the system lets
    a thread that computes finish its slice of milliseconds first.
    """
    if sys.platform == "linux":  # where this means the calling thread and those that it starts, not the process
        os.nice(_NICE)


def usable_cores(cgroup: Path = _CGROUP) -> int:
    """Cores that this process may use: its affinity, and a container's quota where that is less.

    Args:
        cgroup: the `cpu.max` file of cgroup v2; absent outside a container.
    """
    cores = len(os.sched_getaffinity(0))
    try:
        quota, period = cgroup.read_text().split()
        return max(1, min(cores, round(int(quota) / int(period))))
    except (OSError, ValueError, ZeroDivisionError):  # no file, or "max": no quota
        return cores
