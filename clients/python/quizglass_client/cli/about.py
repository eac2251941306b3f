"""`quizglass capabilities` and `quizglass health`."""

from __future__ import annotations

import argparse

from rich.table import Table
from rich.text import Text

from quizglass.text import plain
from quizglass.values import Capabilities
from quizglass_client.cli import connecting, subcommands
from quizglass_client.sync import Client
from quizglass_client.terminal.output import OK, UNAVAILABLE, print_json, say, stdout


def add_commands(commands: subcommands.Subcommands) -> None:
    """Declare `capabilities` and `health`."""
    commands.add("capabilities", capabilities, "show what the server can do")
    commands.add("health", health, "tell whether the server takes requests")


def capabilities(client: Client, arguments: argparse.Namespace) -> int:
    """Show what the server can do."""
    found = client.capabilities()
    if arguments.json:
        print_json(found)
        return OK
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row(Text("server", "dim"), Text(plain(found.server_version)))
    table.add_row(Text("bundle", "dim"), Text(plain(found.bundle)))
    if found.languages:
        told = "any" if "*" in found.languages else ", ".join(found.languages)
        table.add_row(Text("languages", "dim"), Text(plain(told)))
    table.add_row(Text("policies", "dim"), _policies(found))
    for policy, missing in found.not_served.items():
        lacks = f"{policy}: the bundle has no {', '.join(missing)}"
        table.add_row(Text("not served", "dim"), Text(plain(lacks), "dim"))
    for roles in dict.fromkeys(found.works_without.values()):
        names = [name for name, without in found.works_without.items() if without == roles]
        less = f"{', '.join(roles)}: {', '.join(names)}"
        table.add_row(Text("work without", "dim"), Text(plain(less), "dim"))
    table.add_row(Text("entries", "dim"), Text(str(found.entries)))
    state = Text(plain(found.knowledge)) if found.knowledge_ready else Text(f"{found.knowledge}, lost", "yellow")
    table.add_row(Text("knowledge", "dim"), state)
    for role in found.roles:
        state = Text(f"{role.engine}, {role.executor}") if role.ready else Text(f"{role.engine}, not ready", "yellow")
        table.add_row(Text(plain(role.role), "dim"), state)
        if role.notice:
            table.add_row("", Text(plain(role.notice), "yellow"))
    for name, value in found.limits.items():
        table.add_row(Text(name, "dim"), Text(f"{value:,.0f}"))
    table.add_row(Text("useful_picture_side", "dim"), Text(f"{found.useful_picture_side}"))
    table.add_row(Text("visual memory", "dim"), Text("yes" if found.memory else "no"))
    stdout().print(table)
    return OK


def _policies(found: Capabilities) -> Text:
    if not found.policies:
        return Text("none: questions are refused, searches are answered", "yellow")
    return Text(plain(", ".join(found.policies)))


def health(client: Client, arguments: argparse.Namespace) -> int:
    """Tell whether the server takes requests."""
    healthy = client.healthy()
    if arguments.json:
        print_json({"server": client.target, "healthy": healthy})
    elif healthy:
        stdout().print(Text(f"{client.target} is serving"))
    else:
        trusted = ", behind a certificate that is trusted" if connecting.encrypted(arguments) else ""
        say(f"{client.target} is not serving; is quizglass-server running there{trusted}?")
    return OK if healthy else UNAVAILABLE
