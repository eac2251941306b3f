"""Sources that contradict each other: is the right one believed, are right memories kept, is the right entry chosen?"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from bench.accuracy.ground import Ground, lacking
from bench.accuracy.log import Record
from bench.accuracy.sections import choices
from bench.accuracy.sections.choices import JOINT, ORACLE, PICTURE, TEXT
from bench.accuracy.several import Turns, accuracy, ask_policies, barred_unseen, interval
from bench.results import Row, at_least
from bench.sections import Part
from bench.worlds import prepare_disputed
from quizglass_lab.pocketworld.disputes import MEMORY_KINDS, PICTURE_KINDS

SHARE = 1.5
"""With 400 questions a world, three worlds ask 300 of each of the six kinds."""
DISPUTES = 100
"""Of each kind in a world; those of memory are fewer, as its trained things are."""
MEMORY, EVIDENCE, CORE, ONE_STAGE, TWO_STAGE = "none", "both", "core-mmrag+", "core-one-stage+", "core-two-stage+"
POLICIES = (
    MEMORY,
    EVIDENCE,
    "planning-agent+",
    CORE,
    ONE_STAGE,
    TWO_STAGE,
    "core-chain-of-thought+",
    "planning-agent-reconciled",
)
_MEMORY = "memory"
_DECISIONS = {CORE: "select", TWO_STAGE: "select_by_text"}
"""Of the policies that choose an entry; a bundle that serves them can take the decision."""


def run(ground: Ground) -> Part:
    """Every policy that the bundle serves on questions about disputes, those of each kind in turn; then the oracle."""
    asked: list[Turns] = []
    missing: dict[str, str] = {}
    served: list[str] = []
    for seed in ground.seeds:
        folder = ground.folder(seed, f"disputed-{DISPUTES}")
        trial = prepare_disputed(seed, ground.things, ground.count(SHARE), folder, DISPUTES)
        with ground.server(folder) as target:
            missing = lacking(target, POLICIES)
            served = [policy for policy in POLICIES if policy not in missing]
            turns = ask_policies(ground, "conflicts", trial, trial.questions, served, target)
        decisions = [by for policy, by in _DECISIONS.items() if policy in served]
        beside = asyncio.run(choices.ask(ground, trial, folder / "knowledge", decisions))
        asked += [replace(each, of=each.of | {ORACLE: beside[each.question.id]}) for each in turns]
    absent = [Row(f"conflicts, {policy}", None, "", f"not measured: {why}") for policy, why in missing.items()]
    data = {"kinds": kinds(asked, served), "unseen": barred_unseen(partial(rows, served=served), asked)}
    return Part([*rows(asked, served), *absent], data)


def rows(asked: Sequence[Turns], served: Sequence[str]) -> list[Row]:
    """Accuracy on both sorts of conflict, memories kept, entries chosen.

    Args:
        asked: every served policy on every question, and beside them ORACLE, what `choices.ask` tells.
        served: what the bundle serves.
    """
    memory = [turns for turns in asked if _kind(turns) in MEMORY_KINDS]
    pictures = [turns for turns in asked if _kind(turns) in PICTURE_KINDS]
    table = []
    for name, some in (("memory against evidence", memory), ("picture against text", pictures)):
        table += [Row(_named(name, some, policy), accuracy(some, policy), "%") for policy in served]
        table += _oracle(name, some, served)
    if CORE not in served:
        return table
    ours = accuracy(memory, CORE)
    table += [
        at_least(f"core-mmrag+ minus {name} on memory against evidence", ours - accuracy(memory, policy), "points", 10)
        for name, policy in (("always-memory", MEMORY), ("always-evidence", EVIDENCE))
    ]
    return [*table, *_kept(memory, served), *_chosen(pictures)]


def _named(name: str, some: Sequence[Turns], policy: str) -> str:
    """A row's name, with how many questions of each kind there are."""
    counts = Counter(_kind(turns) for turns in some)
    each = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    return f"{name}, {policy} ({interval(some, policy)}{each and ': '}{each})"


