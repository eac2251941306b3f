"""Systems of several rounds on questions of one, two and more lookups, in CogBench's shares (20, 33, 47 %)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import fmean

from bench.accuracy.ground import Ground, lacking
from bench.accuracy.several import (
    ALWAYS_BOTH,
    OMNI,
    Turns,
    accuracy,
    ask_policies,
    barred_unseen,
    interval,
    search_s,
    searching_saved,
)
from bench.accuracy.turns import spent_ms
from bench.results import Row, at_least, at_most, ratio
from bench.sections import Part
from quizglass_lab.scoring.answers import exact_match

SHARE = 0.5
PARALLEL, SEQUENTIAL, AGENT = "cogplanner-parallel+", "cogplanner-sequential+", "planning-agent+"
FIXED = ("none", "image", "text", "both", "fixed-text+", "fixed-image+")
POLICIES = (AGENT, "adaptive", PARALLEL, SEQUENTIAL, OMNI, "self-reflective+", *FIXED)
_SEARCHING = {OMNI: OMNI, ALWAYS_BOTH: "both"}
"""Whose search time the planning agent saves, by what rows call them."""
_FEW, _MANY = range(2), range(3, 99)
_PLANNING = ("reformulate", "act")
PLANNING_TIMES = 1.1
"""As fast as one after the other, planning has to be where both inferences run at the same time."""


def run(ground: Ground) -> Part:
    """Every policy that the bundle serves."""
    asked: list[Turns] = []
    missing: dict[str, str] = {}
    served: list[str] = []
    for seed in ground.seeds:
        trial = ground.trial(seed, share=SHARE, mix="cog" if ground.format > 1 else "balanced")
        with ground.server(trial.folder) as target:
            missing = lacking(target, POLICIES)
            served = [policy for policy in POLICIES if policy not in missing]
            asked += ask_policies(ground, "rounds", trial, trial.questions, served, target)
    absent = [Row(f"several rounds, {policy}", None, "", f"not measured: {why}") for policy, why in missing.items()]
    data = {"hops": _by_hops(asked, served), "unseen": barred_unseen(partial(rows, served=served), asked)}
    return Part([*rows(asked, served), *absent], data)


def rows(asked: Sequence[Turns], served: Sequence[str]) -> list[Row]:
    """Accuracy and search time of every policy, then what CogPlanner has to reach."""
    table = []
    for policy in served:
        table.append(
            Row(f"one, two and more lookups, {policy} ({interval(asked, policy)})", accuracy(asked, policy), "%")
        )
        table.append(Row(f"search time a turn at the paper's 6.4 s and 1.4 s, {policy}", _search_s(asked, policy), "s"))
    if AGENT in served:
        spent = fmean(spent_ms(turns.of[AGENT], ("plan",)) for turns in asked)
        peers = {name: _search_s(asked, policy) for name, policy in _SEARCHING.items() if policy in served}
        table += searching_saved(_search_s(asked, AGENT), spent / 1e3, peers, "one, two and more lookups")
    if PARALLEL in served and SEQUENTIAL in served:
        table += _cogplanner(asked, [policy for policy in FIXED if policy in served])
    return table


def _cogplanner(asked: Sequence[Turns], fixed: Sequence[str]) -> list[Row]:
    few, many = _of_hops(asked, _FEW), _of_hops(asked, _MANY)
    best = max((accuracy(many, policy) for policy in fixed), default=float("nan"))
    table = []
    for policy in (PARALLEL, SEQUENTIAL):
        right, gold = accuracy(many, policy), reformulated(asked, policy)
        table += [
            at_least(f"three and more lookups, {policy} ({interval(many, policy)})", right, "%", 60),
            at_least(f"the same minus the best fixed pipeline, {policy}", right - best, "points", 30),
            at_least(f"up to one lookup minus the planning agent, {policy}", _ahead(few, policy), "points", -3),
            at_most(
                f"rounds that look something up, on up to one lookup, {policy}", _rounds(few, policy), "rounds", 1.3
            ),
            at_least(f"reformulations equal to a gold query, {policy}", gold, "%", 85),
        ]
    apart = abs(accuracy(asked, PARALLEL) - accuracy(asked, SEQUENTIAL))
    return [*table, at_most("parallel and sequential apart", apart, "points", 2), _times(asked)]


def _times(asked: Sequence[Turns]) -> Row:
    """Mean time of planning's two inferences: the sum of a turn's times of writing and deciding."""
    ours, theirs = (fmean(planning_ms(turns, policy) for turns in asked) for policy in (SEQUENTIAL, PARALLEL))
    name, most = "planning a turn, parallel", 1 / PLANNING_TIMES
    return Row(
        name, theirs, "ms", "sequential", ours, ratio(theirs, ours), f"<= {most:.2f}x peer", theirs <= most * ours
    )


def planning_ms(turns: Turns, policy: str) -> float:
    """Milliseconds that a turn spent on reformulating and deciding, both at once where the policy is parallel."""
    rounds: dict[int, list[float]] = {}
    for stage, spent, number in turns.of[policy]["timings"]:
        if number and stage in _PLANNING:
            rounds.setdefault(number, []).append(spent)
    return sum(max(each) if policy == PARALLEL else sum(each) for each in rounds.values())


def _ahead(few: Sequence[Turns], policy: str) -> float:
    return accuracy(few, policy) - accuracy(few, AGENT)


def _rounds(turns: Sequence[Turns], policy: str) -> float:
    """Rounds that looked something up, a turn."""
    looked_up = [
        sum(each["by"] == "act" and each["label"] != "none" for each in turns_of.of[policy]["decided"])
        for turns_of in turns
    ]
    return fmean(looked_up) if looked_up else float("nan")


def _of_hops(asked: Sequence[Turns], hops: range) -> list[Turns]:
    return [turns for turns in asked if len(turns.question.hops) in hops]


def _search_s(asked: Sequence[Turns], policy: str) -> float:
    return fmean(search_s(turns.of[policy]) for turns in asked)


def reformulated(asked: Sequence[Turns], policy: str) -> float:
    """Of the queries that a policy wrote where text is needed, how many are gold ones of the question, in percent."""
    hits = [
        any(exact_match(text, hop.query) for hop in turns.question.hops)
        for turns in asked
        for each in turns.of[policy]["queries"]
        if each["task"] == "reformulate" and any(hop.action == "text" for hop in turns.question.hops)
        for text in each["texts"]
    ]
    return 100 * sum(hits) / len(hits) if hits else float("nan")


def _by_hops(asked: Sequence[Turns], served: Sequence[str]) -> dict[str, dict[str, float]]:
    counts = sorted({len(turns.question.hops) for turns in asked})
    groups = {str(count): _of_hops(asked, range(count, count + 1)) for count in counts}
    return {
        name: {"questions": len(some)} | {policy: round(accuracy(some, policy), 1) for policy in served}
        for name, some in groups.items()
    }
