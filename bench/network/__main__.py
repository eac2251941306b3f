"""`python -m bench.network [--only SECTION ...] [--resume] [--quick]`: measure, print and write results.

Every section starts servers of its own on loopback. --quick runs everything with small counts and keeps nothing.
The soak takes an hour, and runs where it is named: `--only soak`.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from pathlib import Path

from bench import sections
from bench.fingerprints import weights
from bench.hostile.sections import Setup
from bench.network import SECTIONS, SOAK, soak
from bench.sections import Part

_LIMIT_S = 1800.0
"""No section may take longer."""
_SAMPLE = 25
"""Of each list of times, that are published beside the table."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run sections. Returns 0, or 1 when one failed or a bar was missed."""
    parser = sections.arguments("network", __doc__, [*SECTIONS, SOAK])
    parser.add_argument("--minutes", type=float, default=60.0, metavar="N", help="how long the soak takes")
    parser.add_argument("--bundle", type=Path, default=Path("models/starter/bundle"))
    args = parser.parse_args(arguments)
    folder: Path = args.workdir.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if args.only == [SOAK]:
        soak.enter_own_disk(folder, sys.argv[1:] if arguments is None else arguments)
    runner = sections.Runner("network", [*SECTIONS, SOAK], args, only_named=[SOAK])
    with runner.status() as say:
        setup = Setup(args.quick, folder, args.bundle.resolve(), say)
        runner.measure(lambda name: _run(name, setup, args.minutes), bundle=weights(setup.bundle))
    return runner.finish(sample=_SAMPLE)


def _run(name: str, setup: Setup, minutes: float) -> Part:
    """One section, bounded in time."""
    if name == SOAK:
        return asyncio.run(soak.run(setup, minutes))
    run: Callable[[Setup], Awaitable[Part]] = import_module(f"bench.network.{name}").run
    return asyncio.run(asyncio.wait_for(run(setup), _LIMIT_S))


if __name__ == "__main__":
    sys.exit(main())
