"""`python -m bench.hostile [--only SECTION ...] [--resume] [--quick]`: measure, print and write results.

Every section starts servers of its own and sends them input that means harm. A section that is finished is kept at
once, so an interrupted run goes on with --resume. --quick runs everything with small counts and keeps nothing.

To add rows, write a module with `async def run(setup: Setup) -> Part` and name it in `SECTIONS`; `bench.hostile.stage`
starts the server, asks it ordinary questions beside the attack, and makes the rows with their bars.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from pathlib import Path

from bench import sections
from bench.fingerprints import weights
from bench.hostile.sections import Setup
from bench.sections import Part

SECTIONS = {
    "pictures": ("pictures", "run"),
    "scans": ("scans", "run"),
    "markup": ("markup", "run"),
    "transport": ("transport", "run"),
    "wire": ("wire", "run"),
    "fair": ("fair", "run"),
    "chat": ("chat", "run"),
}
"""Module and function of each, in the order of the table; modules load what they need when they run."""
_LIMIT_S = 1800.0
"""No section may take longer."""
_SAMPLE = 25
"""Of each list of times, that are published beside the table."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run sections. Returns 0, or 1 when one failed or a bar was missed."""
    args = _arguments(arguments)
    folder: Path = args.workdir.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    runner = sections.Runner("hostile", SECTIONS, args)
    with runner.status() as say:
        setup = Setup(args.quick, folder, args.bundle.resolve(), say)
        runner.measure(lambda name: _run(name, setup), bundle=weights(setup.bundle))
    return runner.finish(sample=_SAMPLE)


def _run(name: str, setup: Setup) -> Part:
    """One section, bounded in time."""
    module, function = SECTIONS[name]
    run: Callable[[Setup], Awaitable[Part]] = getattr(import_module(f"bench.hostile.{module}"), function)
    return asyncio.run(asyncio.wait_for(run(setup), _LIMIT_S))


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = sections.arguments("hostile", __doc__, SECTIONS)
    parser.add_argument("--bundle", type=Path, default=Path("models/starter/bundle"))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
