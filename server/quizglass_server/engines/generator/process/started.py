"""Becomes another program that ends with the server: `python -m …started PARENT PROGRAM ARGUMENT…`.

llama-server does not look after its parent. The system's promise to end a process with its parent outlives an exec.
"""

import os
import sys

from quizglass_server.parent_death import die_with_parent

_NICE = 5
"""Threads that compute give way to those that answer."""


def main() -> None:
    """Promise, give way, and become the program."""
    parent, *command = sys.argv[1:]
    if int(parent):
        die_with_parent(int(parent))
    os.nice(_NICE)
    try:
        os.execv(command[0], command)  # noqa: S606 - what the server's own launcher names
    except OSError as error:
        print(f"E cannot execute {command[0]}: {error.strerror}", file=sys.stderr)
        raise SystemExit(126) from None


if __name__ == "__main__":
    main()
