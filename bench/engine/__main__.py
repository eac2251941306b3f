"""`python -m bench.engine [--only SECTION ...] [--resume] [--quick]`: measure, print, write results and plot.

A section that is finished is kept at once, so an interrupted run goes on with --resume. --quick runs everything with
small counts, to see that it works, and keeps nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path

from bench import sections
from bench.engine.contenders.peers import Peers
from bench.engine.contenders.setup import Setup
from bench.engine.plot import engine
from bench.fingerprints import weights
from bench.sections import Part

SECTIONS = {
    "text-streams": ("generator.streams", "run"),
    "text-streams-smollm2": ("generator.streams", "smollm2"),
    "neighbours": ("generator.neighbours", "starter"),
    "neighbours-larger": ("generator.neighbours", "larger"),
    "second-question": ("generator.pictures", "second_question"),
    "gaps": ("generator.pictures", "gaps"),
    "tails": ("generator.tails", "run"),
    "stops": ("generator.stops", "run"),
    "2B": ("generator.larger", "run"),
    "scorers": ("scorers.scoring", "run"),
    "resizing": ("scorers.resizing", "run"),
    "kills": ("server.kills", "run"),
    "hangs": ("server.hangs", "run"),
    "restarts": ("server.restarts", "run"),
    "goodput": ("server.goodput", "run"),
    "cancels": ("generator.cancels", "run"),
}
"""Module and function of each, in the order of the table; modules load what they need when they run."""
_LIMIT_S = 900.0
"""No section may take longer."""
_CELLS = 8192


def main(arguments: Sequence[str] | None = None) -> int:
    """Run sections. Returns 0, or 1 when one failed or a bar was missed."""
    args = _arguments(arguments)
    folder: Path = args.workdir.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(filename=folder / "engine.log", level=logging.WARNING, format="%(asctime)s %(message)s")
    runner = sections.Runner("engine", SECTIONS, args)
    with runner.status() as say:
        setup = _setup(args, folder, say if sys.stdout.isatty() else partial(print, flush=True))
        settings = {"rounds": setup.rounds, "threads": setup.threads, "models": list(setup.models)}
        runner.measure(lambda name: _run(name, setup), bundle=weights(setup.bundle), **settings)
    return runner.finish(lambda data: engine(data.get("text-streams", {})))


def _run(name: str, setup: Setup) -> Part:
    """One section, bounded in time."""
    module, function = SECTIONS[name]
    run: Callable[[Setup], Awaitable[Part]] = getattr(import_module(f"bench.engine.{module}"), function)
    return asyncio.run(asyncio.wait_for(run(setup), _LIMIT_S))


def _setup(args: argparse.Namespace, folder: Path, say: Callable[[str], None]) -> Setup:
    peers = Peers(folder, args.threads, _CELLS)
    rounds = 1 if args.quick else args.rounds
    models = args.models or ("starter", "0.5B")
    bundle, checkpoints = args.bundle.resolve(), args.checkpoints.resolve()
    smollm2 = args.smollm2.resolve()
    return Setup(
        rounds, args.threads, args.quick, folder, bundle, checkpoints, models, smollm2, peers, say, args.resume
    )


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = sections.arguments("engine", __doc__, SECTIONS)
    parser.add_argument("--rounds", type=int, default=5, help="of every comparison (default 5)")
    parser.add_argument("--threads", type=int, default=2, help="of every engine, ours and peers' (default 2)")
    parser.add_argument(
        "--models",
        nargs="+",
        choices=("starter", "0.5B"),
        help="generators, for --quick (default both)",
    )
    parser.add_argument("--bundle", type=Path, default=Path("models/starter/bundle"))
    parser.add_argument("--checkpoints", type=Path, default=Path("models/starter/checkpoints"))
    parser.add_argument(
        "--smollm2",
        type=Path,
        default=Path("work/everyday/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),
        help="model of the section text-streams-smollm2 (default %(default)s)",
    )
    args = parser.parse_args(arguments)
    if args.models and not args.quick:
        parser.error("--models: the rows of the other models would go; --quick keeps them")
    return args


if __name__ == "__main__":
    sys.exit(main())
