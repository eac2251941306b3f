"""What the machine has: processor, cores, memory, disk, descriptors."""

from __future__ import annotations

import os
import platform
import resource
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from quizglass_server.containment import in_force
from quizglass_server.doctor.finding import Finding, Status
from quizglass_server.engines.generator.checks.machine import cpu_features
from quizglass_server.scheduling.cores import cgroup_values, usable_cores

_X86 = ("x86_64", "AMD64")
_FEATURES = {
    "avx2": "AVX2",
    "fma": "FMA",
    "f16c": "F16C",
    "avx_vnni": "AVX-VNNI",
    "avx512f": "AVX-512",
    "avx512_vnni": "AVX-512 VNNI",
    "avx512vbmi": "AVX-512 VBMI",
    "avx512_bf16": "AVX-512 BF16",
    "amx_tile": "AMX",
    "asimd": "NEON",
    "asimddp": "dot product",
    "i8mm": "I8MM",
    "sve": "SVE",
    "sve2": "SVE2",
}
"""The kernel's name of the CPU feature that llama.cpp and ONNX Runtime use, and the usual one."""
_NEEDED = ("avx2", "fma", "f16c")
_BUSY = 0.5
"""Processes that want a core, for each core, from which answers are slowed down."""
_FREE_DISK = 1 << 30
_DESCRIPTORS = 1024
_GIB = 1 << 30
"""Of Linux that contain a process: no_new_privs, Landlock, seccomp."""


def processor(flags: frozenset[str], architecture: str) -> Finding:
    """Whether the processor has what llama.cpp is compiled for."""
    features = [usual for flag, usual in _FEATURES.items() if flag in flags]
    values = {"architecture": architecture, "features": features}
    if not flags:
        return Finding(
            "processor", Status.UNKNOWN, f"{architecture}; the system does not say what it can do", "", values
        )
    text = f"{architecture} with {', '.join(features) or 'none of the instructions that matter'}"
    if architecture in _X86 and (missing := [_FEATURES[flag] for flag in _NEEDED if flag not in flags]):
        remedy = (
            "take a machine with AVX2 (any x86-64 server since 2015), or compile llama.cpp on this one with plain pip"
        )
        return Finding("processor", Status.WRONG, f"{text}; {', '.join(missing)} missing", remedy, values)
    return Finding("processor", Status.OK, text, "", values)


def cores(load: float, usable: int, installed: int, governor: str) -> Iterator[Finding]:
    """How much of the processor there is for a server."""
    values = {"usable": usable, "installed": installed, "load": round(load, 2), "governor": governor}
    if load > _BUSY * usable:
        yield Finding(
            "cores",
            Status.SLOW,
            f"{usable} of {installed}, and other programs keep {load:.1f} of them busy",
            "stop them or give them a lower priority (nice); with fewer --threads engines wait less for each other",
            values,
        )
    else:
        yield Finding("cores", Status.OK, f"{usable} of {installed}, load {load:.1f}", "", values)
    if governor == "powersave" and not _drives_itself():
        remedy = "set the governor to performance or schedutil while it serves (cpupower frequency-set -g performance)"
        yield Finding("frequency", Status.SLOW, "the processor is kept at its lowest frequency (powersave)", remedy)


def memory(available: int, needed: int, limit: int | None, work: int = 0) -> Finding:
    """Whether the models, and then the work on requests, fit beside what runs already.

    Args:
        available: bytes that the system could give.
        needed: bytes of the models; 0 where that is not known.
        limit: bytes that this process or its container may have; None: no limit.
        work: bytes that requests under way may take besides.
    """
    usable = available if limit is None else min(available, limit)
    values = {"available_bytes": available, "needed_bytes": needed, "work_bytes": work, "limit_bytes": limit}
    text = f"{usable / _GIB:.1f} GiB free"
    if needed:
        text += f", about {needed / _GIB:.1f} for the models and up to {work / _GIB:.1f} for requests"
    if needed > usable:
        remedy = "take a smaller or quantised bundle, lower --generator-cells, or raise the limit"
        return Finding("memory", Status.WRONG, text, remedy, values)
    if needed + work > usable:
        remedy = "lower --work-memory-bytes, which refuses the largest pictures; or raise the limit"
        return Finding("memory", Status.SLOW, text, remedy, values)
    return Finding("memory", Status.OK, text, "", values)


