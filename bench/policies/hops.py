"""Questions of three hops, with decisions and sub-queries given: does the control flow bring the evidence together?"""

from __future__ import annotations

from collections.abc import Sequence

from bench.policies.stage import Outcome, Setup, Stage, of_family
from bench.results import Row, at_least
from bench.sections import Part
from quizglass_lab.scoring.intervals import wilson_interval

GIVEN = ("cogplanner-parallel+", "cogplanner-sequential+", "omnisearch+", "self-reflective+", "qa-dragon+")
BARRED = GIVEN[:2]
VERIFIED = ("qa-dragon+",)
"""Of those, whose verifier is given too: it supports the right answer and no other."""
PRESENT = ("planning-agent+", "both", "text", "image", "none")
"""Pipelines of one round, with the decisions of the starter's own models."""


async def run(setup: Setup, stage: Stage) -> Part:
    """Founder's birthplace: picture, maker's founder, founder's birthplace."""
    questions = of_family(stage.trial, "founder-birthplace", "both", setup.count(200, 4))
    asked: dict[str, list[Outcome]] = {}
    for policy in (*GIVEN, *PRESENT):
        asked[policy] = []
        for number, question in enumerate(questions, 1):
            setup.say(f"{policy}: question {number} of {len(questions)}")
            asked[policy].append(await stage.ask(question, policy))
    best = max(PRESENT, key=lambda policy: _share(asked[policy], "right"))
    rows: list[Row] = []
    for policy in GIVEN:
        rows += _rows(policy, asked[policy], best, _share(asked[best], "right"))
    rows += [Row(f"founder-birthplace right, {policy}", _share(asked[policy], "right"), "%") for policy in PRESENT]
    wrong = {
        policy: [[one.question.text, one.done.answer, one.question.answer] for one in turns if not one.right][:20]
        for policy, turns in asked.items()
    }
    return Part(rows, {"questions": len(questions), "wrong": wrong})


def _rows(policy: str, turns: Sequence[Outcome], peer: str, peer_value: float) -> list[Row]:
    low, high = (100 * edge for edge in wilson_interval(sum(one.right for one in turns), len(turns)))
    name = f"founder-birthplace right, {policy}, given decisions (95 % interval {low:.1f} to {high:.1f})"
    right, found = _share(turns, "right"), _share(turns, "found")
    last = f"the last hop's entry among what was found, {policy}"
    if policy in VERIFIED:
        refused = Row(
            f"founder-birthplace wrong and refused by its verifier, {policy}", _share(turns, "unsupported"), "%"
        )
        return [Row(name, right, "%", peer, peer_value), Row(last, found, "%"), refused]
    if policy not in BARRED:
        return [Row(name, right, "%", peer, peer_value), Row(last, found, "%")]
    bar = at_least(name, right, "%", 80)
    return [Row(name, right, "%", peer, peer_value, bar=bar.bar, ok=bar.ok), at_least(last, found, "%", 95)]


def _share(turns: Sequence[Outcome], what: str) -> float:
    return 100 * sum(bool(getattr(one, what)) for one in turns) / len(turns) if turns else float("nan")
