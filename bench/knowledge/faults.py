"""Sections that run programs of their own: damaged files, kills, and questions with rare names."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.knowledge.damage import MEMORY
from bench.knowledge.setup import Setup
from bench.knowledge.worker import ROOT
from bench.results import Row, against, at_most, beats
from bench.sections import Part

_SEED, _THINGS = 404, 2_000  # of the world with rare names


def damage(setup: Setup) -> Part:
    """Every file damaged in every way."""
    with _scratch(MEMORY) as folder:
        return damaged(_run("damage", "--json", "--each", str(setup.mutations), "--folder", folder))


def kills(setup: Setup) -> Part:
    """A writing process killed again and again."""
    with _scratch(setup.folder) as folder:
        return killed(_run("kill", "--kills", str(setup.kills), "--folder", folder))


def rare(setup: Setup) -> Part:
    """Words beside vectors, against vectors alone."""
    things = setup.count(_THINGS, 500)
    with _scratch(setup.folder) as folder:
        said = _run("rare", str(setup.bundle), str(_SEED), str(things), folder, str(setup.rounds))
    mine, other, about = said["hybrid"], said["vectors"], f"{said['questions']} questions with rare names"
    rows = [
        beats(f"hybrid recall@5, {about}", mine["recall_5"], "", "vectors", other["recall_5"]),
        against(f"hybrid p50 with the embedding, {about}", mine["whole_us"], "us", "vectors", other["whole_us"], 2.0),
        against(f"the same without the embedding, {about}", mine["search_us"], "us", "vectors", other["search_us"]),
        Row(f"keywords alone, recall@5, {about}", said["keywords"]["recall_5"], ""),
    ]
    return Part(rows, said)


def damaged(said: dict[str, Any]) -> Part:
    """Rows for the report of `bench.knowledge.damage`."""
    outcomes = said["outcomes"]
    kinds = {file.split(" ", 1)[1] for file in said["files"]}  # without the state of the store it was taken from
    about = f"{said['each']:,} mutations of each of {len(kinds)} files"
    crashes = outcomes.get("crashed", 0) + outcomes.get("repair-crashed", 0)
    rows = [
        at_most(f"crashes over {about}", crashes, "", 0),
        at_most(f"silently wrong over {about}", outcomes.get("wrong", 0) + outcomes.get("repaired-wrong", 0), "", 0),
        Row("answered right", outcomes.get("right", 0), ""),
        Row("refused", outcomes.get("refused", 0), ""),
        Row("refused and then repaired, wholly or in part", sum(outcomes.get(one, 0) for one in _REPAIRED), ""),
    ]
    return Part(rows, said)


def killed(said: dict[str, Any]) -> Part:
    """Rows for the report of `bench.knowledge.kill`."""
    rows = [
        at_most(f"acknowledged rows lost over {said['kills']:,} kill -9", said["lost"], "", 0),
        Row("of the kills, after something was acknowledged", said["under load"], ""),
        Row("calls acknowledged before a kill", said["acknowledged"], ""),
    ]
    return Part(rows, said)


_REPAIRED = ("repaired", "repaired-in-part")


def _scratch(place: Path | None) -> TemporaryDirectory[str]:
    """A folder for a program, which removes nothing of its own when it is ended with the benchmark."""
    return TemporaryDirectory(dir=place, ignore_cleanup_errors=True)


def _run(module: str, *arguments: str) -> dict[str, Any]:
    """What a program reports in its last line; it ends with the benchmark, and so does what it has started.

    Raises:
        RuntimeError: it ended without figures.
    """
    command = [sys.executable, "-m", f"bench.knowledge.{module}", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, process_group=0) as program:
        try:
            said, _ = program.communicate()
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            raise
    lines = said.strip().splitlines()
    if not lines or not lines[-1].startswith("{"):
        raise RuntimeError(f"{' '.join(command)} ended with {program.returncode} and no figures")
    figures: dict[str, Any] = json.loads(lines[-1])
    return figures