def _oracle(name: str, some: Sequence[Turns], served: Sequence[str]) -> list[Row]:
    """The answer from the right entry, on the questions of which the store has it, beside the policy that chooses."""
    own = [turns for turns in some if turns.of[ORACLE]["entry"]]
    if not own:
        return []
    value = accuracy(own, ORACLE)
    if CORE not in served:
        return [Row(_named(name, own, ORACLE), value, "%")]
    return [Row(_named(name, own, ORACLE), value, "%", f"{CORE} on the same", accuracy(own, CORE))]


def _kept(memory: Sequence[Turns], served: Sequence[str]) -> list[Row]:
    """Of questions whose memory is right and is what the model says unaided: whether it stays with it."""
    remembered = [turns for turns in memory if _right_source(turns) == _MEMORY and turns.right(MEMORY)]
    name = f"right memories kept, core-mmrag+ ({len(remembered)} of them)"
    if not remembered:
        return [Row(name, None, "", "no question's memory was right")]
    ours = accuracy(remembered, CORE)
    table = [at_least(name, ours, "%", 81)]
    if ONE_STAGE in served:
        table.append(at_least("the same, minus one-stage's", ours - accuracy(remembered, ONE_STAGE), "points", 5))
    return table


def _chosen(pictures: Sequence[Turns]) -> list[Row]:
    """Whether the entry chosen is the thing shown, on the questions whose right entry is among the candidates."""
    asked = [turns.of[ORACLE] | {"right": turns.question.target} for turns in pictures]
    among = [each for each in asked if each["right"] in each["candidates"]]
    if not among:
        return [Row("right entry chosen", None, "", "not measured: it was never among the candidates")]
    found = f"{len(among)} questions of {len(asked)}, the others' right entry was not found"
    shares = {way: _right(among, way) for way in among[0]["chosen"]}
    table = [Row(f"right entry chosen {way} ({found})", value, "%") for way, value in shares.items()]
    if not {JOINT, TEXT} <= shares.keys():
        return table
    differ = [each for each in among if _hit(each, PICTURE) != _hit(each, TEXT)]
    name = f"right entry chosen jointly minus the better modality, where picture and text differ ({len(differ)})"
    if not differ:
        return [*table, Row(name, None, "points", "not measured: both modalities choose alike wherever they found it")]
    best = max((PICTURE, TEXT), key=lambda way: _right(differ, way))
    value, peer = _right(differ, JOINT), _right(differ, best)
    bar = at_least(name, value - peer, "points", 3)
    return [*table, Row(name, value - peer, "points", best, peer, bar=bar.bar, ok=bar.ok)]


def _hit(choice: Record, way: str) -> bool:
    return bool(choice["chosen"][way] == choice["right"])


def _right(some: Sequence[Record], way: str) -> float:
    return 100 * sum(_hit(each, way) for each in some) / len(some)


def _kind(turns: Turns) -> str:
    return turns.question.conflict.kind if turns.question.conflict else ""


def _right_source(turns: Turns) -> str:
    return turns.question.conflict.right if turns.question.conflict else ""


def kinds(asked: Sequence[Turns], served: Sequence[str]) -> dict[str, dict[str, float]]:
    """By kind of dispute: how many questions, and the accuracy of each policy, in percent; the oracle's where the store
    has the right entry."""
    table: dict[str, dict[str, float]] = {}
    for kind in (*MEMORY_KINDS, *PICTURE_KINDS):
        some = [turns for turns in asked if _kind(turns) == kind]
        own = [turns for turns in some if turns.of[ORACLE]["entry"]]
        if some:
            table[kind] = {"questions": len(some)} | {policy: round(accuracy(some, policy), 1) for policy in served}
            table[kind] |= {ORACLE: round(accuracy(own, ORACLE), 1)} if own else {}
    return table
