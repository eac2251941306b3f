"""`quizglass capabilities`, `health`, `top` and `explain`: what a server can do, how it is, what it did."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext

from rich.live import Live
from rich.table import Table
from rich.text import Text

from quizglass.text import plain
from quizglass.values import Capabilities
from quizglass_client.cli import connecting, subcommands
from quizglass_client.errors import ClientError, InvalidRequest, ServerUnavailable
from quizglass_client.sync import Client
from quizglass_client.terminal.operations import DEFAULT_URL, OperationsPort, Samples, explained, figures, overview
from quizglass_client.terminal.output import print_json, say, stdout
from quizglass_client.terminal.reachable import reason_unreachable
from quizglass_client.terminal.usage import FAILED, OK, UNAVAILABLE, UsageError

_ANSWERS = {
    "write": "written by the generator",
    "quote": "sentences of the entries, quoted",
    "shorter": "a supported written answer or the quote, whichever is shorter",
}


def add_commands(commands: subcommands.Subcommands) -> None:
    """Declare them."""
    named = "also name the policies that this bundle cannot serve, with what it lacks for each"
    commands.add("capabilities", capabilities).add_argument("--all", action="store_true", help=named)
    commands.add("health", health)
    watched = commands.add("top", top)
    watched.add_argument("--every", type=float, default=2.0, metavar="SECONDS", help="between two looks (default 2)")
    watched.add_argument("--once", action="store_true", help="look once, and end")
    asked = commands.add("explain", explain)
    asked.add_argument("turn", metavar="TURN_ID", nargs="?", help="its id or how that begins (default: the last turn)")
    for each in (watched, asked):
        each.set_defaults(calls_server=False)
        where = f"the server's operations port (default {DEFAULT_URL})"
        each.add_argument("--operations", metavar="URL", default=DEFAULT_URL, help=where)


def capabilities(client: Client, arguments: argparse.Namespace) -> int:
    """Show what the server can do."""
    found = client.capabilities()
    if arguments.json:
        print_json(found)
        return OK
    table = Table(box=None, show_header=False, pad_edge=False)
    _add_answers(table, found)
    _add_roles(table, found)
    _add_knowledge(table, found)
    table.add_row(Text("server", "dim"), Text(plain(f"{found.server_version}, bundle {found.bundle}")))
    for name, value in found.limits.items():
        table.add_row(Text(name, "dim"), Text(f"{value:,.0f}"))
    table.add_row(Text("useful_picture_side", "dim"), Text(f"{found.useful_picture_side}"))
    if arguments.all:
        for roles, names in _by_lack(found.not_served):
            table.add_row(Text("not served", "dim"), Text(plain(f"{names}: the bundle has no {roles}"), "dim"))
    elif found.not_served:
        count = f"{len(found.not_served)} {'policy' if len(found.not_served) == 1 else 'policies'}"
        table.add_row(Text("not served", "dim"), Text(f"{count} for want of models; --all names them", "dim"))
    stdout().print(table)
    return OK


def _add_answers(table: Table, found: Capabilities) -> None:
    """By which policies questions are answered, how, and in which languages."""
    table.add_row(Text("policies", "dim"), _policies(found))
    if found.answers:
        table.add_row(Text("answers", "dim"), Text(plain(_ANSWERS.get(found.answers, found.answers))))
    if found.languages:
        told = "any" if "*" in found.languages else ", ".join(found.languages)
        table.add_row(Text("languages", "dim"), Text(plain(told)))
    for roles, names in _by_lack(found.works_without):
        table.add_row(Text("work without", "dim"), Text(plain(f"{roles}: {names}"), "dim"))


def _add_roles(table: Table, found: Capabilities) -> None:
    """Which models there are, and where they run."""
    for role in found.roles:
        state = Text(f"{role.engine}, {role.executor}") if role.ready else Text(f"{role.engine}, not ready", "yellow")
        table.add_row(Text(plain(role.role), "dim"), state)
        if role.program:
            table.add_row("", Text(plain(role.program)))
        if role.notice:
            table.add_row("", Text(plain(role.notice), "yellow"))


def _add_knowledge(table: Table, found: Capabilities) -> None:
    """What is looked up and remembered."""
    table.add_row(Text("entries", "dim"), Text(str(found.entries)))
    state = Text(plain(found.knowledge)) if found.knowledge_ready else Text(f"{found.knowledge}, lost", "yellow")
    table.add_row(Text("knowledge", "dim"), state)
    for source in found.sources:
        about = f"{source.kind}, by {' and '.join(source.finds)}{', remote' if source.remote else ''}"
        table.add_row(Text(plain(f"source {source.name}"), "dim"), Text(plain(about), "" if source.ready else "yellow"))
        if source.notice:
            table.add_row("", Text(plain(source.notice), "yellow"))
    table.add_row(Text("visual memory", "dim"), Text("yes" if found.memory else "no"))


def _by_lack(lacking: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """What is lacking, and the names of all policies that lack just that."""
    for roles in dict.fromkeys(lacking.values()):
        names = [name for name, lacks in lacking.items() if lacks == roles]
        yield ", ".join(roles), ", ".join(names)


def _policies(found: Capabilities) -> Text:
    if not found.policies:
        return Text("none: questions are refused, searches are answered", "yellow")
    default, *others = found.policies
    return Text(plain(", ".join((f"{default} (default)", *others))))


def health(client: Client, arguments: argparse.Namespace) -> int:
    """Tell whether the server takes requests."""
    healthy = client.healthy()
    if arguments.json:
        print_json({"server": client.target, "healthy": healthy})
    elif healthy:
        stdout().print(Text(f"{client.target} is serving"))
    else:
        trusted = ", behind a certificate that is trusted" if connecting.encrypted(arguments) else ""
        why = "" if trusted else reason_unreachable(client.target)
        say(why or f"{client.target} is not serving; is quizglass-server running there{trusted}?")
    return OK if healthy else UNAVAILABLE


def top(client: Client, arguments: argparse.Namespace) -> int:
    """Watch the server's metrics."""
    return _reading(arguments, _watch)


