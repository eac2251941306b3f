"""`python -m bench.gpu [pack] [--only SECTION ...] [--resume] [--quick]`: on a machine with a card.

`first` says what the card, its driver and its libraries are, and which of ONNX Runtime's providers load; without a card
that is all, and nothing is published. `check` compares answers with the CPU's, `measure` times a reranker of real size,
`others` a planner that sees and encoders, `generator` one of 1.5B beside llama.cpp alone, and `recipe` trains a model
of real size with random weights for a few steps.
`pack DIR` instead packs directories for a machine that has no network, in pieces of at most 60 MiB.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from bench import sections
from bench.fingerprints import weights
from bench.gpu.first import card
from bench.gpu.pack import pack
from bench.hostile.sections import Setup
from bench.sections import Part

SECTIONS = ("first", "check", "measure", "others", "generator", "recipe")
"""A module each, with `run`; in the order of the table."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run sections. Returns 0, or 1 when one failed, a bar was missed, or there is no card."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["pack"]:
        return pack(given[1:])
    parser = sections.arguments("gpu", __doc__, SECTIONS)
    parser.add_argument("--bundle", type=Path, default=Path("models/starter/bundle"))
    args = parser.parse_args(given)
    if (found := card()) is None:
        print("no NVIDIA card answers `nvidia-smi`; the rest needs one, and nothing is published", file=sys.stderr)
        args.only, args.quick = ["first"], True
    folder: Path = args.workdir.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    runner = sections.Runner("gpu", SECTIONS, args)
    with runner.status() as say:
        setup = Setup(args.quick, folder, args.bundle.resolve(), say)
        runner.measure(lambda name: _run(name, setup), bundle=weights(setup.bundle))
    status = runner.finish(card=found)
    return status if found else 1


def _run(name: str, setup: Setup) -> Part:
    run: Callable[[Setup], Part] = import_module(f"bench.gpu.{name}").run
    return run(setup)


if __name__ == "__main__":
    sys.exit(main())
