"""`python -m bench.session [--only SECTION ...] [--resume] [--quick]`: measure, print and write results.

Every section starts a server of its own on the starter bundle and a world of knowledge, and talks to it through the
published SDK, where links break through a proxy. --quick runs everything with small counts and keeps nothing.
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
from bench.sections import Part
from bench.session.stage import Served, SessionSetup, served

SECTIONS = {
    "first": ("turns", "first_words"),
    "calls": ("turns", "calls"),
    "cancel": ("turns", "cancel"),
    "openai": ("over_http", "chat"),
    "browser": ("over_http", "browser"),
    "bytes": ("links", "second_question"),
    "beside": ("beside", "beside"),
    "cuts": ("links", "cuts"),
    "resume": ("links", "resume"),
    "upload": ("links", "cancel_in_upload"),
    "closer": ("closer", "thumbnails"),
    "coaching": ("coaching", "coaching"),
    "photographs": ("photographs", "photographs"),
    "pong": ("idle", "pong"),
    "memory": ("idle", "memory"),
}
"""Module and function of each, in the order of the table."""
FLAGS = {"openai": ("--web-port", "0"), "browser": ("--web-port", "0")}
"""Of the servers of sections that need others than the usual ones."""
_LIMIT_S = 3600.0
"""No section may take longer."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run sections. Returns 0, or 1 when one failed or a bar was missed."""
    parser = sections.arguments("session", __doc__, SECTIONS)
    parser.add_argument("--bundle", type=Path, default=Path("models/starter/bundle"))
    parser.add_argument(
        "--photographs", type=Path, help="folder of the unpacked wheels of scikit-image and scikit-learn"
    )
    args: argparse.Namespace = parser.parse_args(arguments)
    if args.photographs is None and "photographs" in (args.only or SECTIONS):
        parser.error("--photographs: the section photographs needs this folder; name it, or other sections with --only")
    folder: Path = args.workdir.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    runner = sections.Runner("session", SECTIONS, args)
    with runner.status() as say:
        setup = SessionSetup(args.quick, folder, args.bundle.resolve(), say, args.photographs)
        bundle = weights(setup.bundle)
        runner.measure(lambda name: asyncio.run(asyncio.wait_for(_run(name, setup), _LIMIT_S)), bundle=bundle)
    return runner.finish()


async def _run(name: str, setup: SessionSetup) -> Part:
    module, function = SECTIONS[name]
    section: Callable[[SessionSetup, Served], Awaitable[Part]] = getattr(
        import_module(f"bench.session.{module}"), function
    )
    async with served(setup, FLAGS.get(name, ())) as stage:
        return await section(setup, stage)


if __name__ == "__main__":
    sys.exit(main())
