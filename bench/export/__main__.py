"""`python -m bench.export [--only SECTION ...] [--resume] [--quick]`: measure, print, write results.

A section that is finished is kept at once, so an interrupted run goes on with --resume, and --only measures some of
them and leaves the rows of the others. --quick runs with small counts, to see that everything works, and publishes
nothing.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from time import perf_counter

from rich.console import Console

from bench import results
from bench.export.setup import Setup
from bench.sections import Part, Store

SECTIONS = {
    "graphs": "graphs",
    "adapters": "adapters",
    "generators": "generators",
    "heads": "heads",
    "precisions": "precisions",
    "memory": "memory",
}
"""Section to its module, in the order of the table; modules load what they need when they run."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure. Returns 0, or 1 when a section failed or a bar was missed."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    args = _arguments(arguments)
    console = Console()
    store = Store(args.workdir / ("export-quick" if args.quick else "export"))
    with console.status("starting") as status:
        setup = Setup(args.quick, args.checkpoints, status.update)
        failed = [name for name in args.only or SECTIONS if not _run(name, setup, store, args.resume, console)]
    rows, data, how = store.finished(SECTIONS)
    results.show(rows, "export", console)
    if args.quick:
        console.print("a quick run: the figures mean nothing and are not published")
    else:
        console.print(results.write("export", rows, sections=how, data=data))
    if failed:
        console.print(f"failed: {', '.join(failed)}")
    return 1 if failed or any(row.ok is False for row in rows) else 0


def _run(name: str, setup: Setup, store: Store, resume: bool, console: Console) -> bool:
    """One section; False if it failed. Its rows are printed and kept as soon as it ends."""
    if resume and store.load(name) is not None:
        console.print(f"{name}: kept")
        return True
    run: Callable[[Setup], Part] = import_module(f"bench.export.{SECTIONS[name]}").run
    began = perf_counter()
    try:
        part = run(setup)
    except Exception:
        console.print(f"[red]{name} failed[/]")
        console.print_exception(max_frames=4)
        return False
    took = perf_counter() - began
    store.save(name, part, {"seconds": round(took), "command": _command()})
    results.show(part.rows, f"{name}, {took:.0f} s", console)
    return True


def _command() -> str:
    return shlex.join(["python", "-m", "bench.export", *sys.argv[1:]])


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench.export", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), help="sections to measure; others keep their rows")
    parser.add_argument("--resume", action="store_true", help="leave out sections that are finished")
    parser.add_argument("--quick", action="store_true", help="small counts, to see that everything runs")
    parser.add_argument("--checkpoints", type=Path, default=Path("models/starter/checkpoints"))
    parser.add_argument("--workdir", type=Path, default=Path("work/bench"))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
