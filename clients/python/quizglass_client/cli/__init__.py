"""The `quizglass` command; what it prints and imports needs the extra `cli`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

_EXTRA = ("rich", "shtab", "PIL", "markdown_it", "yaml")
"""Modules of the packages that the extra brings."""
_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; see `command.main`. Returns 2 where the extra `cli` is not installed, 130 if it is interrupted
    while it loads."""
    try:
        from quizglass_client.cli.command import main as run

        return run(argv)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        print(f"quizglass: the command needs {error.name}; in the clone: pip install '.[cli]'", file=sys.stderr)
        return 2
