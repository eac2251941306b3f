"""`python -m bench.policies [--only SECTION ...] [--resume] [--quick]`: the control flow of every policy, measured.

In this process: a world, and an assistant on the starter bundle whose decisions, sub-queries and objects are given as
the world's record says (`bench/policies/given.py`). Encoders, index, reranker, reader and answers are the starter's
own. --quick runs everything with small counts and publishes nothing.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from bench import sections
from bench.fingerprints import weights
from bench.policies import budget, hops, overlap
from bench.policies import sessions as dialogues
from bench.policies.stage import Setup, Stage, staged
from bench.sections import Part
from bench.worlds import fresh_seeds

SECTIONS: dict[str, Callable[[Setup, Stage], Awaitable[Part]]] = {
    "hops": hops.run,
    "planning": overlap.planning,
    "searches": overlap.searches,
    "branches": overlap.branches,
    "budget": budget.run,
    "sessions": dialogues.run,
}
"""In the order of the table."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run sections. Returns 0, or 1 when one failed or a bar was missed."""
    parser = sections.arguments("policies", __doc__, SECTIONS)
    parser.add_argument("--seed", type=int, help="of the world that is asked about (default: from this commit's hash)")
    parser.add_argument("--things", type=int, default=2000)
    parser.add_argument("--bundle", type=Path, default=Path("models/starter/bundle"))
    args = parser.parse_args(arguments)
    args.seed = fresh_seeds(1)[0] if args.seed is None else args.seed
    folder: Path = args.workdir.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    runner = sections.Runner("policies", SECTIONS, args)
    with runner.status() as say:
        setup = Setup(args.quick, folder, args.bundle.resolve(), args.seed, args.things, say)
        settings = {"seed": args.seed, "things": args.things, "bundle": weights(setup.bundle)}
        runner.measure(lambda name: asyncio.run(_run(name, setup)), **settings)
    return runner.finish()


async def _run(name: str, setup: Setup) -> Part:
    """One section, on a server of its own."""
    async with staged(setup) as stage:
        return await SECTIONS[name](setup, stage)


if __name__ == "__main__":
    sys.exit(main())
