"""`python -m bench.everyday [--only SECTION ...] [--resume] [--quick]`: measure, print and write results.

The bundle is built first where it is not there (`quizglass-export everyday bundle`). Photographs and passages come from
packages of Debian, which `apt-get download` brings without root rights; where there is none, put the .deb files that it
names into WORKDIR/everyday-files/debian.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from importlib import import_module
from inspect import isawaitable
from pathlib import Path
from typing import Any

from bench import sections
from bench.everyday.setup import Setup
from bench.fingerprints import weights
from bench.sections import Part
from quizglass_export.everyday.build import ADAPTERS, adapter, build_bundle

SECTIONS = {
    "plain": ("pictures", "plain"),
    "busy": ("pictures", "busy"),
    "texts": ("passages", "texts"),
    "answers": ("notes", "answers"),
    "planning": ("planning", "planning"),
    "own": ("own", "own"),
    "refused": ("refused", "refused"),
    "tags": ("tags", "tags"),
    "parity": ("parity", "parity"),
    "turns": ("turns", "turns"),
}
"""Module and function of each, in the order of the table."""
_SAMPLE = 8
"""Of the answers, that are published beside the table."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run sections. Returns 0, or 1 when one failed or a bar was missed."""
    parser = sections.arguments("everyday", __doc__, SECTIONS)
    parser.add_argument("--everyday", type=Path, default=Path("work/everyday"), help="where the bundle is built")
    parser.add_argument("--adapters", type=Path, default=ADAPTERS, help="trained adapters, if there are")
    parser.add_argument("--seed", type=int, default=7, help="of the random draws")
    args = parser.parse_args(arguments)
    folder: Path = args.workdir.resolve() / "everyday-files"
    folder.mkdir(parents=True, exist_ok=True)
    runner = sections.Runner("everyday", SECTIONS, args)
    trained = {name: adapter(name, args.adapters) is not None for name in ("generator", "planner")}
    with runner.status() as say:
        build_bundle(args.everyday, adapters=args.adapters, tell=say)
        setup = Setup(args.quick, args.everyday.resolve(), folder, args.adapters.resolve(), args.seed, say)
        runner.measure(lambda name: _run(name, setup), seed=args.seed, bundle=weights(setup.bundle))
    return runner.finish(sample=_SAMPLE, adapters=trained)


def _run(name: str, setup: Setup) -> Part:
    module, function = SECTIONS[name]
    section: Any = getattr(import_module(f"bench.everyday.{module}"), function)
    ran = section(setup)
    part: Part = asyncio.run(_awaited(ran)) if isawaitable(ran) else ran
    return part


async def _awaited(ran: Any) -> Part:
    part: Part = await ran
    return part


if __name__ == "__main__":
    sys.exit(main())
