"""`python -m bench.engine [--only SECTION ...] [--resume] [--quick]`: measure, print, write results and plot.

A section that is finished is kept at once, so an interrupted run goes on with --resume. --quick runs everything with
small counts, to see that it works, and keeps nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from pathlib import Path
from time import perf_counter

from rich.console import Console

from bench import results
from bench.engine.peers import PeerMissing, Peers
from bench.engine.plot import engine
from bench.engine.sections import Setup
from bench.sections import Part, Store

SECTIONS = {
    "text-streams": ("streams", "run"),
    "second-question": ("pictures", "second_question"),
    "gaps": ("pictures", "gaps"),
    "stopping": ("stopping", "run"),
    "scorers": ("scoring", "run"),
    "kills": ("kills", "run"),
    "goodput": ("goodput", "run"),
    "cancels": ("cancels", "run"),
}
"""Module and function of each, in the order of the table; modules load what they need when they run."""
_LIMIT_S = 900.0
"""No section may take longer."""
_CELLS, _SEQUENCES = 8192, 8


def main(arguments: Sequence[str] | None = None) -> int:
    """Run sections. Returns 0, or 1 when one failed or a bar was missed."""
    args = _arguments(arguments)
    console = Console()
    folder: Path = args.workdir.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(filename=folder / "engine.log", level=logging.WARNING, format="%(asctime)s %(message)s")
    store = Store(folder / ("engine-quick" if args.quick else "engine"))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended from outside, it still ends what it started
    began = perf_counter()
    with console.status("starting") as status:
        setup = _setup(args, folder, lambda text: status.update(f"[{perf_counter() - began:5.0f} s] {text}"))
        failed = [name for name in args.only or SECTIONS if not _run(name, setup, store, args.resume, console)]
    rows, data, how = store.finished(SECTIONS)
    results.show(rows, "engine", console)
    if args.quick:
        console.print("a quick run: the figures mean nothing and are not published")
    else:
        path = results.write("engine", rows, sections=how, data=data)
        console.print(f"{path} and {engine(data.get('text-streams', {}))}")
    if failed:
        console.print(f"failed: {', '.join(failed)}")
    return 1 if failed or any(row.ok is False for row in rows) else 0


def _run(name: str, setup: Setup, store: Store, resume: bool, console: Console) -> bool:
    """One section; False if it failed. Its rows are printed and kept as soon as it ends."""
    if resume and store.load(name) is not None:
        console.print(f"{name}: kept")
        return True
    module, function = SECTIONS[name]
    began = perf_counter()
    try:
        run: Callable[[Setup], Awaitable[Part]] = getattr(import_module(f"bench.engine.{module}"), function)
        part = asyncio.run(asyncio.wait_for(run(setup), _LIMIT_S))
    except Exception:
        console.print(f"[red]{name} failed[/]")
        console.print_exception(max_frames=4)
        return False
    took = perf_counter() - began
    how = {"seconds": round(took), "rounds": setup.rounds, "threads": setup.threads, "command": _command()}
    store.save(name, part, how)
    results.show(part.rows, f"{name}, {took:.0f} s", console)
    return True


def _setup(args: argparse.Namespace, folder: Path, say: Callable[[str], None]) -> Setup:
    peers = Peers(folder, args.threads, _CELLS, _SEQUENCES)
    try:
        peers.install(say)
    except PeerMissing as error:
        say(str(error))
    rounds = 1 if args.quick else args.rounds
    models = args.models or ("starter", "0.5B")
    return Setup(
        rounds, args.threads, args.quick, folder, args.bundle.resolve(), args.checkpoints.resolve(), models, peers, say
    )


def _command() -> str:
    return shlex.join(["python", "-m", "bench.engine", *sys.argv[1:]])


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench.engine", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), help="sections to measure; others keep their rows")
    parser.add_argument("--resume", action="store_true", help="leave out sections that are finished")
    parser.add_argument("--quick", action="store_true", help="small counts, to see that everything runs")
    parser.add_argument("--rounds", type=int, default=5, help="of every comparison (default 5)")
    parser.add_argument("--threads", type=int, default=2, help="of every engine, ours and peers' (default 2)")
    parser.add_argument("--models", nargs="+", choices=("starter", "0.5B"), help="generators (default both)")
    parser.add_argument("--bundle", type=Path, default=Path("models/starter/bundle"))
    parser.add_argument("--checkpoints", type=Path, default=Path("models/starter/checkpoints"))
    parser.add_argument("--workdir", type=Path, default=Path("work/bench"))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
