"""The command `quizglass-server`: flags to settings, and what its exit status says."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args, get_origin

import shtab
from pydantic.fields import FieldInfo

from quizglass.text import escape_unencodable_output, plain
from quizglass_server import __version__
from quizglass_server.config.load import GROUPS, Settings, as_toml, fields_of, load_settings
from quizglass_server.config.sources import CONFIG_VARIABLE, PREFIX, suggestion
from quizglass_server.errors import (
    BundleError,
    KnowledgeFailed,
    KnowledgeLocked,
    QuizglassError,
    SettingMissing,
    SettingsError,
)
from quizglass_server.network import command as network

logger = logging.getLogger(__name__)

_EPILOG = f"""\
Every flag is also a variable (--max-turns: {PREFIX}MAX_TURNS) and a line of the file (max_turns = 4). Flags go before
variables, variables before the file; unknown names are refused.

Once it serves, one line on standard output gives the address; with --log-format json it is an object with "event":
"ready", "address" and "port". Logs go to standard error. SIGTERM or SIGINT stops it: health turns NOT_SERVING, running
turns finish, then the engines end; a second signal does not wait.

exit status: 0 stopped as told, 1 unexpected failure, 2 wrong setting or address in use, 3 bundle damaged or incomplete,
4 knowledge or memory in use, damaged or out of reach, 5 an engine cannot start, 130 interrupted before it had stopped
"""
_EXIT: tuple[tuple[type[QuizglassError], int], ...] = (
    (SettingsError, 2),
    (BundleError, 3),
    (KnowledgeLocked, 4),
    (KnowledgeFailed, 4),
    (QuizglassError, 5),
)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise SettingsError(message)


def build_parser() -> argparse.ArgumentParser:
    """The command line, made from the settings' fields."""
    parser = _Parser(
        prog="quizglass-server",
        description="Answers questions about pictures over gRPC, from local models and local knowledge.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"quizglass-server {__version__}")
    config = parser.add_argument(
        "--config", type=Path, metavar="FILE", help=f"TOML file of settings ({CONFIG_VARIABLE})"
    )
    config.complete = shtab.FILE  # type: ignore[attr-defined]
    parser.add_argument("--print-config", action="store_true", help="print the settings in force as TOML, and exit")
    shtab.add_argument_to(parser, "--print-completion", help="print a shell's completion script, and exit")
    _add_settings(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="instead of serving")
    _add_doctor(commands)
    network.add_commands(commands, _Parser)
    return parser


def _add_doctor(commands: Any) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="say what this machine can do, what is slow or wrong on it, and what to do about it",
        description="Looks at processor, memory, disk, engines, address, knowledge and bundle, starts the models once "
        "as a server with the same settings would, and says what is slow or wrong and what to do about it. Ends with "
        "1 where something is wrong. Without --bundle and --knowledge it looks at the machine and its engines alone.",
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    doctor.add_argument("--json", action="store_true", default=False, help="print one JSON object")
    doctor.add_argument("--config", type=Path, metavar="FILE", help="TOML file of settings")
    _add_settings(doctor)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns:
        The exit status; see `--help`.
    """
    escape_unencodable_output()
    try:
        given = _parse(sys.argv[1:] if arguments is None else arguments)
        if given.command is not None:
            gc.enable()  # a server does that once it serves
        if given.command == "doctor":
            return _doctor(given)
        if given.command is not None:
            return network.run(given)
        settings = _settings(given)
        if given.print_config:
            sys.stdout.write(as_toml(settings))
            return 0
        return _serve(settings, lambda: _settings(given))
    except QuizglassError as error:
        print(plain(f"quizglass-server: {error.message}"), file=sys.stderr)
        return _status(error)
    except KeyboardInterrupt:
        return 130


def _status(error: QuizglassError) -> int:
    return next(status for kind, status in _EXIT if isinstance(error, kind))


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = build_parser()
    options = list(_options(parser, arguments))
    for argument in arguments:
        flag = argument.partition("=")[0]
        # Before anything else: what follows an unknown flag would be taken for a command.
        if flag.startswith("--") and flag not in options:
            raise SettingsError(f"{flag}: no such flag{suggestion(flag, options)}; see --help")
    return parser.parse_args(arguments)


def _options(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> Iterator[str]:
    """The flags of a parser, and of the commands below it that are named."""
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                if name in arguments:
                    yield from _options(command, arguments)


def _settings(given: argparse.Namespace) -> Settings:
    return load_settings({name: getattr(given, name) for name in Settings.model_fields}, given.config)


def _doctor(given: argparse.Namespace) -> int:
    try:
        settings = _settings(given)
    except SettingMissing:
        settings = None
    from quizglass_server.doctor import command  # heavy: --help needs no engine

    return command.run(settings, given.json)


def _serve(settings: Settings, read_again: Callable[[], Settings]) -> int:
    from quizglass_server.config import logs

    logs.configure(settings.log_format, settings.log_level, settings.audit_log)  # before gRPC is imported
    import uvloop

    from quizglass_server import app  # heavy: --help and completion need neither models nor gRPC

    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(app.serve(settings, lambda ready: _announce(settings, ready), read_again))
    except asyncio.CancelledError:
        return 130
    except QuizglassError as error:
        if settings.log_format != "json":
            raise
        logger.error(error.message, extra={"code": error.code})  # whoever reads objects gets no line that is none
        return _status(error)
    except Exception:
        logger.exception("stopped by an unexpected failure")
        return 1
    return 0


def _announce(settings: Settings, ready: dict[str, Any]) -> None:
    if settings.log_format == "json":
        line = json.dumps({"event": "ready", **ready})
    else:
        line = "quizglass-server is ready on {address} (bundle {bundle}, {entries} entries)".format(**ready)
        line += f"; for browsers on {ready['web']}" if ready["web"] else ""
        line += f"; metrics on {ready['operations']}/metrics" if ready["operations"] else ""
        line += f"; of the generator {ready['on_card']}" if ready["on_card"] else ""
    print(plain(line).replace("\n", " "), flush=True)


def _add_settings(parser: argparse.ArgumentParser) -> None:
    titles = {title: parser.add_argument_group(title) for title in dict.fromkeys(group.title for group in GROUPS)}
    for group in GROUPS:
        for name, field in fields_of(group).items():
            _add(titles[group.title], name, field)


def _add(group: argparse._ArgumentGroup, name: str, field: FieldInfo) -> None:
    """A flag for a field. Values stay text: the settings check them, whichever layer they come from."""
    default = "" if field.is_required() or field.default in (None, ()) else f" [default: {field.default}]"
    choices = (
        [str(choice) for choice in get_args(field.annotation)] if get_origin(field.annotation) is Literal else None
    )
    metavar = "|".join(choices) if choices else _metavar(name, field)
    # A flag of its own says yes: --insecure.
    told: dict[str, Any] = {"nargs": "?", "const": "true"} if field.annotation is bool else {}
    action = group.add_argument(
        f"--{name.replace('_', '-')}",
        dest=name,
        metavar=metavar,
        choices=choices,
        help=f"{field.description}{default}".replace("%", "%%"),
        **told,
    )
    if _is_path(field):
        action.complete = shtab.FILE if _is_file(name) else shtab.DIRECTORY  # type: ignore[attr-defined]


def _is_path(field: FieldInfo) -> bool:
    return field.annotation is Path or Path in get_args(field.annotation)


def _is_file(name: str) -> bool:
    return name.endswith(("_file", "_cert", "_key", "_ca", "tokens", "audit_log", "require_signature"))


def _metavar(name: str, field: FieldInfo) -> str:
    if _is_path(field):
        return "FILE" if _is_file(name) else "DIR"
    if name.endswith("_s"):
        return "SECONDS"
    if field.annotation is bool:
        return "true|false"
    return "TEXT" if str in (field.annotation, *get_args(field.annotation)) else "N"


if __name__ == "__main__":
    sys.exit(main())
