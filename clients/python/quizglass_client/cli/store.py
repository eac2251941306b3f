"""`quizglass knowledge verify`, `repair`, `snapshot` and `restore`: they work on files, on the machine these are on.

The server's package does the work, in a process of its own: the client needs nothing of it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib.util import find_spec

from quizglass_client.cli import subcommands
from quizglass_client.sync import Client
from quizglass_client.terminal.usage import FAILED, UsageError

_MODULE = "quizglass_server.knowledge"
_NEEDED = ("quizglass_server", "numpy", "hnswlib")
_PATHS = {"verify": ("DIR",), "repair": ("DIR",), "snapshot": ("DIR", "TARGET"), "restore": ("SNAPSHOT", "DIR")}


def add_commands(commands: subcommands.Subcommands) -> None:
    """Declare the commands on files, which need no server."""
    for name, paths in _PATHS.items():
        made = commands.add(name, run)
        made.set_defaults(action=name, calls_server=False)
        for path in paths:
            subcommands.folder(made.add_argument("path", action="append", metavar=path))


def run(_client: Client, arguments: argparse.Namespace) -> int:
    """Run the server package's command of the same name. 0 all is well, 1 something is damaged or lost."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise UsageError(f"{arguments.action} needs {missing[0]}; in the clone: pip install '.[server]'")
    command = [sys.executable, "-m", _MODULE, arguments.action, *arguments.path]
    told = ["--json"] if arguments.json else []
    status = subprocess.run([*command, *told], stdin=subprocess.DEVNULL, check=False).returncode  # noqa: S603
    return status if status in (0, FAILED) else FAILED
