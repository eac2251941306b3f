"""How a child process ends with its parent, however that ends.

Imports little, and nothing of the server: children that are to start fast and stay small import it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Have the system kill this process when its parent ends; leave at once if that has happened already.

    Linux only (`prctl(2)`, PR_SET_PDEATHSIG); elsewhere nothing is done. The system goes by the thread that started
    this process: that has to live as long as the child is to.

    Args:
        parent: process id of the parent.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)
