"""Becomes another program that ends with the server, contained: `python -m …started PARENT LISTENS PROGRAM ARGUMENT…`.

llama-server does not look after its parent. The system's promise to end a process with its parent outlives an exec, and
so does containment. LISTENS is "unix" or "tcp", or empty where the program is not contained.
"""

import os
import sys
from pathlib import Path
from typing import Any

from quizglass_server.containment import contain
from quizglass_server.parent_death import die_with_parent

_NICE = 5
"""Threads that compute give way to those that answer."""


def main() -> None:
    """Promise, give way, be contained, and become the program."""
    listens: Any
    parent, listens, *command = sys.argv[1:]
    if int(parent):
        die_with_parent(int(parent))
    os.nice(_NICE)
    try:
        if listens:
            contain(Path(command[0]), listens)
        os.execv(command[0], command)  # noqa: S606 - what the server's own launcher names
    except OSError as error:
        print(f"E cannot execute {command[0]}: {error.strerror}", file=sys.stderr)
        raise SystemExit(126) from None


if __name__ == "__main__":
    main()
