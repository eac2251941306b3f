"""Searches and writes beside others: each in its own process, in turn, compared at equal recall."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from bench.knowledge.setup import Setup
from bench.knowledge.vectors import SETS, latency
from bench.knowledge.worker import Worker
from bench.results import Row, against, at_least, at_most, measured, ratio, spread
from bench.sections import Part
from quizglass_server.knowledge.index.graph import SEARCH_EF

EFS = (16, 24, 32, 48, 64, 96, 128, 192, 256)
"""How far graphs are explored, for curves of recall against latency."""
EQUAL = 0.99
"""Recall at which latencies are compared."""
_FURTHEST = 1024
_SLICES = 5
_PLACES = 2  # processes a round
_IMPORTED = 3_000  # entries a round
_SINGLES = 1_000
_TITLES = 5  # as many as the names that a text search follows

Point = dict[str, float]


def index(setup: Setup, size: int) -> Part:
    """The vector index beside those of libraries."""
    size = setup.count(size, size // 10)
    part, words = Part(), f"{size:,}"
    contenders = ["quizglass index", "hnswlib", "faiss", "usearch"]
    with tempfile.TemporaryDirectory(dir=setup.folder) as scratch:
        home = Path(scratch)
        with setup.workers(contenders, size, part, home) as workers:
            efs = _filled(workers, setup, size, part)
        rounds = in_processes(efs, setup, size, home, part)
        ours = rounds.pop("quizglass index")
        for name, theirs in rounds.items():
            what = f"index search p50 at recall {EQUAL:g}, {words}"
            part.rows.append(against(what, ours, "us", name, theirs, 1.2 if name == "hnswlib" else None))
    return part


def _filled(workers: dict[str, Worker], setup: Setup, size: int, part: Part) -> dict[str, int]:
    """Fill the indexes, draw their curves and save them; how little each may explore for equal recall."""
    for worker in workers.values():
        setup.say(f"filling {worker.name}")
        worker.ask("fill", start=0, stop=size)
        part.data.setdefault("memory_mib", {})[worker.name] = worker.ask("memory")["memory_mib"]
        worker.ask("save")
    part.data["curves"] = curves(workers, setup)
    default = workers["quizglass index"].ask("search", ef=SEARCH_EF, of=0)
    part.rows.append(at_least(f"recall@10 at the default setting, {size:,}", default["recall"], "", EQUAL))
    return equal(workers, setup, part)


def store(setup: Setup, size: int) -> Part:
    """The store beside other stores: durable writes, searches with texts; then its start, and searches with imports."""
    size = setup.count(size, size // 10)
    part = Part()
    with tempfile.TemporaryDirectory(dir=setup.folder) as scratch:
        home = Path(scratch)
        with setup.workers(["quizglass", "Chroma", "LanceDB"], size, part, home) as workers:
            _writes(setup, size, workers, part)
            _searches(setup, size, workers, part)
        _start(setup, size, home, part)
        _importing(setup, size, home, part)
    return part


def curves(workers: dict[str, Worker], setup: Setup) -> dict[str, list[Point]]:
    """Recall against latency."""
    found: dict[str, list[Point]] = {name: [] for name in workers}
    for ef in EFS:
        for name, worker in workers.items():
            setup.say(f"{name} at {ef}")
            found[name].append(worker.ask("search", ef=ef, of=0))
    return found


def least(recall: Callable[[int], float], most: int = _FURTHEST) -> int | None:
    """The smallest ef that has enough recall; None when not even the furthest has. Recall must grow with it."""
    low, high = 10, most
    if recall(low) >= EQUAL:  # exact search, or easy vectors
        return low
    if recall(high) < EQUAL:
        return None
    low += 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if recall(middle) >= EQUAL else (middle + 1, high)
    return low


def equal(workers: dict[str, Worker], setup: Setup, part: Part) -> dict[str, int]:
    """How little each may explore for equal recall."""
    efs: dict[str, int] = {}
    for name, worker in workers.items():
        setup.say(f"{name}: how far for recall {EQUAL:g}")
        ef = least(lambda ef, worker=worker: float(worker.ask("search", ef=ef, of=0)["recall"]))  # type: ignore[misc]
        if ef is None:
            part.rows.append(Row(f"{name} does not reach recall {EQUAL:g}, explored so far", _FURTHEST, ""))
        else:
            efs[name] = ef
    part.data["equal"] = efs
    return efs


def at_equal_recall(workers: dict[str, Worker], setup: Setup, part: Part) -> dict[str, list[float]]:
    """Median microseconds of each, round by round in turn, where each explores as little as equal recall takes."""
    efs = equal(workers, setup, part)
    took: dict[str, list[float]] = {name: [] for name in efs}
    for number in range(setup.rounds):
        for name, ef in efs.items():
            setup.say(f"round {number + 1}, {name}")
            took[name].append(workers[name].ask("search", ef=ef, of=1 + number)["p50_us"])
    part.data["rounds_us"] = dict(took)
    return took


def in_processes(efs: dict[str, int], setup: Setup, size: int, home: Path, part: Part) -> dict[str, list[float]]:
    """As `at_equal_recall`, each round in a new process that reads the saved index.

    Where in memory an index happens to lie is worth a third of a search: so each lies in as many places as there are
    rounds.
    """
    took: dict[str, list[float]] = {name: [] for name in efs}
    for number in range(setup.count(_PLACES * setup.rounds, 1)):
        for name, ef in efs.items():
            setup.say(f"process {number + 1}, {name}")
            with setup.workers([name], size, part, home) as new:
                new[name].ask("load")
                took[name].append(new[name].ask("search", ef=ef, of=1 + number % (SETS - 1))["p50_us"])
    part.data["rounds_us"] = dict(took)
    return took


def _writes(setup: Setup, size: int, workers: dict[str, Worker], part: Part) -> None:
    """Slices of the vectors in turn."""
    rows: dict[str, list[float]] = {name: [] for name in workers}
    indexed: list[float] = []
    for number in range(_SLICES):
        start, stop = size * number // _SLICES, size * (number + 1) // _SLICES
        for name, worker in workers.items():
            setup.say(f"writing slice {number + 1}, {name}")
            said = worker.ask("fill", start=start, stop=stop)
            rows[name].append(said["rows_s"])
            indexed += [said["indexed_rows_s"]] if "indexed_rows_s" in said else []
    ours, words = rows.pop("quizglass"), f"{size:,}"
    for name, theirs in rows.items():
        part.rows.append(_more(f"durable rows a second, {words}", ours, name, theirs, 2 if name == "Chroma" else None))
    part.rows.append(measured(f"durable and indexed rows a second, {words}", indexed, "rows/s"))
    alone = workers["quizglass"].ask("singles", count=setup.count(_SINGLES, 50))["rows_s"]
    part.rows.append(Row(f"durable rows a second, one a stream and {_SINGLES:,} streams, {words}", alone, "rows/s"))
    part.data["rows_s"] = {"quizglass": ours, **rows}


def _searches(setup: Setup, size: int, workers: dict[str, Worker], part: Part) -> None:
    words = f"{size:,}"
    rounds = at_equal_recall(workers, setup, part)
    ours = rounds.pop("quizglass")
    for name, theirs in rounds.items():
        what = f"store search p50 with texts at recall {EQUAL:g}, {words}"
        part.rows.append(against(what, ours, "us", name, theirs, 0.3 if name == "Chroma" else None))
    modes: dict[str, list[float]] = {"vectors": [], "hybrid": []}
    titled = list[float]()
    for number in range(setup.rounds):
        for mode, took in modes.items():
            took.append(workers["quizglass"].ask("search", ef=SEARCH_EF, of=1 + number, mode=mode)["p50_us"])
        titled.append(workers["quizglass"].ask("titled", of=1 + number, titles=_TITLES)["p50_us"])
    what = f"hybrid store search p50, three of 20,000 words, {words}"
    part.rows.append(against(what, modes["hybrid"], "us", "vectors", modes["vectors"]))
    what = f"store search p50 among the entries of {_TITLES} titles, {words}"
    part.rows.append(against(what, titled, "us", "among all", modes["vectors"]))


def _start(setup: Setup, size: int, home: Path, part: Part) -> None:
    """Processes that open the store and answer once."""
    seconds, memory, cold = [], [], []
    for number in range(setup.rounds):
        with setup.workers(["quizglass"], size, part, home) as workers:
            said = workers["quizglass"].ask("first")
            cold.append(workers["quizglass"].ask("search", ef=SEARCH_EF, of=1 + number)["p50_us"])
            seconds.append(said["start_s"])
            memory.append(said["memory_mib"])
    part.rows.append(at_most(f"start to the first search, {size:,} ({spread(seconds)})", median(seconds), "s", 2))
    part.rows.append(measured(f"store search p50 after a start, every row from the file, {size:,}", cold, "us"))
    part.rows.append(measured(f"memory of the store after its start, {size:,}", memory, "MiB"))


def _importing(setup: Setup, size: int, home: Path, part: Part) -> None:
    """Rounds of searches with an import beside them, and as many without."""
    busy, idle, rows = list[float](), list[float](), list[float]()
    with setup.workers(["quizglass"], size, part, home) as workers:
        for number in range(setup.rounds):
            setup.say(f"importing, round {number + 1}")
            said = workers["quizglass"].ask("importing", count=setup.count(_IMPORTED, 200))
            busy += said["busy"]
            idle += said["idle"]
            rows.append(said["rows_s"])
    loaded, alone = latency(busy), latency(idle)
    part.data["importing"] = {"busy": loaded, "idle": alone, "searches": len(busy), "rows_s": rows}
    name, mine, other = f"search p99 while importing, {size:,}", loaded["p99_us"] / 1e3, alone["p99_us"] / 1e3
    part.rows.append(Row(name, mine, "ms", "idle", other, ratio(mine, other), "<= 2x peer", mine <= 2 * other))
    part.rows.append(Row(f"slowest search while importing, {size:,}", 1e3 * max(busy), "ms"))
    part.rows.append(measured(f"rows a second imported beside the searches, {size:,}", rows, "rows/s"))


def _more(name: str, ours: Sequence[float], peer: str, theirs: Sequence[float], least: float | None) -> Row:
    """Medians; with a bar ours must be so many times the peer's."""
    mine, other = median(ours), median(theirs)
    bar, ok = ("", None) if least is None else (f">= {least:g}x peer", mine >= least * other)
    unit, both = "rows/s", ratio(mine, other)
    return Row(f"{name} ({spread(ours)})", mine, unit, f"{peer} ({spread(theirs)})", other, both, bar, ok)
