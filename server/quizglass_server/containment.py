"""Takes from a child process what it does not need: the network, writing files, starting other processes.

For processes that read what strangers sent (pictures, markup, prompts, model files). Each of three parts of Linux is
used where it is there: no_new_privs, Landlock (files), seccomp (system calls). What one contains outlives an exec.
Imports little, and nothing of the server, as its users do.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _PR_GET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 21, 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""Numbers of Landlock's system calls, the same on every architecture."""
_RULESET_VERSION, _PATH_BENEATH = 1, 1

_EXECUTE, _WRITE_FILE, _TRUNCATE = 1 << 0, 1 << 1, 1 << 14
_CHANGES = sum(1 << bit for bit in range(4, 13))
"""Making and removing files of all kinds."""
_REFER = 1 << 13
_SINCE = {2: _REFER, 3: _TRUNCATE}
"""By the version of Landlock that knows them."""
_OF_FILES = _WRITE_FILE | _TRUNCATE
_SCOPES, _SCOPED = 0b11, 6
"""Abstract Unix sockets and signals to processes outside, and the version that knows them."""

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CALLS: dict[str, dict[str, int]] = {
    "x86_64": {
        **{"connect": 42, "sendto": 44, "socket": 41, "clone": 56, "fork": 57, "vfork": 58, "execve": 59},
        **{"ptrace": 101, "process_vm_writev": 311, "execveat": 322, "bpf": 321, "io_uring_setup": 425, "clone3": 435},
        **{"unshare": 272, "setns": 308, "mount": 165, "pidfd_getfd": 438, "process_vm_readv": 310},
    },
    "aarch64": {
        **{"connect": 203, "sendto": 206, "socket": 198, "clone": 220, "execve": 221},
        **{"ptrace": 117, "process_vm_writev": 271, "execveat": 281, "bpf": 280, "io_uring_setup": 425, "clone3": 435},
        **{"unshare": 97, "setns": 268, "mount": 40, "pidfd_getfd": 438, "process_vm_readv": 270},
    },
}
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_LOAD, _EQUAL, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x45, 0x54, 0x06
_X32 = 0x40000000
"""Marks x86-64's other numbers for the same calls."""
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
"""Where a filter finds what is called: struct seccomp_data."""
_THREAD = 0x00010000
_AF_UNIX, _STREAM, _KIND = 1, 1, 0xF
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long
_LOADERS = (b"/lib64/ld-linux-x86-64.so.2", b"/lib/ld-linux-aarch64.so.1")
_CARDS = ("nvidiactl", "kfd", "dri")
_LANDLOCK, _FILTERS = "landlock", "seccomp"
Listens = Literal["", "unix", "tcp"]
DEVICES = "write to devices"
"""What a generator may that computes on a card."""


class NotContained(OSError):
    """The system offers a part and does not let it be used."""


def offered() -> tuple[str, ...]:
    """The parts that this system has, by name."""
    if sys.platform != "linux":
        return ()
    version = _landlock_version()
    parts = ("no_new_privs", f"{_LANDLOCK} {version}" if version else "", _FILTERS if _filters() else "")
    return tuple(filter(None, parts))


@dataclass(frozen=True, slots=True)
class Containment:
    """What `contain` leaves a process."""

    parts: tuple[str, ...]
    """By which it is contained, as `offered` names them."""
    may: tuple[str, ...]
    """Rights that it has beyond those of a contained process, in words."""

    def __str__(self) -> str:
        """For the ready line and the doctor."""
        held = ", ".join(self.parts) or "nothing"
        return f"{held}; may {', '.join(self.may)}" if self.may else held


def in_force(program: Path | None = None, listens: Listens = "") -> Containment:
    """What a process is contained by that contains itself with the same arguments: see `contain`."""
    script = _is_script(program)
    parts = tuple(part for part in offered() if not (script and part.startswith(_LANDLOCK)))
    files, calls = (any(part.startswith(name) for part in parts) for name in (_LANDLOCK, _FILTERS))
    may = {
        "start programs": script or not calls,
        "write files": not files,
        "open sockets of the network": listens == "tcp" or not calls,
        DEVICES: files and bool(listens) and _has_card(),
    }
    return Containment(parts, tuple(what for what, granted in may.items() if granted))


