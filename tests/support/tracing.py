"""What a process and its children do to the network and to files, C libraries included."""

from __future__ import annotations

import os
import re
import shutil
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench.processes import children

STRACE = shutil.which("strace")
_NETWORK = "socket,connect,bind,sendto,sendmsg,sendmmsg"
_FILES = "open,openat,openat2,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,symlink,symlinkat"
_CALL = re.compile(r"^(?:\[pid +)?\d*\]? *(?P<name>\w+)\((?P<given>.*)\) += (?P<result>-?\d+)")
_ADDRESS = re.compile(r"sin6?_port=htons\((\d+)\).*?(?:inet_addr\(|inet_pton\(AF_INET6, )\"([^\"]+)\"")
_PATH = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass
class Seen:
    """What was done."""

    reached: set[tuple[str, str, int]] = field(default_factory=set)
    """(call, address, port) of everything that was sent or connected to, or bound, over IP."""
    written: set[str] = field(default_factory=set)
    """Paths that were made, opened for writing or renamed to."""


def clean_environment(folder: Path) -> dict[str, str]:
    """The environment of a user who has set nothing, at home in empty folders; none of a continuous integration."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CI", "GITHUB_", "XDG_", "ORT_", "HF_", "MPL", "TORCH"))
    }
    for name in ("HOME", "TMPDIR"):
        path = folder / name.lower()
        path.mkdir(parents=True)
        environment[name] = str(path)
    return environment


def files_in(*folders: Path) -> list[str]:
    """Everything inside."""
    return sorted(str(path) for folder in folders for path in folder.rglob("*"))


def traced(command: list[str], log: Path) -> list[str]:
    """The command under strace, where that is installed."""
    if STRACE is None:
        return command
    return [
        STRACE,
        "-f",
        "--seccomp-bpf",
        "-qq",
        "-s",
        "300",
        "-e",
        f"trace={_NETWORK},{_FILES}",
        "-o",
        str(log),
        *command,
    ]


def read_trace(log: Path) -> Seen:
    """What strace saw."""
    seen = Seen()
    pending: dict[str, str] = {}
    for line in log.read_text(errors="replace").splitlines():
        thread, _, rest = line.partition(" ")
        rest = rest.strip()
        if rest.endswith("<unfinished ...>"):
            pending[thread] = rest.removesuffix("<unfinished ...>").rstrip()
            continue
        if (resumed := re.match(r"<\.\.\. \w+ resumed>(.*)", rest)) is not None:
            rest = pending.pop(thread, "") + resumed[1]
        if (call := _CALL.match(rest)) is not None:
            _note(seen, call["name"], call["given"], int(call["result"]))
    return seen


def _note(seen: Seen, name: str, given: str, result: int) -> None:
    if name in ("connect", "bind", "sendto", "sendmsg", "sendmmsg"):
        for port, address in _ADDRESS.findall(given):
            seen.reached.add((name, address.removeprefix("::ffff:"), int(port)))  # tried is as bad as done
    elif name != "socket" and result >= 0:
        opens = name.startswith("open")
        if not opens or re.search(r"O_WRONLY|O_RDWR|O_CREAT", given):
            seen.written.update(_PATH.findall(given)[-1:])


@contextmanager
def watched(roots: Iterable[int]) -> Iterator[Seen]:
    """What can be seen without strace, for as long as the context: sockets of processes and their children.

    A socket that lives shorter than a look at them can be missed; the files that go with it cannot.
    """
    seen, stop = Seen(), threading.Event()

    def look() -> None:
        while not stop.wait(0.005):
            for pid in _families(roots):
                _look_at(pid, seen)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()


def _families(roots: Iterable[int]) -> list[int]:
    pending, found = list(roots), list[int]()
    while pending:
        found.append(pid := pending.pop())
        pending += children(pid)
    return found


def _look_at(pid: int, seen: Seen) -> None:
    inodes, links = set(), list[Path]()
    with suppress(OSError):
        links += Path(f"/proc/{pid}/fd").iterdir()
    for link in links:
        with suppress(OSError):
            target = str(link.readlink())
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    for table in ("udp", "udp6", "tcp", "tcp6"):
        with suppress(OSError):
            for row in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
                cells = row.split()
                address, port = _remote(cells[2])
                if cells[9] in inodes and port:
                    seen.reached.add(("connect", address.removeprefix("::ffff:"), port))


def _remote(cell: str) -> tuple[str, int]:
    packed, _, port = cell.partition(":")
    raw = b"".join(bytes.fromhex(packed[at : at + 8])[::-1] for at in range(0, len(packed), 8))
    family = socket.AF_INET if len(raw) == 4 else socket.AF_INET6
    return socket.inet_ntop(family, raw), int(port, 16)
