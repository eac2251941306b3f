"""`python -m bench.imports [--seed N] [--count N] [--only SECTION ...]`: measure, print and write results.

Draws files of every format that can be imported, some damaged, some odd, some that mean harm, and gives each to
`quizglass knowledge import` in a process of its own. What arrives is compared with what a plain reader of the format
sees: what is neither found in the knowledge nor named by the import is a silent loss. Inputs that failed stay in the
work directory. The same seed draws the same inputs.

Section `articles` imports many articles of one benchmark's knowledge in place of that.

To add a format, write a module in `bench/imports/inputs` with `draw(random, folder) -> Drawn` and name it in `SHARES`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from random import Random

from bench import sections
from bench.fingerprints import weights
from bench.imports import articles
from bench.imports.drawing import Drawn
from bench.imports.judging import arrived, losses
from bench.imports.running import Ran, run_import
from bench.results import Row, at_most
from bench.sections import Part
from quizglass_client import Client
from quizglass_client.local import LocalServer

SHARES = {
    "folders": 15,
    "markdown": 15,
    "pages": 15,
    "texts": 8,
    "pictures": 12,
    "lines": 8,
    "tables": 12,
    "parquet": 7,
    "wiki": 8,
}
"""How many of a hundred inputs are of each format; each is a section, and a module of `bench/imports/inputs`."""
ARTICLES = "articles"
SECTIONS = (*SHARES, ARTICLES)
_LONGEST_S = 20
_TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Setup:
    """What every section works with."""

    seed: int
    count: int
    """Inputs of all sections together."""
    folder: Path
    bundle: Path
    say: Callable[[str], None]


def main(arguments: list[str] | None = None) -> int:
    """Run sections. Returns 0, or 1 when one failed or a bar was missed."""
    args = _arguments(arguments)
    folder: Path = args.workdir.resolve() / "imports-inputs"
    runner = sections.Runner("imports", SECTIONS, args)
    count = 2 * len(SHARES) if args.quick else args.count
    with runner.status() as say:
        setup = Setup(args.seed, count, folder, args.bundle.resolve(), say)
        runner.measure(lambda name: _run(name, setup), seed=args.seed, count=count, bundle=weights(setup.bundle))
    return runner.finish()


def _run(kind: str, setup: Setup) -> Part:
    """All inputs of one format against one server, or the articles."""
    if kind == ARTICLES:
        return articles.run(setup.say, min(articles.COUNT, 200 * setup.count))
    draw: Callable[[Random, Path], Drawn] = import_module(f"bench.imports.inputs.{kind}").draw
    folder = setup.folder / kind
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "server").mkdir(parents=True)
    tried = _Tried(kind)
    server = LocalServer(setup.bundle, folder / "server" / "knowledge", log=folder / "server" / "log")
    with server, Client(server.target, timeout=_TIMEOUT_S) as client:
        for number in range(max(2, setup.count * SHARES[kind] // 100)):
            setup.say(f"{kind} {number}, {len(tried.failed)} failed")
            place = folder / str(number)
            place.mkdir()
            drawn = draw(Random(f"{setup.seed} {kind} {number}"), place)
            ran = run_import(server.target, drawn.path)
            lost = [] if ran.crash else losses(drawn, ran, arrived(client, drawn.seen))
            if not tried.add(number, drawn, ran, lost):
                shutil.rmtree(place, ignore_errors=True)
    return tried.part()


class _Tried:
    """What the inputs of one format did."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._states = Counter[str]()
        self._ran: list[Ran] = []
        self._lost = self._crashed = self._words = 0
        self.failed: list[dict[str, object]] = []

    def add(self, number: int, drawn: Drawn, ran: Ran, lost: list[str]) -> bool:
        """Count one; whether it is worth a look."""
        self._states[drawn.state] += 1
        self._ran.append(ran)
        self._words += len(drawn.seen) + len(drawn.pictures)
        self._lost += bool(lost)
        self._crashed += bool(ran.crash)
        costly = ran.peak_mib > articles.MEMORY_MIB or ran.seconds > _LONGEST_S
        if lost or ran.crash or costly:
            about = {"number": number, "state": drawn.state, "what": drawn.what, "path": drawn.path.name}
            cost = {"seconds": round(ran.seconds, 1), "mib": round(ran.peak_mib)}
            self.failed.append({**about, **cost, "lost": lost[:5], "crash": ran.crash})
        return bool(self.failed and self.failed[-1]["number"] == number)

    def part(self) -> Part:
        """Rows with their bars."""
        peak_mib, longest = max(each.peak_mib for each in self._ran), max(each.seconds for each in self._ran)
        drawn = ", ".join(f"{count} {state}" for state, count in sorted(self._states.items()))
        rows = [
            Row(f"{self._kind}: inputs ({drawn}); words and pictures that plain readers see", self._words, ""),
            at_most(f"{self._kind}: inputs of which something was lost without a word", self._lost, "", 0),
            at_most(f"{self._kind}: crashes", self._crashed, "", 0),
            at_most(f"{self._kind}: memory of an import, at most", peak_mib, "MiB", articles.MEMORY_MIB),
            at_most(f"{self._kind}: time of an import, at most", longest, "s", _LONGEST_S),
        ]
        return Part(rows, {"failed": self.failed})


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = sections.arguments("imports", __doc__, SECTIONS)
    parser.add_argument("--bundle", type=Path, default=Path("models/starter/bundle"))
    parser.add_argument("--seed", type=int, default=1, help="of all that is drawn")
    parser.add_argument("--count", type=int, default=1000, help="inputs, of all formats together")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
