"""`python -m bench.latency [--only SECTION ...] [--spans] [--resume] [--quick]`: what turns take, beside a peer.

The peer is this server as it was at another commit (`--peer`), with the same bundle and packages: both run, and are
asked in turn. Turns are asked one at a time over real gRPC on loopback, as JPEG. `--spans` prints where a turn's
milliseconds go, by plan.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from matplotlib import colormaps

from bench import sections
from bench.drawing import panels, saved
from bench.fingerprints import weights
from bench.latency.peer import PeerTree, peer_tree
from bench.latency.setup import Setup
from bench.results import RESULTS
from bench.sections import Part

SECTIONS = {
    "planner": ("planner", "run"),
    "turns": ("turns", "run"),
    "spans": ("spans", "run"),
    "clients": ("clients", "run"),
    "start": ("start", "starts"),
    "memory": ("start", "memory"),
    "script": ("script", "run"),
    "honest": ("honest", "run"),
    "gates": ("photographs", "gates"),
    "reading": ("reading", "run"),
    "photographs": ("photographs", "demo"),
    "photographs-starter": ("photographs", "starter"),
}
"""Module and function of each, in the order of the table; modules load what they need when they run."""
_PEER = "a9cde71c"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run sections. Returns 0, or 1 when one failed or a bar was missed."""
    args = _arguments(arguments)
    folder: Path = args.workdir.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    runner = sections.Runner("latency", SECTIONS, args)
    settings = {"seed": args.seed, "things": args.things, "questions": args.questions, "peer": args.peer}
    with runner.status() as say:
        setup = Setup(
            quick=args.quick,
            folder=folder,
            bundle=args.bundle.resolve(),
            checkpoints=args.checkpoints,
            seed=args.seed,
            things=args.things,
            questions=args.questions,
            threads=args.threads,
            peer=_peer(args.peer, folder),
            photographs=args.photographs,
            photograph_bundle=args.photograph_bundle.resolve(),
            say=say,
        )
        runner.measure(lambda name: _run(name, setup), **settings, bundle=weights(setup.bundle))
    return runner.finish(_plot, sample=200)


def _run(name: str, setup: Setup) -> Part:
    module, function = SECTIONS[name]
    run: Callable[[Setup], Part] = getattr(import_module(f"bench.latency.{module}"), function)
    return run(setup)


def _peer(commit: str, folder: Path) -> PeerTree | None:
    """None where the commit is "none", or this clone does not have it."""
    if commit == "none":
        return None
    try:
        return peer_tree(commit, folder)
    except subprocess.CalledProcessError:
        print(f"{commit}: not in this clone; nothing is compared", file=sys.stderr)
        return None


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = sections.arguments("latency", __doc__, SECTIONS)
    parser.add_argument("--spans", action="store_const", const=["spans"], dest="only", help="--only spans")
    parser.add_argument("--seed", type=int, default=101)
    parser.add_argument("--things", type=int, default=2000)
    parser.add_argument("--questions", type=int, default=800)
    parser.add_argument("--threads", type=int, default=1, help="of the planner and its peer")
    parser.add_argument("--peer", default=_PEER, help=f"commit that is compared with, or none (default: {_PEER})")
    parser.add_argument("--bundle", type=Path, default=Path("models/starter/bundle"))
    parser.add_argument("--checkpoints", type=Path, default=Path("models/starter/checkpoints"))
    parser.add_argument("--photographs", type=Path, default=Path("work/demo"), help="where PyPI's are kept")
    parser.add_argument(
        "--photograph-bundle", type=Path, default=Path("work/demo/quotes"), help="of `photographs`; see `make demo`"
    )
    return parser.parse_args(arguments)


def _plot(data: Mapping[str, Any]) -> Path | None:
    """Mean milliseconds of each row of the spans for each plan, stacked."""
    table: Mapping[str, Mapping[str, Sequence[float]]] = data.get("spans", {}).get("table", {})
    if not table:
        return None
    figure, [[axes]] = panels(1, 8, 2.8)
    rows = [row for row in next(iter(table.values())) if row != "total"]
    left = [0.0] * len(table)
    for number, row in enumerate(rows):
        widths = [of[row][0] for of in table.values()]
        axes.barh([f"planned {plan}" for plan in table], widths, 0.6, left, label=row, color=colormaps["tab20"](number))
        left = [at + width for at, width in zip(left, widths, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel("ms a turn, mean")
    axes.legend(ncols=3, frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1))
    return saved(figure, RESULTS / "latency.png")


if __name__ == "__main__":
    sys.exit(main())
