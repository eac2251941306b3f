"""How many of the machine's cores ONNX Runtime has beside llama.cpp, which chooses for itself, and what the control
groups of this process (cgroup v2) allow it: its own group, and those that this one lies in.

A container finds its group at the root of the mounted tree, a service of systemd in a folder somewhere below it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_MOST_RUNS = 2
_READING = 2
"""Threads of a run that reads words, where there are so many cores: two on two cores read in 0.7 of the time that one
takes, and beside three other readings in 0.65 (docs/benchmarks/latency.md)."""
_NICE = 5
"""A third of the weight of a thread that answers."""
_ROOT, _MEMBERSHIP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_UNIFIED = "0::/"
"""What the line of cgroup v2 begins with, before the group's folder."""


@dataclass(frozen=True, slots=True)
class CoreShares:
    """Threads of each engine."""

    onnx: int
    """Threads of each ONNX run."""
    runs: int
    """ONNX runs that may go at the same time."""
    reading: int
    """Threads of a run that reads words: it takes longest, and its threads sleep while they wait."""


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
        return CoreShares(threads, runs, threads)
    onnx = max(1, (cores - cores // 2) // runs)
    return CoreShares(onnx, runs, max(onnx, min(_READING, cores)))


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


def cgroup_values(name: str, root: Path = _ROOT, membership: Path = _MEMBERSHIP) -> list[str]:
    """What the file of this name (`cpu.max`, `memory.max`) holds in each of the groups, where there is one.

    Args:
        name: of the file.
        root: where the tree is mounted.
        membership: the list of this process's groups.
    """
    groups: list[str] = []
    with suppress(OSError):
        groups = membership.read_text(encoding="utf-8").splitlines()
    own = root / next((line.removeprefix(_UNIFIED) for line in groups if line.startswith(_UNIFIED)), "")
    values = []
    for group in (own, *own.parents):
        if group.is_relative_to(root):
            with suppress(OSError):  # the root itself has no limits, unless it is a container's
                values.append((group / name).read_text(encoding="utf-8").strip())
    return values
