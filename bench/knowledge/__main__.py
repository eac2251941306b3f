"""`python -m bench.knowledge [--only SECTION ...] [--resume] [--quick]`: the knowledge store beside others.

A section that is finished is kept at once, so an interrupted run goes on with --resume; others keep their rows. --quick
runs everything with small counts, to see that it works, and keeps nothing. Peers (Chroma, LanceDB, faiss, usearch and
hnswlib alone) run in an environment of their own, work/bench/peers-venv-knowledge, on the same vectors.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from bench import sections
from bench.fingerprints import weights
from bench.knowledge import faults, speed
from bench.knowledge.plot import knowledge
from bench.knowledge.setup import Setup, environment, installed
from bench.sections import Part

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
_PEERED = {"index-10k", "index-100k", "store-10k", "store-100k"}
"""Sections that need peers from the package index; after others alone the versions that were published stay."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run sections. Returns 0, or 1 when one failed or a bar was missed."""
    args = _arguments(arguments)
    runner = sections.Runner("knowledge", SECTIONS, args)
    with runner.status() as say:
        setup = _setup(args, args.workdir.resolve(), say)
        counts = {"rounds": setup.rounds, "kills": setup.kills, "mutations": setup.mutations}
        runner.measure(lambda name: SECTIONS[name](setup), bundle=weights(setup.bundle), **counts)
    peers = installed(setup.python) if _peered(args) else sections.published_detail("knowledge", "peers")
    return runner.finish(knowledge, name_missing=True, peers=peers or {})


def _peered(args: argparse.Namespace) -> bool:
    return bool(_PEERED & set(args.only or SECTIONS))


def _setup(args: argparse.Namespace, workdir: Path, say: Callable[[str], None]) -> Setup:
    folder = (args.folder or workdir / "knowledge-stores").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    rounds = 1 if args.quick else args.rounds
    kills, mutations = (20, 11) if args.quick else (args.kills, args.mutations)
    python = environment(workdir, say) if _peered(args) else Path(sys.executable)
    return Setup(rounds, args.quick, folder, python, args.bundle.resolve(), kills, mutations, say)


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = sections.arguments("knowledge", __doc__, SECTIONS)
    parser.add_argument("--rounds", type=int, default=5, help="of every comparison (default 5)")
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument("--mutations", type=int, default=1_000, help="of every file (default 1000)")
    parser.add_argument("--bundle", type=Path, default=Path("models/starter/bundle"))
    parser.add_argument("--folder", type=Path, help="disk to measure on (default: in the workdir)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
