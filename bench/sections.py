"""Sections of a benchmark: run one by one, and kept so that a run can go on where it stopped."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console

import quizglass
import quizglass_bundle
import quizglass_client
import quizglass_export
import quizglass_server
from bench import results
from bench.fingerprints import code
from bench.processes import ended_together
from bench.results import Row


@dataclass
class Part:
    """What a section measured."""

    rows: list[Row] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    """Kept beside the rows, for plots and for whoever wants to look closer."""


@dataclass(frozen=True)
class Finished:
    """A section that was measured, now or by a run before."""

    part: Part
    how: dict[str, Any]
    """With which settings and by which command it was measured."""


class Store:
    """Finished sections on disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, section: str, part: Part, how: dict[str, Any]) -> None:
        """Keep a section; `how` says with which settings it was measured."""
        self._folder.mkdir(parents=True, exist_ok=True)
        record = {"rows": [asdict(row) for row in part.rows], "data": part.data, "how": how}
        unfinished = self._folder / f"{section}.unfinished"
        unfinished.write_text(results.as_json(record, indent=1))
        unfinished.replace(self._folder / f"{section}.json")

    def forget(self, section: str) -> None:
        """It is measured anew."""
        (self._folder / f"{section}.json").unlink(missing_ok=True)

    def finished(self, sections: Iterable[str]) -> dict[str, Finished]:
        """Those of the sections that there are; each row names its own."""
        found: dict[str, Finished] = {}
        for name in sections:
            if (record := self.load(name)) is not None:
                part, how = record
                found[name] = Finished(Part([replace(row, section=name) for row in part.rows], part.data), how)
        return found

    def load(self, section: str) -> tuple[Part, dict[str, Any]] | None:
        """A section with how it was measured; None where it has not been, or its file is no such record."""
        try:
            record = json.loads((self._folder / f"{section}.json").read_text())
            return Part([Row(**row) for row in record["rows"]], record["data"]), record["how"]
        except (OSError, ValueError, KeyError, TypeError):
            return None


def published(name: str) -> dict[str, Finished]:
    """The sections that bench/results/NAME.json has; none where there is no such file.

    Raises:
        ValueError: a row names no section, so that it is unknown which rows a section would replace.
    """
    path = results.RESULTS / f"{name}.json"
    if not path.is_file():
        return {}
    record = json.loads(path.read_text())
    rows = [Row(**row) for row in record["rows"]]
    if unnamed := [row.name for row in rows if not row.section]:
        raise ValueError(f"{path.name}: {len(unnamed)} rows name no section, as {unnamed[0]!r}; run without --only")
    return {
        section: Finished(Part([row for row in rows if row.section == section], record["data"][section]), how)
        for section, how in record["sections"].items()
    }


def published_detail(name: str, detail: str) -> Any:
    """What bench/results/NAME.json has beside its rows and sections; None where it has no such thing."""
    path = results.RESULTS / f"{name}.json"
    return json.loads(path.read_text()).get(detail) if path.is_file() else None


