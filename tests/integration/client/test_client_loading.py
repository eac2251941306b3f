"""What the client loads, and when: gRPC and all else take a quarter of a second, which help need not."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import quizglass_client

_HEAVY = (
    "grpc",
    "google.protobuf",
    "numpy",
    "PIL",
    "rich",
    "asyncio",
    "shtab",
    "logging",
    "quizglass.v1",
    "quizglass_client.sync",
)
_RUN = """
import json, sys
from contextlib import redirect_stdout
from io import StringIO
{}
print(json.dumps(sorted(sys.modules)))
"""
_COMMAND = """
from quizglass_client.cli import main
with redirect_stdout(StringIO()) as out:
    try:
        main({!r})
    except SystemExit:
        pass
assert {!r} in out.getvalue(), out.getvalue()
"""


def _loaded(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", _RUN.format(code)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return [name for name in _HEAVY if name in json.loads(done.stdout)]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--help"], "replay a recorded walk"),
        (["--version"], "quizglass "),
        (["knowledge", "--help"], "put a snapshot in the place of a store"),
    ],
)
def test_help_and_version_load_neither_grpc_nor_commands(words: list[str], says: str) -> None:
    assert _loaded(_COMMAND.format(words, says)) == []


def test_an_interrupt_while_a_command_loads_ends_it_without_a_traceback() -> None:
    interrupted = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "quizglass_client.cli.chat":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
from quizglass_client.cli import main
sys.exit(main(["chat"]))
"""
    done = subprocess.run([sys.executable, "-c", interrupted], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["ask", "--help"], "--session-id"),
        (["--json", "memory", "search", "--help"], "--least-score"),
        (["knowledge", "tune", "--help"], "--keep"),
        (["--print-completion=bash"], "--least-score"),
        (["--print-comp", "bash"], "--fold-near-duplicates"),
    ],
)
def test_commands_that_are_named_are_whole(words: list[str], says: str) -> None:
    _loaded(_COMMAND.format(words, says))


def test_a_completion_script_completes_files_and_folders() -> None:
    for says in ("_shtab_quizglass_ask___ca_COMPGEN=_shtab_compgen_files", "_COMPGEN=_shtab_compgen_dirs"):
        _loaded(_COMMAND.format(["--print-completion", "bash"], says))


def test_the_package_is_loaded_by_the_first_of_its_names() -> None:
    assert _loaded("import quizglass_client") == []
    assert "grpc" in _loaded("from quizglass_client import Client")
    assert _loaded("import quizglass_client; quizglass_client.names.__doc__") == []


def test_all_that_the_package_offers_is_there() -> None:
    assert {name for name in quizglass_client.__all__ if not hasattr(quizglass_client, name)} == set()
    assert set(quizglass_client.__all__) <= set(dir(quizglass_client))
    for name in ("Clients", "clients", "_clients"):
        with pytest.raises(AttributeError, match=name):
            getattr(quizglass_client, name)
