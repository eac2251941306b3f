"""The whole command line; what each command takes is declared beside what it does, and loaded where it is named."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Collection, Sequence

from quizglass import __version__
from quizglass.text import escape_unencodable_output
from quizglass_client.cli import subcommands
from quizglass_client.cli.subcommands import Subcommands, parsed
from quizglass_client.terminal.usage import FAILED

_COMPLETION = "--print-completion"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns:
        0 done, 1 failed, 2 wrong usage, 3 server not available, 130 interrupted.
    """
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # what libraries find strange in a file is nothing that its owner can act on
    escape_unencodable_output()
    words = sys.argv[1:] if argv is None else argv
    everything = any(_COMPLETION.startswith(word.partition("=")[0]) for word in words if word.startswith("--p"))
    try:
        arguments = parsed(parser(None if everything else words), words)

        from quizglass_client.cli.connecting import run  # with gRPC, which --help does not need

        status = run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except OSError:  # whoever read the output has seen enough, or what is left of it cannot be written, as was said
        # Without this, Python complains again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def parser(words: Collection[str] | None = None) -> argparse.ArgumentParser:
    """The parser of the command line.

    Args:
        words: of a command line; only what these name is whole. None: all of it.
    """
    top = argparse.ArgumentParser(prog="quizglass", description="Ask a quizglass server about pictures.")
    top.add_argument("--version", action="version", version=f"quizglass {__version__}")
    completion = "print a completion script for a shell, e.g. bash or zsh"
    if words is None:
        import shtab

        shtab.add_argument_to(top, _COMPLETION, help=completion)
    else:
        top.add_argument(_COMPLETION, metavar="SHELL", help=completion)
    subcommands.server(top)
    common = argparse.ArgumentParser(add_help=False)
    subcommands.server(common, again=True)
    common.add_argument("--json", action="store_true", help="print JSON, one object a line")
    commands = Subcommands(top, common, words)
    commands.of("ask", {"ask": "ask a question about a picture"})
    commands.of("chat", {"chat": "talk about pictures: a session that goes on when the link breaks"})
    commands.of("walk", {"walk": "replay a recorded walk and report the times that are perceived"})
    _add_knowledge(commands.group("knowledge", "add, list, delete and search what the server can look up"))
    _add_memory(commands.group("memory", "search and forget what the server has seen"))
    about = {
        "capabilities": "show what the server can do",
        "health": "tell whether the server takes requests",
        "top": "watch the server's metrics, until interrupted",
        "explain": "tell what became of one of the server's latest turns, without its content",
    }
    commands.of("about", about)
    commands.of("connecting", {"pair": "get a token for the link or code that an operator shows, and keep it"})
    return top


def _add_knowledge(commands: Subcommands) -> None:
    commands.of("importing", {"import": "import texts and pictures, a folder, or a file of entries"})
    commands.of("exporting", {"export": "write all entries to a folder that can be imported"})
    entries = {
        "add": "add a thing of your own, or change one: pictures of it, and what there is to know",
        "search": "search by text, by picture, or by both",
        "list": "list all entries",
        "get": "show one entry",
        "delete": "delete entries",
        "compact": "remove what deleted entries have left in the files",
    }
    commands.of("knowledge", entries)
    commands.of("tune", {"tune": "propose the bundle's thresholds from what the store holds"})
    files = {
        "verify": "look whether a store's files are as they were written",
        "repair": "keep what is sound of a damaged store",
        "snapshot": "copy a store as of one moment while its server writes on",
        "restore": "put a snapshot in the place of a store",
    }
    commands.of("store", files)


def _add_memory(commands: Subcommands) -> None:
    sightings = {
        "search": "find when something was seen, the latest first",
        "forget": "forget what was seen in a time, a session or a frame",
        "compact": "remove what is forgotten from the files",
        "stats": "show how much is remembered",
    }
    commands.of("memory", sightings)
