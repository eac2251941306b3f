"""How many of the machine's cores ONNX Runtime has beside llama.cpp, which chooses for itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from quizglass_server.scheduling.cgroup import cgroup_values

_MOST_RUNS = 2
_NICE = 5
"""A third of the weight of a thread that answers."""


@dataclass(frozen=True, slots=True)
class CoreShares:
    """Threads of each engine."""

    onnx: int
    """Threads of each ONNX run."""
    runs: int
    """ONNX runs that may go at the same time."""


def share_cores(cores: int, threads: int = 0) -> CoreShares:
    """Share out cores.

    llama.cpp may take them all: its threads sleep while they wait, and when it answers the models before the answer are
    done. Those have half of the cores. Two of them go at a time, because a turn reads words while it embeds its
    picture.

    Args:
        cores: how many there are.
        threads: of every engine alike, if configured; 0: as above.

    Raises:
        ValueError: a number is negative, or there are no cores.
    """
    if cores < 1 or threads < 0:
        raise ValueError(f"cores must be 1 or more and threads 0 or more, not {cores} and {threads}")
    runs = min(_MOST_RUNS, cores)
    if threads:
        return CoreShares(threads, runs)
    return CoreShares(max(1, (cores - cores // 2) // runs), runs)


def give_way() -> None:
    """Make this thread wait for those that answer requests, for as long as they want a core.

    Threads that compute want one all the time and those that answer for microseconds; between equals the system lets
    a thread that computes finish its slice of milliseconds first.
    """
    if sys.platform == "linux":  # where this means the calling thread and those that it starts, not the process
        os.nice(_NICE)


def usable_cores(quotas: Iterable[str] | None = None) -> int:
    """Cores that this process may use: its affinity, and the quota of its container or service where that is less.

    Args:
        quotas: what `cpu.max` holds in its control groups; None: this process's own.
    """
    cores = len(os.sched_getaffinity(0))
    for text in cgroup_values("cpu.max") if quotas is None else quotas:
        with suppress(ValueError, ZeroDivisionError):  # "max": no quota
            quota, period = text.split()
            cores = min(cores, max(1, round(int(quota) / int(period))))
    return cores
