"""`python -m bench.export [--only SECTION ...] [--resume] [--quick]`: measure, print, write results.

A section that is finished is kept at once, so an interrupted run goes on with --resume, and --only measures some of
them and leaves the rows of the others. --quick runs with small counts, to see that everything works, and publishes
nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from bench import sections
from bench.export.setup import Setup
from bench.fingerprints import checkpoints

SECTIONS = {
    "graphs": "graphs",
    "adapters": "adapters",
    "generators": "generators",
    "types": "gguf_types",
    "heads": "heads",
    "precisions": "precisions",
    "memory": "memory",
    "cards": "cards",
    "cards-real": "cards:run_real",
}
"""Section to its module, and its function where that is not `run`, in the order of the table; modules load what they
need when they run."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure. Returns 0, or 1 when a section failed or a bar was missed."""
    parser = sections.arguments("export", __doc__, SECTIONS)
    parser.add_argument("--checkpoints", type=Path, default=Path("models/starter/checkpoints"))
    args = parser.parse_args(arguments)
    runner = sections.Runner("export", SECTIONS, args)
    with runner.status() as say:
        setup = Setup(args.quick, args.checkpoints, say)

        def run(name: str) -> sections.Part:
            module, _, function = SECTIONS[name].partition(":")
            part: sections.Part = getattr(import_module(f"bench.export.{module}"), function or "run")(setup)
            return part

        runner.measure(run, checkpoints=checkpoints(args.checkpoints))
    return runner.finish()


if __name__ == "__main__":
    sys.exit(main())
