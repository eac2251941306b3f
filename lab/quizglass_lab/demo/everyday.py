"""`make everyday`: builds the bundle with a generator anew, and asks it eight questions about photographs.

Fetches pinned packages (once), builds the bundle (once), imports the sample knowledge, and shows each answer as it
streams, with what was expected beside it. Then it prints how to serve and measure what was built, and where the
server's page is; on a terminal the server goes on until it is interrupted. (To try quizglass there is `make demo`.)
Ends with status 1 if something failed, or fewer questions than `--least` were answered rightly: a model of 135 million
parameters does not get all of them. Ends with 130 if it is stopped before.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.rule import Rule

from quizglass.text import escape_unencodable_output
from quizglass.values import VerdictOutcome
from quizglass_client import Answer, Client, ClientError
from quizglass_client.local import LocalServer
from quizglass_client.terminal.page import show_page
from quizglass_client.terminal.show import TurnView
from quizglass_export.errors import ExportError
from quizglass_export.everyday.build import ADAPTERS, adapter, build_bundle
from quizglass_export.long_work import STOPPED, stopping
from quizglass_lab.everyday.knowledge import EIGHT, KNOWLEDGE, AskedPhotograph, asked_path, write_knowledge
from quizglass_lab.scoring.claims import contains_words

UNPLANNED = "image"
"""Policy without a planner's adapter: what a photograph shows is looked up, and what is known of it is read."""
WEB_PORT = 50062
"""Of the page, in the command that is printed; the demo's own server takes a free one."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo. Returns the exit status."""
    escape_unencodable_output()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workdir", type=Path, default=Path("work/everyday"))
    parser.add_argument("--adapters", type=Path, default=ADAPTERS)
    parser.add_argument("--end", action="store_true", help="end after the questions, on a terminal too")
    parser.add_argument("--least", type=int, default=4, help="right answers of eight below which it ends with 1")
    args = parser.parse_args(arguments)
    try:
        with stopping():
            return _run(args, Console())
    except KeyboardInterrupt:
        return STOPPED


def _run(args: argparse.Namespace, console: Console) -> int:
    console.print(Rule("quizglass, everyday"))
    began = time.monotonic()
    try:
        bundle = build_bundle(args.workdir, adapters=args.adapters, tell=console.print)
        write_knowledge(args.workdir)
        console.print(f"The bundle is {bundle}, {_size(bundle):.0f} MB, after {time.monotonic() - began:.0f} s")
        _say_what_is_untrained(console, args.adapters)
        right = _serve_and_ask(bundle, args, console, began)
    except (ExportError, ClientError, subprocess.CalledProcessError, OSError) as error:
        console.print(f"[red]The demo failed:[/] {escape(str(error))}", highlight=False)
        return 1
    return 0 if right >= args.least else 1


def _say_what_is_untrained(console: Console, adapters: Path) -> None:
    missing = [name for name in ("generator", "planner") if adapter(name, adapters) is None]
    if missing:
        console.print(
            f"[yellow]There is no trained adapter yet for {' and '.join(missing)}[/]: the base model answers untaught, "
            "so expect whole sentences, and inventions now and then (docs/everyday.md)."
        )


def _serve_and_ask(bundle: Path, args: argparse.Namespace, console: Console, began: float) -> int:
    """Serve the bundle for the questions, and on a terminal for its page. Returns how many were answered rightly."""
    workdir, policy = args.workdir, _policy(args.adapters)
    log = workdir / "server.log"
    console.print(f"Starting quizglass-server (log: {log})")
    flags = ["--web-port", "0", *(["--default-policy", policy] if policy else [])]
    with LocalServer(bundle, workdir / "knowledge", flags=flags, log=log) as server:
        command = [sys.executable, "-m", "quizglass_client.cli", "--server", server.target, "knowledge", "import"]
        subprocess.run([*command, str(workdir / KNOWLEDGE)], check=True)  # noqa: S603  # our own command, no shell
        with Client(server.target, timeout=120) as client:
            right = sum(_ask(client, asked, asked_path(workdir, asked), policy, console) for asked in EIGHT)
        console.print()
        took = f"{time.monotonic() - began:.0f} s in all"
        console.print(f"{right} of {len(EIGHT)} answers are what was expected, and supported; {took}")
        _say_what_next(console, bundle, workdir, policy)
        later = f"the command above has it on http://127.0.0.1:{WEB_PORT}"
        show_page(console, server.web, later=later, stay=sys.stdin.isatty() and not args.end)
    return right


def _ask(client: Client, asked: AskedPhotograph, path: Path, policy: str, console: Console) -> bool:
    """Ask one question; returns whether the answer says what is expected and what the server knows supports it."""
    console.print()
    console.print(f"[bold]{asked.question}[/]  [dim]{path}[/]")
    view, events = TurnView(console), []
    for event in client.ask(asked.question, path, policy=policy, budget=60):
        view.event(event)
        events.append(event)
    answer = Answer.of(events)
    said = any(contains_words(answer.text, word) for word in asked.right)
    supported = answer.verdict is not None and answer.verdict.outcome is VerdictOutcome.SUPPORTED
    judged = "[green]yes[/]" if said and supported else f"[yellow]{'said, but unsupported' if said else 'no'}[/]"
    console.print(f"[dim]expected: {' or '.join(asked.right)}[/] {judged}")
    return said and supported


def _policy(adapters: Path) -> str:
    """The policy to ask by; empty: the server's default, `planning-agent+`."""
    return "" if adapter("planner", adapters) else UNPLANNED


def _size(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def _say_what_next(console: Console, bundle: Path, workdir: Path, policy: str) -> None:
    default = f" --default-policy {policy}" if policy else ""
    console.print(
        Panel(
            f'make bench-own OWN="--bundle {bundle}"   # how good it is\n'
            "source .venv/bin/activate\n"
            f"quizglass-server --bundle {bundle} --knowledge {workdir / 'knowledge'}{default} --web-port {WEB_PORT}\n"
            'quizglass ask YOUR_PHOTOGRAPH.jpg "What is this?"        # in another terminal\n'
            "quizglass knowledge import FOLDER_OF_YOUR_PHOTOGRAPHS    # with a text of the same name beside each\n"
            "quizglass knowledge tune                                 # thresholds for them",
            title="Measure and serve what was built",
        )
    )


if __name__ == "__main__":
    sys.exit(main())