def contain(program: Path | None = None, listens: Listens = "") -> None:
    """Contain this process, for good: it reads files, computes, and uses what it has open.

    Args:
        program: that it is about to become; None: it executes nothing, and neither does it start processes. Where that
            is a script, it starts what it likes, and writes where this user may: what it needs is not known.
        listens: what it takes connections on, if it does; it makes none by itself. On a Unix socket it has no other
            network. It may write in its working directory then, and to the devices of a card.

    Raises:
        NotContained: a part that the system offers cannot be used.
    """
    if sys.platform != "linux":
        return
    script = _is_script(program)
    _checked(_LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    if not script and (version := _landlock_version()):
        _landlock(version, program, _written() if listens else ())
    if _filters():
        _seccomp(_filter(_left_out(program, listens, script=script), unix=listens == "unix"))


def _is_script(program: Path | None) -> bool:
    if program is None:
        return False
    with program.open("rb") as file:
        return file.read(2) == b"#!"


def _has_card() -> bool:
    return any((Path("/dev") / card).exists() for card in _CARDS)


def _written() -> Iterator[Path]:
    yield Path.cwd()
    yield Path(os.devnull)
    if _has_card():
        yield Path("/dev")


def _left_out(program: Path | None, listens: Listens, *, script: bool) -> set[str]:
    """Calls that are not refused."""
    executing = {"execve"} if program is not None else set()
    starting = {"clone", "fork", "vfork"} if script else set()
    network = {"socket", "sendto"} if listens == "tcp" else {"sendto"} if listens else set()
    return executing | starting | network


def _checked(result: int, part: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise NotContained(number, f"{part}: {os.strerror(number)}")
    return result


def _call(number: int, *arguments: object) -> int:
    result: int = _LIBC.syscall(ctypes.c_long(number), *arguments)
    return result


def _landlock_version() -> int:
    """0 where the kernel has none, or it is switched off."""
    return max(0, _call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_RULESET_VERSION)))


def _landlock(version: int, program: Path | None, writes: Iterable[Path]) -> None:
    changes = _WRITE_FILE | _CHANGES | sum(bits for since, bits in _SINCE.items() if version >= since)
    attributes = struct.pack("=QQQ", changes | _EXECUTE, 0, _SCOPES if version >= _SCOPED else 0)
    size = len(attributes) if version >= _SCOPED else struct.calcsize("=Q")
    ruleset = _checked(_call(_CREATE_RULESET, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0)), "landlock")
    try:
        for path in () if program is None else _executed(program):
            _allow(ruleset, path, _EXECUTE)
        for path in writes:
            _allow(ruleset, path, changes & ~_REFER if path.is_dir() else changes & _OF_FILES)
        _checked(_call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)), "landlock")
    finally:
        os.close(ruleset)


def _executed(program: Path) -> Iterator[Path]:
    """What the system opens to execute a program: it, and the loader that it names."""
    yield program
    with program.open("rb") as file:
        head = file.read(4096)
    for loader in _LOADERS:
        if loader in head and Path(os.fsdecode(loader)).exists():
            yield Path(os.fsdecode(loader))


def _allow(ruleset: int, path: Path, accesses: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = struct.pack("=Qi", accesses, place)
        _checked(
            _call(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0)),
            f"landlock: {path}",
        )
    finally:
        os.close(place)


def _filters() -> bool:
    """Whether system calls can be filtered here, and it is known how they are numbered."""
    return platform.machine() in _CALLS and _LIBC.prctl(_PR_GET_SECCOMP, 0, 0, 0, 0) >= 0


def _seccomp(instructions: list[bytes]) -> None:
    code = ctypes.create_string_buffer(b"".join(instructions))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(instructions), ctypes.addressof(code)))
    _checked(_LIBC.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program, 0, 0), "seccomp")


def _filter(left_out: set[str], *, unix: bool) -> list[bytes]:
    """A program of the kernel's packet filter, seccomp(2): all calls are allowed but some."""
    machine = platform.machine()
    refuse = _instruction(_RETURN, _REFUSE | errno.EPERM)
    missing = _instruction(_RETURN, _REFUSE | errno.ENOSYS)
    allow = _instruction(_RETURN, _ALLOW)
    threads_alone = [_instruction(_LOAD, _FIRST), _instruction(_ANY_BIT, _THREAD, 1, 0), refuse, allow]
    unix_streams_alone = [
        *(_instruction(_LOAD, _FIRST), _instruction(_EQUAL, _AF_UNIX, 1, 0), refuse),
        *(_instruction(_LOAD, _SECOND), _instruction(_AND, _KIND), _instruction(_EQUAL, _STREAM, 1, 0), refuse),
        allow,
    ]
    # glibc goes on with clone where there is no clone3, whose flags a filter cannot see.
    answers = {"clone": threads_alone, "clone3": [missing], **({"socket": unix_streams_alone} if unix else {})}
    code = [
        *(_instruction(_LOAD, _ARCHITECTURE), _instruction(_EQUAL, _ARCHITECTURES[machine], 1, 0), missing),
        *(_instruction(_LOAD, _NUMBER), _instruction(_ANY_BIT, _X32, 0, 1), missing),
    ]
    for name, number in _CALLS[machine].items():
        if name not in left_out:
            code += _when(number, answers.get(name, [refuse]))
    return [*code, allow]


def _when(number: int, then: list[bytes]) -> list[bytes]:
    """Do something for a call by its number, which `then` must end with."""
    return [_instruction(_EQUAL, number, 0, len(then)), *then]


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