def explain(client: Client, arguments: argparse.Namespace) -> int:
    """Tell what became of a turn."""
    return _reading(arguments, _explain)


def _reading(arguments: argparse.Namespace, show: Callable[[OperationsPort, argparse.Namespace], int]) -> int:
    """Show something of the operations port, or say why it cannot be had."""
    try:
        return show(OperationsPort(arguments.operations, arguments.ca, arguments.access.metadata), arguments)
    except InvalidRequest as error:
        raise UsageError(error.message) from None
    except ClientError as error:
        say(error.message)
        return UNAVAILABLE if isinstance(error, ServerUnavailable) else FAILED


def _watch(port: OperationsPort, arguments: argparse.Namespace) -> int:
    before: Samples | None = None
    since = 0.0
    if not 0 < arguments.every < 3600:
        raise UsageError(f"--every: {arguments.every:g} is no time; give seconds above 0")
    with nullcontext() if arguments.json else Live(console=stdout(), auto_refresh=False) as live:
        while True:
            now, at = port.samples(), time.monotonic()
            uptime = time.time() - now.sum("process_start_time_seconds")
            seconds = at - since if before else max(uptime, 1.0)
            if live is None:
                print_json(figures(now, before, seconds))
            else:
                live.update(overview(now, before, seconds), refresh=True)
            if arguments.once:
                return OK
            before, since = now, at
            time.sleep(arguments.every)


def _explain(port: OperationsPort, arguments: argparse.Namespace) -> int:
    turns = [turn for turn in port.turns() if turn["id"].startswith(arguments.turn or "")]
    if not turns:
        named = f"no turn whose id begins with {arguments.turn}" if arguments.turn else "no turn yet"
        raise UsageError(f"the server has {named}; it keeps the latest 256, since its start")
    if arguments.json:
        print_json(turns[-1])
    else:
        stdout().print(explained(turns[-1]))
    return OK
