"""What the control groups of this process (cgroup v2) allow it: its own group, and those that this one lies in.

A container finds its group at the root of the mounted tree, a service of systemd in a folder somewhere below it.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_ROOT, _MEMBERSHIP = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_UNIFIED = "0::/"
"""What the line of cgroup v2 begins with, before the group's folder."""


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
