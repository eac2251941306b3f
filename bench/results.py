"""Results of a benchmark: measured rows with their bars, as JSON for machines and a table for people."""

from __future__ import annotations

import json
import math
import platform
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from statistics import median, quantiles

from rich.console import Console
from rich.markup import escape
from rich.table import Table

RESULTS = Path(__file__).parent / "results"
_FOLDERS = ("--workdir", "--everyday")
_PACKAGES = ("quizglass", "grpcio", "hnswlib", "llama-cpp-python", "onnxruntime", "rapidocr", "torch", "transformers")


@dataclass(frozen=True)
class Row:
    """One measured figure, beside a peer's where there is one."""

    name: str
    value: float | None
    """None where nothing was measured; the peer's column says why."""
    unit: str
    peer: str = ""
    peer_value: float | None = None
    ratio: float | None = None
    bar: str = ""
    """The condition as text, e.g. ">= 0.90"; empty when the figure is only reported."""
    ok: bool | None = None
    section: str = ""
    """Of the benchmark, by its name in the results; empty in a benchmark without sections."""


def beats(name: str, value: float, unit: str, peer: str, peer_value: float, *, lower: bool = False) -> Row:
    """A row that must be better than its peer: higher, or lower."""
    ok = value < peer_value if lower else value > peer_value
    return Row(name, value, unit, peer, peer_value, ratio(value, peer_value), "< peer" if lower else "> peer", ok)


def ratio(value: float, peer_value: float) -> float | None:
    """Of a value to its peer's; None for a peer of 0."""
    return value / peer_value if peer_value else None


def at_least(name: str, value: float, unit: str, bar: float) -> Row:
    """A row that must reach a bar."""
    return Row(name, value, unit, bar=f">= {bar:g}", ok=value >= bar)


def at_most(name: str, value: float, unit: str, bar: float) -> Row:
    """A row that must stay within a bar."""
    return Row(name, value, unit, bar=f"<= {bar:g}", ok=value <= bar)


def spread(values: Sequence[float]) -> str:
    """Quartiles as text; the values themselves where there are fewer than three."""
    if len(values) < 3:
        return " and ".join(f"{value:.4g}" for value in values)
    low, _, high = quantiles(values, n=4, method="inclusive")
    return f"quartiles {low:.4g} to {high:.4g}"


def measured(name: str, values: Sequence[float], unit: str) -> Row:
    """The median of a figure nothing is compared with."""
    return Row(f"{name} ({spread(values)})", median(values), unit)


def against(
    name: str, values: Sequence[float], unit: str, peer: str, peer_values: Sequence[float], bar: float | None = None
) -> Row:
    """Medians of ours and of a peer's, round by round; with a bar ours may be at most so many times the peer's."""
    ours, theirs = median(values), median(peer_values)
    of = ratio(ours, theirs)
    ok = None if bar is None or of is None else of <= bar
    text = "" if bar is None else f"<= {bar:g}x peer"
    return Row(f"{name} ({spread(values)})", ours, unit, f"{peer} ({spread(peer_values)})", theirs, of, text, ok)


def absent(name: str, value: float, unit: str, peer: str, why: str) -> Row:
    """A figure whose peer could not be run, with the reason."""
    return Row(name, value, unit, peer=f"{peer} not run: {why}")


def machine() -> dict[str, object]:
    """What it ran on."""
    model = next(
        (line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), ""
    )
    memory_kib = next((int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), 0)
    cores = sum(line.startswith("processor") for line in _lines("/proc/cpuinfo"))
    return {"cpu": model, "cores": cores, "memory_gib": round(memory_kib / 2**20, 1), "system": platform.system()}


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def versions() -> dict[str, str]:
    """Versions of the measured packages."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def write(name: str, rows: list[Row], **details: object) -> Path:
    """Write bench/results/NAME.json; `details` are kept beside the rows."""
    record = {
        "machine": machine(),
        "versions": versions(),
        "command": command(name),
        "rows": [asdict(row) for row in rows],
    }
    path = RESULTS / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(as_json(record | details, indent=2) + "\n")
    return path


def command(name: str) -> str:
    """As the benchmark was started, without folders of the machine.

    Those that change nothing that is measured are left out, and others are called what they are.
    """
    said, folder = [], False
    for word in sys.argv[1:]:
        option, is_, value = word.rpartition("=")
        if not folder and word.partition("=")[0] not in _FOLDERS:
            said.append(f"{option}{is_}FOLDER" if Path(value).is_absolute() else word)
        folder = word in _FOLDERS
    return shlex.join(["python", "-m", f"bench.{name}", *said])


def as_json(record: object, indent: int) -> str:
    """As JSON, which has no word for NaN or infinity: they become null."""
    return json.dumps(_finite(record), indent=indent, allow_nan=False)


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {key: _finite(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(held) for held in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def show(rows: list[Row], title: str, console: Console) -> None:
    """Print the rows as a table."""
    table = Table(title=title)
    for heading in ("", "value", "peer", "bar", ""):
        table.add_column(heading, justify="left" if heading in ("", "peer") else "right")
    marks = {True: "[green]ok[/]", False: "[red]short[/]", None: ""}
    for row in rows:
        peer = f"{row.peer} {row.peer_value:.4g}" if row.peer_value is not None else row.peer
        value = "none" if row.value is None else f"{row.value:.4g} {row.unit}"
        table.add_row(*map(escape, (row.name, value, peer, row.bar)), marks[row.ok])
    console.print(table)
