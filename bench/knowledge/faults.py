"""Sections that run programs of their own: damaged files, kills, and questions with rare names."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from bench.knowledge.setup import Setup
from bench.knowledge.worker import ROOT
from bench.results import Row, against, at_most, beats
from bench.sections import Part

_SEED, _THINGS = 404, 2_000  # of the world with rare names


def damage(setup: Setup) -> Part:
    """Every file damaged in every way."""
    return damaged(_run("damage", "--json", "--each", str(setup.mutations)))


def kills(setup: Setup) -> Part:
    """A writing process killed again and again."""
    return killed(_run("kill", "--kills", str(setup.kills), "--folder", str(setup.folder)))


def rare(setup: Setup) -> Part:
    """Words beside vectors, against vectors alone."""
    things = setup.count(_THINGS, 500)
    said = _run("rare", str(setup.bundle), str(_SEED), str(things), str(setup.folder), str(setup.rounds))
    mine, other, about = said["hybrid"], said["vectors"], f"{said['questions']} questions with rare names"
    rows = [
        beats(f"hybrid recall@5, {about}", mine["recall_5"], "", "vectors", other["recall_5"]),
        against(f"hybrid p50 with the embedding, {about}", mine["whole_us"], "us", "vectors", other["whole_us"], 2.0),
        against(f"the same without the embedding, {about}", mine["search_us"], "us", "vectors", other["search_us"]),
        Row(f"keywords alone, recall@5, {about}", said["keywords"]["recall_5"], ""),
    ]
    return Part(rows, said)


def damaged(said: dict[str, Any]) -> Part:
    """Rows of what `bench.knowledge.damage` reported."""
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
    """Rows of what `bench.knowledge.kill` reported."""
    rows = [
        at_most(f"acknowledged rows lost over {said['kills']:,} kill -9", said["lost"], "", 0),
        Row("of the kills, after something was acknowledged", said["under load"], ""),
        Row("calls acknowledged before a kill", said["acknowledged"], ""),
    ]
    return Part(rows, said)


_REPAIRED = ("repaired", "repaired-in-part")


def _run(module: str, *arguments: str) -> dict[str, Any]:
    """What a program reports in its last line. Raises RuntimeError when it ended without."""
    command = [sys.executable, "-m", f"bench.knowledge.{module}", *arguments]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if not lines or not lines[-1].startswith("{"):
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode} and no figures")
    figures: dict[str, Any] = json.loads(lines[-1])
    return figures