def sampled(data: Any, most: int) -> Any:
    """Data with at most so many items of each list that stands in it, evenly drawn."""
    if isinstance(data, dict):
        return {key: sampled(each, most) for key, each in data.items()}
    if isinstance(data, list):
        return [sampled(each, most) for each in data[:: max(1, -(-len(data) // most))]]
    return data


def arguments(name: str, description: str | None, sections: Collection[str]) -> argparse.ArgumentParser:
    """The command line that every benchmark of sections has; each adds its own options."""
    parser = argparse.ArgumentParser(
        prog=f"bench.{name}", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", nargs="+", choices=list(sections), help="sections to measure; others keep their published rows"
    )
    parser.add_argument(
        "--resume", action="store_true", help="leave out sections that are finished, with the same settings and code"
    )
    parser.add_argument("--quick", action="store_true", help="small counts, to see that everything runs")
    parser.add_argument("--workdir", type=Path, default=Path("work/bench"))
    return parser


class Runner:
    """One run of a benchmark: measures what was asked for, then prints and writes every section.

    A run of all sections replaces what was published. One with `--only` replaces the sections that it finished, and
    leaves the others as they were published, whatever the work directory has of them.
    """

    def __init__(
        self,
        name: str,
        sections: Collection[str],
        args: argparse.Namespace,
        partly: Collection[str] = (),
        only_named: Collection[str] = (),
    ) -> None:
        """`sections` in the order of the table; `args` as `arguments` reads them.

        Those of `partly` keep their finished parts themselves, and are asked for what is missing also when resumed.
        Those of `only_named` are measured where they are named; a run of all others leaves them as they were published.
        """
        self._name = name
        self._sections = sections
        self._partial = args.only is not None
        self._only = args.only or [name for name in sections if name not in only_named]
        self._stay = sections if self._partial else only_named
        self._resume, self._quick = args.resume, args.quick
        self._partly = partly
        self._settings: dict[str, object] = {}
        self._store = Store(args.workdir.resolve() / (f"{name}-quick" if args.quick else name))
        self._console = Console()
        self._finished: list[str] = []
        self._failed: list[str] = []

    @contextmanager
    def status(self) -> Iterator[Callable[[str], None]]:
        """Shows what is being done, behind the seconds since it began; ended meanwhile, it ends what it started."""
        began = perf_counter()
        with ended_together(), self._console.status("starting") as status:
            yield lambda text: status.update(f"[{perf_counter() - began:5.0f} s] {text}")

    def measure(self, run: Callable[[str], Part], **settings: object) -> None:
        """Run sections by name; `settings` are kept with each, beside its seconds, the command and the code's hash.

        What was kept of them before counts when resumed alone: one that fails now, or is not reached, has no figures.
        """
        packages = quizglass, quizglass_client, quizglass_export, quizglass_bundle, quizglass_server
        self._settings = {"code": code(*packages), **settings}
        for name in () if self._resume else self._only:
            self._store.forget(name)
        for name in self._only:
            if self._resume and name not in self._partly and self._keeps(name):
                self._console.print(f"{name}: kept")
                self._finished.append(name)
            elif self._measured(name, run):
                self._finished.append(name)
            else:
                self._failed.append(name)

    def _keeps(self, name: str) -> bool:
        """Whether a section is finished, and was measured with this run's settings, of this code."""
        record = self._store.load(name)
        wanted = json.loads(results.as_json(self._settings, indent=0))
        return record is not None and all(record[1].get(key) == value for key, value in wanted.items())

    def _measured(self, name: str, run: Callable[[str], Part]) -> bool:
        """One section; False if it failed. Its rows are printed and kept as soon as it ends."""
        began = perf_counter()
        try:
            part = run(name)
        except Exception:
            self._console.print(f"[red]{name} failed[/]")
            self._console.print_exception(max_frames=4)
            return False
        took = perf_counter() - began
        where = {"cpu": results.machine()["cpu"], "versions": results.versions()}
        how = {"command": results.command(self._name), **where}
        self._store.save(name, part, {"seconds": round(took), **self._settings, **how})
        results.show(part.rows, f"{name}, {took:.0f} s", self._console)
        return True

    def finish(
        self,
        plot: Callable[[dict[str, Any]], Path | None] | None = None,
        *,
        name_missing: bool = False,
        sample: int = 0,
        **details: object,
    ) -> int:
        """Print and write every finished section. Returns 0, or 1 when one failed or a bar was missed.

        `plot` draws what was measured, by section. With `name_missing`, sections that never ran have a row that says
        so. With `sample`, so many items of each list of the data are published, and all of them stay in the work
        directory alone. `details` are kept beside the rows.
        """
        found = self._found()
        rows = [row for each in found.values() for row in each.part.rows]
        data = {name: each.part.data for name, each in found.items()}
        if name_missing:
            missing = (name for name in self._sections if name not in found)
            rows += [Row(f"section {name}", None, "", "not measured yet", section=name) for name in missing]
        results.show(rows, self._name, self._console)
        if self._quick:
            self._console.print("a quick run: the figures mean nothing and are not published")
        else:
            how = {name: each.how for name, each in found.items()}
            path = results.write(
                self._name, rows, **details, sections=how, data=sampled(data, sample) if sample else data
            )
            self._console.print(f"{path} and {plot(data)}" if plot else path)
        if self._failed:
            self._console.print(f"failed: {', '.join(self._failed)}")
        return 1 if self._failed or any(row.ok is False for row in rows) else 0

    def _found(self) -> dict[str, Finished]:
        """What is known of the sections, in the order of the table.

        What the work directory has of sections that this run did not measure counts where nothing of them is published
        and they are of the same settings: none that failed now keeps a result from other settings.
        """
        others = (name for name in self._sections if name not in self._failed and self._keeps(name))
        found = self._store.finished([*self._finished, *others])
        if self._stay and not self._quick:
            stay = set(self._stay).difference(self._finished)
            found |= {name: each for name, each in published(self._name).items() if name in stay}
        return {name: found[name] for name in self._sections if name in found}
