"""Sources that contradict each other: is the right one believed, are right memories kept, is the right entry chosen?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from bench.accuracy.ground import Ground, lacking
from bench.accuracy.several import Turns, accuracy, ask_policies, barred_unseen, interval, share
from bench.results import Row, at_least
from bench.sections import Part
from bench.worlds import prepare_disputed
from quizglass_export.pocketworld.disputes import MEMORY_KINDS, PICTURE_KINDS

SHARE = 0.75
MEMORY, EVIDENCE, CORE, ONE_STAGE, TWO_STAGE = "none", "both", "core-mmrag", "core-one-stage", "core-two-stage"
POLICIES = (MEMORY, EVIDENCE, "planning-agent", CORE, ONE_STAGE, TWO_STAGE, "planning-agent-reconciled")
_MEMORY, _TEXT = "memory", "select_by_text"


def run(ground: Ground) -> Part:
    """Every policy that the bundle serves on questions about disputes, those of each kind in turn."""
    asked: list[Turns] = []
    missing: dict[str, str] = {}
    served: list[str] = []
    for seed in ground.seeds:
        trial = prepare_disputed(seed, ground.things, ground.count(SHARE), ground.folder(seed, "disputed"))
        with ground.server(trial.folder) as target:
            missing = lacking(target, POLICIES)
            served = [policy for policy in POLICIES if policy not in missing]
            asked += ask_policies(ground, "conflicts", trial, trial.questions, served, target)
    absent = [Row(f"conflicts, {policy}", None, "", f"not measured: {why}") for policy, why in missing.items()]
    data = {"kinds": _kinds(asked, served), "unseen": barred_unseen(partial(rows, served=served), asked)}
    return Part([*rows(asked, served), *absent], data)


def rows(asked: Sequence[Turns], served: Sequence[str]) -> list[Row]:
    """Accuracy on both sorts of conflict, memories kept, entries chosen."""
    memory = [turns for turns in asked if _kind(turns) in MEMORY_KINDS]
    pictures = [turns for turns in asked if _kind(turns) in PICTURE_KINDS]
    table = [
        Row(f"{name}, {policy} ({interval(some, policy)})", accuracy(some, policy), "%")
        for name, some in (("memory against evidence", memory), ("picture against text", pictures))
        for policy in served
    ]
    if CORE not in served:
        return table
    ours = accuracy(memory, CORE)
    table += [
        at_least(f"core-mmrag minus {name} on memory against evidence", ours - accuracy(memory, policy), "points", 10)
        for name, policy in (("always-memory", MEMORY), ("always-evidence", EVIDENCE))
    ]
    return [*table, *_kept(memory, served), *_chosen(pictures, served)]


def _kept(memory: Sequence[Turns], served: Sequence[str]) -> list[Row]:
    """Of questions whose memory is right and is what the model says unaided: whether it stays with it."""
    remembered = [turns for turns in memory if _right_source(turns) == _MEMORY and turns.right(MEMORY)]
    name = f"right memories kept, core-mmrag ({len(remembered)} of them)"
    if not remembered:
        return [Row(name, None, "", "no question's memory was right")]
    ours = accuracy(remembered, CORE)
    table = [at_least(name, ours, "%", 81)]
    if ONE_STAGE in served:
        table.append(at_least("the same, minus one-stage's", ours - accuracy(remembered, ONE_STAGE), "points", 5))
    return table


def _chosen(pictures: Sequence[Turns], served: Sequence[str]) -> list[Row]:
    """Whether the entry chosen is the thing shown: jointly, by text alone, by picture alone (the search's order)."""
    among = [turns for turns in pictures if turns.question.target in entries(turns, CORE)]
    ways: dict[str, Callable[[Turns], bool]] = {
        "picture": lambda turns: entries(turns, CORE)[:1] == [turns.question.target],
        "joint": lambda turns: chosen(turns, CORE, "select") == turns.question.target,
    }
    if TWO_STAGE in served:
        ways["text"] = lambda turns: chosen(turns, TWO_STAGE, _TEXT) == turns.question.target
    singles = [way for way in ways if way != "joint"]
    differ = [turns for turns in among if len({ways[way](turns) for way in singles}) > 1] if len(singles) > 1 else among
    table = [
        Row(f"right entry chosen, {way} ({len(among)} questions that found it)", share(among, judge), "%")
        for way, judge in ways.items()
    ]
    name = f"right entry chosen jointly minus the better modality, where they differ ({len(differ)})"
    if not differ:
        return [*table, Row(name, None, "points", "not measured: both modalities choose alike wherever they found it")]
    best = max(share(differ, ways[way]) for way in singles)
    return [*table, at_least(name, share(differ, ways["joint"]) - best, "points", 3)]


def entries(turns: Turns, policy: str) -> list[str]:
    """What a policy's picture search brought back, best first, each once."""
    hits = [entry for origin, entry, *_ in turns.of[policy]["evidence"] if origin == "image_search"]
    return list(dict.fromkeys(hits))


def chosen(turns: Turns, policy: str, by: str) -> str | None:
    """The entry that a decision took; None where it took none or was not asked."""
    labels = [each["label"] for each in turns.of[policy]["decided"] if each["by"] == by]
    shown = entries(turns, policy)
    place = int(labels[-1]) - 1 if labels and labels[-1].isdigit() else len(shown)
    return shown[place] if place < len(shown) else None


def _kind(turns: Turns) -> str:
    return turns.question.conflict.kind if turns.question.conflict else ""


def _right_source(turns: Turns) -> str:
    return turns.question.conflict.right if turns.question.conflict else ""


def _kinds(asked: Sequence[Turns], served: Sequence[str]) -> dict[str, dict[str, float]]:
    kinds = {kind: [turns for turns in asked if _kind(turns) == kind] for kind in (*MEMORY_KINDS, *PICTURE_KINDS)}
    return {
        kind: {"questions": len(some)} | {policy: round(accuracy(some, policy), 1) for policy in served}
        for kind, some in kinds.items()
        if some
    }
