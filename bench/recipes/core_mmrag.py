"""CoRe-MMRAG's recipe: what each of its losses adds, on questions whose sources disagree.

The paper trains one model with three losses (section 4) and loses a little without each: 46.5 right answers of
InfoSeek become 45.5 without L_PRKI, 45.3 without L_VTKI and 44.6 without L_SFT; the one-stage baseline, trained on the
same questions, has 43.0. A loss is said to matter here where leaving it out costs more than the 95 % interval of the
difference, question by question.

The starter's base has met all of these prompts in its own training. One that has not (commit 7daffac1) chooses no entry
for nearly every question, so that next to none is left to learn from: exactly one source right, 90 of 2,000 questions.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.recipes import work
from bench.recipes.work import Asked, Setup
from bench.results import Row, ratio
from bench.sections import Part
from quizglass_lab.pocketworld.disputes import MEMORY_KINDS
from quizglass_lab.scoring.intervals import confidence_interval, wilson_interval

WHOLE = "whole"
WITHOUT = {
    WHOLE: (),
    "without L_PRKI": ("--without", "prki"),
    "without L_VTKI": ("--without", "vtki"),
    "without L_SFT": ("--without", "sft"),
}
ONE_STAGE = ("--baseline",)
PAPER = {"without L_PRKI": -1.0, "without L_VTKI": -1.2, "without L_SFT": -1.9}
"""Points of right answers against the whole, on InfoSeek."""
_POLICY, _BASELINE = "core-mmrag+", "core-one-stage+"
_LEARNED, _ASKED = 2175014201, 2175014205
"""Seeds of the world to learn from and of the one that is asked about."""
_DISPUTES = 3
"""Questions about disputes for each of the others, in the world that is learned from."""


def losses(setup: Setup) -> Part:
    """Right answers of the model trained with every loss, without each, untrained, and of the baseline."""
    base, notes = setup.base, _notes(setup)
    world = work.world(setup, _ASKED, max(setup.asked // 5, 1), 2 * setup.asked)
    given: dict[str, Asked] = {}
    with work.searching(setup, world) as server:
        for name, flags in WITHOUT.items():
            adapter = work.adapted(setup, "core-mmrag", base, notes, _file(name), flags) / "adapter"
            given[name] = _answers(setup, server, world, name, f"{base}+{adapter}", _POLICY)
        adapter = work.adapted(setup, "core-mmrag", base, notes, "one-stage", ONE_STAGE) / "adapter"
        given["one-stage, trained"] = _answers(setup, server, world, "one-stage", f"{base}+{adapter}", _BASELINE)
        for name, policy in (("untrained", _POLICY), ("one-stage, untrained", _BASELINE)):
            given[name] = _answers(setup, server, world, name, base, policy)
    kinds = _kinds(world)
    report = json.loads((notes / work.REPORT).read_text(encoding="utf-8"))
    return Part(_rows(given, kinds), {"learned": report, "right": {name: _by(a, kinds) for name, a in given.items()}})


def _notes(setup: Setup) -> Path:
    """What the base answers and chooses under each condition, and the examples that follow."""
    folder = setup.folder / "notes-core-mmrag"
    if not (folder / work.REPORT).is_file():
        count = max(setup.questions // 8, 1)
        learned = work.world(setup, _LEARNED, count, _DISPUTES * count)
        with work.searching(setup, learned) as server:
            work.annotated(setup, "core-mmrag", [learned], setup.base, folder, ("--server", server))
    return folder


def _answers(setup: Setup, server: str, world: Path, name: str, model: object, policy: str) -> Asked:
    return work.answered(setup, server, world, f"core-mmrag-{_file(name)}", model, (policy,))[policy]


def _file(name: str) -> str:
    return name.replace(",", "").replace(" ", "-").lower()


def _kinds(world: Path) -> list[str]:
    """What each question's sources are at odds about, in the world's order; empty where they are not."""
    lines = (world / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [(row["conflict"] or {"kind": ""})["kind"] for row in rows if row["group"]]


def _rows(given: Mapping[str, Asked], kinds: Sequence[str]) -> list[Row]:
    sorts = {
        "all": [True] * len(kinds),
        "memory against evidence": [kind in MEMORY_KINDS for kind in kinds],
        "picture against text": [bool(kind) and kind not in MEMORY_KINDS for kind in kinds],
    }
    rows = []
    for sort, members in sorts.items():
        for name, asked in given.items():
            right = _some(asked.right, members)
            low, high = wilson_interval(sum(right), len(right))
            label = f"CoRe-MMRAG, {name}: {sort}, {len(right)} ({100 * low:.1f} to {100 * high:.1f})"
            rows.append(Row(label, 100 * sum(right) / len(right), "%"))
        rows += [_against(name, sort, given[name], given[WHOLE], members) for name in given if name != WHOLE]
    return rows


def _against(name: str, sort: str, asked: Asked, whole: Asked, members: Sequence[bool]) -> Row:
    """Points against the whole; for an ablation a bar: it costs something beyond the interval."""
    pairs = zip(_some(asked.right, members), _some(whole.right, members), strict=True)
    apart = [100 * (int(one) - int(other)) for one, other in pairs]
    low, high = confidence_interval(apart)
    value = sum(apart) / len(apart)
    label = f"CoRe-MMRAG, {name} minus whole: {sort} ({low:+.1f} to {high:+.1f})"
    if sort != "all" or name not in PAPER:
        return Row(label, value, "points")
    paper = PAPER[name]
    return Row(
        label, value, "points", "the paper's", paper, ratio(value, paper), "below 0 beyond the interval", high < 0
    )


def _some(right: Sequence[bool], members: Sequence[bool]) -> list[bool]:
    return [good for good, member in zip(right, members, strict=True) if member]


def _by(asked: Asked, kinds: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Questions and right answers of each kind of dispute."""
    counts = Counter(kinds)
    good = Counter(kind for kind, right in zip(kinds, asked.right, strict=True) if right)
    return {kind or "none": {"questions": count, "right": good[kind]} for kind, count in counts.items()}
