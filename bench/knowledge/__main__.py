"""`python -m bench.knowledge [--only SECTION ...] [--resume] [--quick]`: the knowledge store beside others.

A section that is finished is kept at once, so an interrupted run goes on with --resume; others keep their rows. --quick
runs everything with small counts, to see that it works, and keeps nothing. Peers (Chroma, LanceDB, faiss, usearch and
hnswlib alone) run in an environment of their own, work/bench/peers-venv-knowledge, on the same vectors.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter

from rich.console import Console

from bench import results
from bench.knowledge import faults, speed
from bench.knowledge.plot import knowledge
from bench.knowledge.setup import Setup, environment, installed
from bench.sections import Part, Store

SECTIONS: dict[str, Callable[[Setup], Part]] = {
    "index-10k": partial(speed.index, size=10_000),
    "index-100k": partial(speed.index, size=100_000),
    "store-10k": partial(speed.store, size=10_000),
    "store-100k": partial(speed.store, size=100_000),
    "rare": faults.rare,
    "damage": faults.damage,
    "kills": faults.kills,
}
"""In the order of the table."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run sections. Returns 0, or 1 when one failed or a bar was missed."""
    args = _arguments(arguments)
    console = Console()
    workdir: Path = args.workdir.resolve()
    kept = Store(workdir / ("knowledge-quick" if args.quick else "knowledge"))
    began = perf_counter()
    with console.status("starting") as status:
        setup = _setup(args, workdir, lambda text: status.update(f"[{perf_counter() - began:5.0f} s] {text}"))
        failed = [name for name in args.only or SECTIONS if not _run(name, setup, kept, args.resume, console)]
    rows, data, how = kept.finished(SECTIONS)
    rows += [
        results.Row(f"section {name}", float("nan"), "", "not measured yet") for name in SECTIONS if name not in data
    ]
    results.show(rows, "knowledge", console)
    if args.quick:
        console.print("a quick run: the figures mean nothing and are not published")
    else:
        path = results.write("knowledge", rows, peers=installed(setup.python), sections=how, data=data)
        console.print(f"{path} and {knowledge(data)}")
    if failed:
        console.print(f"failed: {', '.join(failed)}")
    return 1 if failed or any(row.ok is False for row in rows) else 0


def _run(name: str, setup: Setup, kept: Store, resume: bool, console: Console) -> bool:
    """One section; False if it failed. Its rows are printed and kept as soon as it ends."""
    if resume and kept.load(name) is not None:
        console.print(f"{name}: kept")
        return True
    began = perf_counter()
    try:
        part = SECTIONS[name](setup)
    except Exception:
        console.print(f"[red]{name} failed[/]")
        console.print_exception(max_frames=4)
        return False
    took = perf_counter() - began
    command = shlex.join(["python", "-m", "bench.knowledge", *sys.argv[1:]])
    kept.save(name, part, {"seconds": round(took), "rounds": setup.rounds, "command": command})
    results.show(part.rows, f"{name}, {took:.0f} s", console)
    return True


def _setup(args: argparse.Namespace, workdir: Path, say: Callable[[str], None]) -> Setup:
    folder = (args.folder or workdir / "knowledge-stores").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    rounds = 1 if args.quick else args.rounds
    kills, mutations = (20, 11) if args.quick else (args.kills, args.mutations)
    python = environment(workdir, say)
    return Setup(rounds, args.quick, folder, python, args.bundle.resolve(), kills, mutations, say)


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench.knowledge", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), help="sections to measure; others keep their rows")
    parser.add_argument("--resume", action="store_true", help="leave out sections that are finished")
    parser.add_argument("--quick", action="store_true", help="small counts, to see that everything runs")
    parser.add_argument("--rounds", type=int, default=5, help="of every comparison (default 5)")
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument("--mutations", type=int, default=1_000, help="of every file (default 1000)")
    parser.add_argument("--bundle", type=Path, default=Path("models/starter/bundle"))
    parser.add_argument("--workdir", type=Path, default=Path("work/bench"))
    parser.add_argument("--folder", type=Path, help="disk to measure on (default: in the workdir)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
