"""The commands that the documentation shows are commands: each is parsed as its program would parse it."""

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import render
from quizglass_client.cli import command
from quizglass_export import cli as export_cli
from quizglass_lab import cli as lab_cli
from quizglass_server import cli as server_cli

PARSERS = {
    "quizglass": command.parser,
    "quizglass-server": server_cli.build_parser,
    "quizglass-export": export_cli.build_parser,
    "quizglass-lab": lab_cli.build_parser,
}
ROOT = Path(__file__).parents[2]
_FROM_INDEX = re.compile(r"\binstall ['\"]?quizglass\b(?!-)")
_SHELL = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def _shown(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Program and arguments of every line of a shell example that starts one of ours."""
    for block in _SHELL.findall(path.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            program, *arguments = shlex.split(line, comments=True) or [""]
            if (name := program.removeprefix(".venv/bin/")) in PARSERS:
                yield name, arguments


@pytest.mark.parametrize("path", render.documents(), ids=lambda path: path.name)
def test_commands_are_understood(path: Path) -> None:
    for name, arguments in _shown(path):
        try:
            PARSERS[name]().parse_args(arguments)
        except (SystemExit, Exception) as error:
            pytest.fail(f"{path.name}: {shlex.join([name, *arguments])}: {error}")


def test_examples_are_found() -> None:
    assert {name for path in render.documents() for name, _ in _shown(path)} == set(PARSERS)


@pytest.mark.parametrize("folder", ["protos", "server", "export", "clients", "docs"])
def test_no_page_says_to_install_from_an_index(folder: str) -> None:
    """No package index has quizglass; a name that pip asks one for could be anybody's."""
    for path in (ROOT / folder).rglob("*"):
        if path.suffix in {".py", ".md", ".ts", ".java"} and "node_modules" not in path.parts:
            assert not _FROM_INDEX.search(path.read_text(encoding="utf-8")), path


def _levels(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser and those of all commands below it."""
    yield parser
    for action in parser._actions:  # argparse lists them nowhere else
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _levels(below)


@pytest.mark.parametrize("program", PARSERS)
def test_every_command_tells_what_it_takes(program: str) -> None:
    for level in _levels(PARSERS[program]()):
        assert level.format_help().startswith(f"usage: {program}")
