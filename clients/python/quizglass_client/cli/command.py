"""The command line: what can be typed, and what it calls."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

import shtab

from quizglass_client.channel import DEFAULT_TARGET
from quizglass_client.cli import about, ask, chat, exporting, importing, knowledge, memory, store, walk
from quizglass_client.cli.tuning import tune
from quizglass_client.errors import ClientError
from quizglass_client.sync import Client
from quizglass_client.terminal.output import FAILED, INTERRUPTED, USAGE, UsageError, report, say

SERVER_VARIABLE = "QUIZGLASS_SERVER"
Command = Callable[[Client, argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns:
        0 done, 1 failed, 2 wrong usage, 3 server not available, 130 interrupted.
    """
    arguments = parser().parse_args(argv)
    command: Command = arguments.command
    try:
        with Client(arguments.server) as client:
            return command(client, arguments)
    except UsageError as error:
        say(str(error))
        return USAGE
    except ClientError as error:
        return report(error, arguments.server, budgeted="budget" in arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has seen enough; without this, Python complains again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except MemoryError:
        say("there is not enough memory for that")
        return FAILED
    except OSError as error:  # of a file that was named on the command line
        say(f"{error.filename or 'a file'}: {error.strerror or error}")
        return FAILED


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    top = argparse.ArgumentParser(prog="quizglass", description="Ask a quizglass server about pictures.")
    top.add_argument("--version", action="version", version=f"quizglass {version('quizglass')}")
    shtab.add_argument_to(top, "--print-completion", help="print a completion script for a shell, e.g. bash or zsh")
    server = os.environ.get(SERVER_VARIABLE) or DEFAULT_TARGET
    help_text = f"address of the server (default {DEFAULT_TARGET}, or {SERVER_VARIABLE})"
    top.add_argument("--server", metavar="HOST:PORT", default=server, help=help_text)
    common = argparse.ArgumentParser(add_help=False)
    # SUPPRESS: after the command it overrides what stood before it, and its absence overrides nothing.
    common.add_argument("--server", metavar="HOST:PORT", default=argparse.SUPPRESS, help=help_text)
    common.add_argument("--json", action="store_true", help="print JSON, one object a line")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    _add_ask(commands, common)
    _add_chat(commands, common)
    made = _command(
        commands, common, "walk", walk.walk, "replay a recorded walk and report the times that are perceived"
    )
    _file(made.add_argument("file", metavar="FILE", type=Path, help="JSON lines; docs/session.md says what they hold"))
    knowledge_help = "add, list, delete and search what the server can look up"
    below = commands.add_parser("knowledge", help=knowledge_help, description=knowledge_help.capitalize() + ".")
    below_knowledge = below.add_subparsers(metavar="COMMAND", required=True)
    _add_knowledge(below_knowledge, common)
    _add_store(below_knowledge, common)
    memory_help = "search and forget what the server has seen"
    below = commands.add_parser("memory", help=memory_help, description=memory_help.capitalize() + ".")
    _add_memory(below.add_subparsers(metavar="COMMAND", required=True), common)
    _command(commands, common, "capabilities", about.capabilities, "show what the server can do")
    _command(commands, common, "health", about.health, "tell whether the server takes requests")
    return top


_Commands = argparse._SubParsersAction  # argparse has no public name for it


def _command(
    commands: _Commands[argparse.ArgumentParser],
    common: argparse.ArgumentParser,
    name: str,
    command: Command,
    summary: str,
) -> argparse.ArgumentParser:
    made = commands.add_parser(name, parents=[common], help=summary, description=summary.capitalize() + ".")
    made.set_defaults(command=command)
    return made


def _add_chat(commands: _Commands[argparse.ArgumentParser], common: argparse.ArgumentParser) -> None:
    summary = "talk about pictures: a session that goes on when the link breaks"
    made = _command(commands, common, "chat", chat.chat, summary)
    _file(made.add_argument("pictures", metavar="PICTURE", nargs="*", help="shown before the first question"))
    made.add_argument("--policy", default="", help="one that `quizglass capabilities` lists (default: the server's)")
    made.add_argument("--budget", type=float, metavar="SECONDS", help="time to answer in")
    made.add_argument("--local-only", action="store_true", help="ask only what stays on the server's machine")
    words = 'of an answer, at most; "Go on" says the rest'
    made.add_argument("--words", type=_count, default=0, metavar="N", help=words)
    made.add_argument("--columns", type=_count, default=0, metavar="N", help="show answers as on a display so wide")
    made.add_argument("--lines", type=_count, default=0, metavar="N", help="and of so many lines")
    made.add_argument("--spoken", action="store_true", help="write numbers and units as they are said, without markup")
    made.add_argument(
        "--lead-in",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="say something if nothing is there by then",
    )


def _add_ask(commands: _Commands[argparse.ArgumentParser], common: argparse.ArgumentParser) -> None:
    made = _command(commands, common, "ask", ask.ask, "ask a question about a picture")
    _file(made.add_argument("picture", metavar="PICTURE", help='JPEG, PNG, WebP or HEIC file; "-" for none'))
    made.add_argument("question", metavar="QUESTION")
    made.add_argument("--policy", default="", help="one that `quizglass capabilities` lists (default: the server's)")
    made.add_argument("--budget", type=float, metavar="SECONDS", help="time to answer in (default: 30)")
    _file(
        made.add_argument(
            "--session",
            type=Path,
            metavar="FILE",
            help="go on with the dialogue of that file, which is made, and written after every answer",
        )
    )
    made.add_argument("--session-id", default="", metavar="NAME", help="a name of the dialogue, for the memory")
    made.add_argument("--remember", action="store_true", help="let the server remember the picture")
    made.add_argument(
        "--recall", action="store_true", help='let it answer "When did I last see this?" from what it has seen'
    )
    history = "an earlier question about the picture and its answer; repeat, oldest first"
    made.add_argument("--history", action="append", default=[], metavar="Q=A", help=history)
    explain = "show every step with what it was given, what it brought, and when"
    made.add_argument("--explain", action="store_true", help=explain)
    trace = "write the steps there: *.json for programs, *.html a page with crops and evidence"
    _file(made.add_argument("--trace", type=Path, metavar="FILE", help=trace))


def _add_knowledge(commands: _Commands[argparse.ArgumentParser], common: argparse.ArgumentParser) -> None:
    _add_import(commands, common)
    made = _command(commands, common, "add", knowledge.add, "add or replace one entry")
    for name in ("id", "title"):
        made.add_argument(f"--{name}", required=True)
    for name in ("text", "caption", "kind", "source", "language"):
        made.add_argument(f"--{name}", default="")
    made.add_argument("--text-format", choices=("markdown", "html"), default="", help="of --text (default: plain)")
    made.add_argument(
        "--expires-after", type=int, default=0, metavar="SECONDS", help="delete it by itself after so long"
    )
    made.add_argument("--attribute", action="append", default=[], metavar="KEY=VALUE", help="a fact; repeat")
    _file(made.add_argument("--picture", action="append", default=[], metavar="FILE", help="a picture of it; repeat"))
    made = _command(commands, common, "search", knowledge.search, "search by text, by picture, or by both")
    made.add_argument("--text", default="")
    several = "a picture of it; repeat for more pictures or crops of the same thing"
    _file(made.add_argument("--picture", action="append", default=[], metavar="FILE", help=several))
    made.add_argument("--limit", type=int, default=5, help="results, 1 to 100 (default 5)")
    for name in ("kind", "source", "language"):
        made.add_argument(
            f"--{name}", action="append", default=[], help=f"only entries of this {name}; repeat for more"
        )
    made.add_argument(
        "--attribute", action="append", default=[], metavar="KEY=VALUE", help="only with this fact; repeat"
    )
    made.add_argument("--per-entry", action="store_true", help="only the best result of each entry")
    made.add_argument("--fold-near-duplicates", action="store_true", help="only the best of pictures that are alike")
    made.add_argument("--mode", choices=("hybrid", "vectors", "keywords"), default="", help="how --text is searched")
    _command(commands, common, "list", knowledge.list_entries, "list all entries")
    _command(commands, common, "get", knowledge.get, "show one entry").add_argument("id")
    _command(commands, common, "delete", knowledge.delete, "delete one entry").add_argument("id")
    _command(commands, common, "compact", knowledge.compact, "remove what deleted entries have left in the files")
    _add_tune(commands, common)


def _add_tune(commands: _Commands[argparse.ArgumentParser], common: argparse.ArgumentParser) -> None:
    made = _command(commands, common, "tune", tune.tune, "propose the bundle's thresholds from what the store holds")
    entries = "entries looked up by their own pictures (default 200)"
    made.add_argument("--entries", type=_count, default=200, metavar="N", help=entries)
    questions = "questions asked, where the bundle reranks (default 100)"
    made.add_argument("--questions", type=_count, default=100, metavar="N", help=questions)
    keep = "share of the right scores that are to pass, above 0 to 1 (default 0.99)"
    made.add_argument("--keep", type=_share, default=0.99, metavar="SHARE", help=keep)


def _count(text: str) -> int:
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")


def _share(text: str) -> float:
    try:
        if 0 < (share := float(text)) <= 1:
            return share
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not a share above 0 to 1")


def _add_import(commands: _Commands[argparse.ArgumentParser], common: argparse.ArgumentParser) -> None:
    made = _command(commands, common, "import", importing.import_entries, "import a folder or a file of entries")
    what = "entries.jsonl or a folder with it, CSV, Parquet, a MediaWiki dump, or a folder of texts and pictures"
    _file(made.add_argument("path", type=Path, metavar="DIR|FILE", help=what))
    resume = "remembers there how far it got, and goes on from there when it is given again"
    _file(made.add_argument("--resume", type=Path, metavar="FILE", help=resume))
    report = "write what was refused there, as JSON lines"
    _file(made.add_argument("--report", type=Path, metavar="FILE", help=report))
    outside = "let pictures and documents lie outside of the folder; only for files that you trust"
    made.add_argument("--allow-outside", action="store_true", help=outside)
    compare = "of a folder: say which pictures the server cannot tell apart, by looking each of them up"
    made.add_argument("--compare", action=argparse.BooleanOptionalAction, default=True, help=compare)
    made = _command(commands, common, "export", exporting.export, "write all entries to a folder that can be imported")
    _folder(made.add_argument("folder", type=Path, metavar="DIR"))


def _add_store(commands: _Commands[argparse.ArgumentParser], common: argparse.ArgumentParser) -> None:
    """Commands on files, which need no server."""
    for name, summary, paths in (
        ("verify", "look whether a store's files are as they were written", ("DIR",)),
        ("repair", "keep what is sound of a damaged store", ("DIR",)),
        ("snapshot", "copy a store as of one moment while its server writes on", ("DIR", "TARGET")),
        ("restore", "put a snapshot in the place of a store", ("SNAPSHOT", "DIR")),
    ):
        made = _command(commands, common, name, store.run, summary)
        made.set_defaults(action=name)
        _folder(made.add_argument("path", nargs=len(paths), metavar=paths if len(paths) > 1 else paths[0]))


def _add_memory(commands: _Commands[argparse.ArgumentParser], common: argparse.ArgumentParser) -> None:
    made = _command(commands, common, "search", memory.search, "find when something was seen, the latest first")
    shown = "what it looks like: JPEG, PNG, WebP or HEIC file (default: whatever was seen last)"
    _file(made.add_argument("picture", metavar="PICTURE", nargs="?", help=shown))
    made.add_argument("--text", default="", help="words of the question, the answer, or what was recognised")
    _add_sightings(made)
    made.add_argument("--limit", type=int, default=5, help="results, 1 to 100 (default 5)")
    made.add_argument("--best", action="store_true", help="the most similar first")
    least = "least similarity to the picture, -1 to 1 (default: what the server takes for the same thing)"
    made.add_argument("--least-score", type=float, default=0.0, metavar="COSINE", help=least)
    small = "save the small pictures there, by the name of the turn"
    _folder(made.add_argument("--thumbnails", type=Path, metavar="DIR", help=small))
    made = _command(commands, common, "forget", memory.forget, "forget what was seen in a time, a session or a frame")
    _add_sightings(made)
    made.add_argument("--everything", action="store_true", help="forget all of it")
    _command(commands, common, "compact", memory.compact, "remove what is forgotten from the files")
    _command(commands, common, "stats", memory.stats, "show how much is remembered")


def _add_sightings(made: argparse.ArgumentParser) -> None:
    made.add_argument("--session-id", default="", metavar="NAME", help="only of this session")
    _file(made.add_argument("--frame", default="", metavar="FILE|SHA256", help="only of exactly this picture"))
    made.add_argument("--since", default="", metavar="TIME", help="from then on: 2026-11-21T14:05, or 2h, 3d (ago)")
    made.add_argument("--until", default="", metavar="TIME", help="before then")


def _file(argument: argparse.Action) -> None:
    """Have shells complete file names."""
    argument.complete = shtab.FILE  # type: ignore[attr-defined]


def _folder(argument: argparse.Action) -> None:
    """Have shells complete names of folders."""
    argument.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