def disk(directory: Path, name: str) -> Finding:
    """Whether a directory, or the nearest one above it that exists, can be written and has room."""
    place = next(each for each in (directory.absolute(), *directory.absolute().parents) if exists(each))
    if not place.is_dir():
        remedy = "name another directory, or move the file away"
        return Finding(name, Status.WRONG, f"{place} is no directory", remedy, {"directory": str(directory)})
    free = shutil.disk_usage(place).free
    values = {"directory": str(directory), "free_bytes": free}
    text = f"{directory}: {free / _GIB:.1f} GiB free"
    if not os.access(place, os.W_OK | os.X_OK):
        return Finding(
            name, Status.WRONG, f"{directory}: this user may not write there", f"chown or chmod {place}", values
        )
    if free < _FREE_DISK:
        return Finding(name, Status.SLOW, text, "make room: a full disk refuses writes, and reads go on", values)
    return Finding(name, Status.OK, text, "", values)


def exists(place: Path) -> bool:
    """Whether there is something, as far as this user may look."""
    try:
        return place.exists()
    except OSError:  # this user may not look there
        return False


def descriptors() -> Finding:
    """How many files and connections this process may hold."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    values = {"soft": soft, "hard": hard}
    if hard != resource.RLIM_INFINITY and hard < _DESCRIPTORS:
        remedy = "raise it for the service (LimitNOFILE= of systemd, --ulimit nofile= of Docker)"
        return Finding("descriptors", Status.SLOW, f"{hard} at most: few clients can be connected", remedy, values)
    return Finding("descriptors", Status.OK, f"{soft}, up to {hard}", "", values)


def contained() -> Finding:
    """What the system has to hold the processes that read what strangers sent: decoders are held by all of it."""
    held = in_force()
    values = {"parts": list(held.parts), "may": list(held.may)}
    if not held.may:
        text = f"by {held}: the decoders reach no network, write nothing and start nothing"
        return Finding("containment", Status.OK, text, "", values)
    remedy = "take Linux 5.13 or later with Landlock switched on (lsm=landlock,...), and a container that permits it"
    return Finding("containment", Status.SLOW, f"in part, by {held}", remedy, values)


def looked_at(needed_bytes: int, work_bytes: int = 0) -> Iterator[Finding]:
    """This machine, for models of so many bytes and requests that may take so many."""
    yield processor(frozenset(cpu_features()), platform.machine())
    yield from cores(os.getloadavg()[0], usable_cores(), os.cpu_count() or 1, _cpufreq("scaling_governor"))
    yield memory(_available(), needed_bytes, _limit(), work_bytes)
    yield descriptors()
    yield contained()


def _drives_itself() -> bool:
    """Whether the processor chooses its frequency itself, where powersave means balanced."""
    return _cpufreq("scaling_driver") in ("intel_pstate", "amd-pstate-epp")


def _cpufreq(name: str) -> str:
    """What the kernel says of the first core's frequency; empty where it says nothing."""
    try:
        return Path("/sys/devices/system/cpu/cpu0/cpufreq", name).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _available() -> int:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _limit() -> int | None:
    """The tightest of the limits of the container or service and of this process."""
    limits = []
    for text in cgroup_values("memory.max"):
        with suppress(ValueError):  # "max": none
            limits.append(int(text))
    if (soft := resource.getrlimit(resource.RLIMIT_AS)[0]) != resource.RLIM_INFINITY:
        limits.append(soft)
    return min(limits, default=None)
