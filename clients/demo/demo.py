"""`make demo`: real photographs with a note beside each, asked twelve questions. No PyTorch, no llama.cpp.

Fetches pinned packages and builds a bundle of their weights (once), imports the folder as a person would, starts a
server on loopback, and shows each answer with its source. Then it prints where the server's page is; on a terminal the
server goes on until it is interrupted. Ends with status 1 if something failed or an answer is not right, and with 130
if it is stopped before.
"""

from __future__ import annotations

import argparse
import json
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.markup import escape
from rich.rule import Rule

from clients.demo.album import QUESTIONS, write_album
from clients.demo.asking import Outcome, ask, show, table
from quizglass.text import escape_unencodable_output
from quizglass_client import Client, ClientError
from quizglass_client.local import LocalServer
from quizglass_client.terminal.page import show_page
from quizglass_export.errors import ExportError
from quizglass_export.everyday.packages import fetch
from quizglass_export.everyday.quotes import build_quotes
from quizglass_export.everyday.weights import PHOTOGRAPHS
from quizglass_export.long_work import STOPPED, stopping

PORT, WEB_PORT = 50061, 50062
"""Where clients look for a server, and its page: those of a server that stays, if they are free."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo. Returns the exit status."""
    escape_unencodable_output()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workdir", type=Path, default=Path("work/demo"), help="where everything is put [%(default)s]")
    parser.add_argument("--bundle", type=Path, help="another bundle to ask (default: one is built)")
    parser.add_argument("--end", action="store_true", help="end after the questions, on a terminal too")
    parser.add_argument("--json", action="store_true", help="print the outcomes as one JSON object, and end")
    args = parser.parse_args(arguments)
    console = Console(stderr=args.json)
    try:
        with stopping():
            return _run(args, console)
    except (ExportError, ClientError, subprocess.CalledProcessError, OSError) as error:
        console.print(f"[red]The demo failed:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        return 1
    except KeyboardInterrupt:
        return STOPPED


def _run(args: argparse.Namespace, console: Console) -> int:
    began = time.monotonic()
    console.print(Rule("quizglass: photographs, and a note beside each"))

    def tell(line: str) -> None:
        console.print(line, highlight=False, soft_wrap=True)

    workdir: Path = args.workdir
    fetch(PHOTOGRAPHS, workdir, tell=tell)
    bundle = args.bundle or build_quotes(workdir, tell=tell)
    notes, pictures = write_album(workdir)
    log, stay = workdir / "server.log", sys.stdin.isatty() and not (args.end or args.json)
    tell(f"Starting quizglass-server on {bundle} (log: {log})")
    # The knowledge lasts as long as the server: another demo begins without what was imported here.
    with (
        TemporaryDirectory(prefix="knowledge-", dir=workdir) as knowledge,
        LocalServer(bundle, knowledge, flags=_ports(stay), log=log) as server,
    ):
        tell(f"Importing {notes}: a photograph, and a text of the same name beside it")
        import_folder(server.target, notes)
        outcomes = _ask_all(server.target, pictures, console, quiet=args.json)
        right = sum(outcome.right for outcome in outcomes)
        seconds = time.monotonic() - began
        if args.json:
            found = {"right": right, "questions": len(outcomes), "seconds": round(seconds, 1)}
            print(json.dumps({**found, "outcomes": [outcome.values() for outcome in outcomes]}, indent=2))
        else:
            console.print("\n", table(outcomes), f"\n{right} of {len(outcomes)} right; {seconds:.0f} s in all", sep="")
            _say_what_next(console, server, bundle, stay=stay)
    return 0 if right == len(outcomes) else 1


def _ports(stay: bool) -> list[str]:
    """Flags with the ports of a server: the usual ones where it stays for others and both are free, else any."""
    for port in (PORT, WEB_PORT) if stay else ():
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                stay = False
    return ["--port", str(PORT), "--web-port", str(WEB_PORT)] if stay else ["--web-port", "0"]


def import_folder(target: str, folder: Path) -> None:
    """Import a folder with the command that a user would type.

    Raises:
        CalledProcessError: it failed; what it said was printed.
    """
    command = [sys.executable, "-m", "quizglass_client.cli", "--server", target, "knowledge", "import", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # our own command
    if done.returncode:
        print(done.stdout, done.stderr, sep="", file=sys.stderr)
        done.check_returncode()


def _ask_all(target: str, pictures: Path, console: Console, *, quiet: bool) -> list[Outcome]:
    outcomes = []
    with Client(target, timeout=120) as client:
        for asked in QUESTIONS:
            outcomes.append(ask(client, asked, pictures / asked.picture if asked.picture else None))
            if not quiet:
                show(console, outcomes[-1])
    return outcomes


def _say_what_next(console: Console, server: LocalServer, bundle: Path, *, stay: bool) -> None:
    """A line for one's own folder, and the page."""
    command = Path(sys.executable).with_name("quizglass")
    if command.is_relative_to(here := Path.cwd()):
        command = command.relative_to(here)
    if stay:
        server_flag = "" if server.target.endswith(f":{PORT}") else f" --server {server.target}"
        own = f"{command}{server_flag} knowledge import FOLDER"
    else:
        own = f"{command}-server --bundle {bundle} --knowledge work/knowledge --web-port {WEB_PORT}"
    console.print("\nPhotographs of your own, each with a text of the same name beside it:")
    console.print(f"  {own}", highlight=False, soft_wrap=True, markup=False)
    later = f"the command above has it on http://127.0.0.1:{WEB_PORT}"
    show_page(console, server.web, later=later, stay=stay)


if __name__ == "__main__":
    sys.exit(main())
