"""Whole turns of a served bundle: how long, how soon the first words, how much memory, and what is right."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from PIL import Image

from bench.engine.figures import percentile
from bench.engine.scorers.memory import memory_kib
from bench.everyday.setup import Setup, between
from bench.processes import children
from bench.results import Row, at_most
from bench.sections import Part
from quizglass_client import Answer, AnswerDelta, Client
from quizglass_client.local import LocalServer
from quizglass_export.everyday.build import adapter
from quizglass_lab.everyday.knowledge import EIGHT, KNOWLEDGE, AskedPhotograph, asked_path, write_knowledge
from quizglass_lab.scoring.claims import contains_words

LOOKED_UP, NOTHING, AGENT = "image", "none", "planning-agent+"
_POLICIES = (LOOKED_UP, NOTHING, AGENT)
_BUDGET_S, _WARM = 60.0, 2


@dataclass(frozen=True)
class Timed:
    """One turn as its client saw it, in milliseconds."""

    right: bool
    first: float
    """To the first piece of the answer, or to the end where there was none."""
    whole: float


def turns(setup: Setup) -> Part:
    """The demo's questions, again and again, about photographs that no cache has seen."""
    write_knowledge(setup.workdir)
    rounds = setup.count(5, 1)
    setup.folder.mkdir(parents=True, exist_ok=True)
    with LocalServer(setup.bundle, setup.folder / "knowledge", log=setup.folder / "server.log") as server:
        import_folder(server.target, setup.workdir / KNOWLEDGE)
        with Client(server.target, timeout=2 * _BUDGET_S) as client:
            timed: dict[str, list[Timed]] = {}
            for policy in _POLICIES if adapter("planner", setup.adapters) else _POLICIES[:-1]:
                setup.say(f"{rounds * len(EIGHT)} turns, policy {policy}")
                photographs = _photographs(setup.workdir, rounds, policy)
                timed[policy] = [_ask(client, asked, shown, policy) for asked, shown in photographs][_WARM:]
        rows = [row for policy, some in timed.items() for row in _rows(policy, some)]
        rows += _memory(server.pid)
    size = sum(path.stat().st_size for path in setup.bundle.rglob("*") if path.is_file())
    rows.append(Row("size of the bundle", size / 1e6, "MB"))
    return Part(rows, {policy: [vars(each) for each in some] for policy, some in timed.items()})


def import_folder(target: str, folder: Path) -> None:
    """Import as a user does, by the command."""
    command = [sys.executable, "-m", "quizglass_client.cli", "--server", target, "knowledge", "import", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # our own command, no shell


def _photographs(workdir: Path, rounds: int, policy: str) -> Iterator[tuple[AskedPhotograph, bytes]]:
    """Each photograph a little narrower every time and for every policy, as a JPEG."""
    for number in range(rounds):
        for asked in EIGHT:
            with Image.open(asked_path(workdir, asked)) as image:
                less = len(_POLICIES) * number + _POLICIES.index(policy)
                narrower = image.convert("RGB").crop((less, 0, image.width, image.height))
            encoded = io.BytesIO()
            narrower.save(encoded, "JPEG", quality=90)
            yield asked, encoded.getvalue()


def _ask(client: Client, asked: AskedPhotograph, photograph: bytes, policy: str) -> Timed:
    began, first, events = perf_counter(), 0.0, []
    for event in client.ask(asked.question, photograph, policy=policy, budget=_BUDGET_S):
        if not first and isinstance(event.payload, AnswerDelta):
            first = perf_counter() - began
        events.append(event)
    whole = perf_counter() - began
    right = any(contains_words(Answer.of(events).text, word) for word in asked.right)
    return Timed(right, 1e3 * (first or whole), 1e3 * whole)


def _rows(policy: str, timed: Sequence[Timed]) -> list[Row]:
    first, whole = [each.first for each in timed], [each.whole for each in timed]
    hits = sum(each.right for each in timed)
    half, most = percentile(first, 0.5), f"turns, policy {policy}: first words"
    soon = at_most(f"{most}, p50", half, "ms", 400) if policy == NOTHING else Row(f"{most}, p50", half, "ms")
    right = f"turns, policy {policy}: right about the demo's photographs ({between(hits, len(timed))} turns)"
    return [
        Row(right, 100 * hits / len(timed), "%"),
        soon,
        Row(f"{most}, p95", percentile(first, 0.95), "ms"),
        Row(f"turns, policy {policy}: whole, p50", percentile(whole, 0.5), "ms"),
        Row(f"turns, policy {policy}: whole, p95", percentile(whole, 0.95), "ms"),
    ]


def _memory(pid: int) -> list[Row]:
    """Of the server and of the processes it started: the most that each ever had resident."""
    own = memory_kib("VmHWM", pid) / 1e6 * 1.024
    others = sum(memory_kib("VmHWM", child) for child in children(pid)) / 1e6 * 1.024
    return [
        Row("peak memory, server", own, "GB"),
        Row("peak memory, its processes", others, "GB"),
        at_most("peak memory, together", own + others, "GB", 1.2),
    ]
