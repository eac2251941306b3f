"""The simplest rules that a planner has to beat: what the wording of a question gives away, and a planner without eyes.

A rule that only chooses a plan need not be served: its answer is that of the policy that always follows this plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from bench.accuracy.asking import BLIND
from bench.accuracy.cases import Case, annotate

Plans = Mapping[str, str]
"""Question id to plan."""


def best_by_wording(cases: Sequence[Case]) -> Plans:
    """The best label for each question's family, learned from all other questions: no rule on words alone does better.

    Families are known to the world that asks, and to no server: this is the upper bound of such rules.
    """
    labels = {case.question.id: annotate(case) for case in cases}
    counts: dict[str, Counter[str]] = {}
    for case in cases:
        if label := labels[case.question.id]:
            counts.setdefault(case.question.family, Counter())[label] += 1
    plans = {}
    for case in cases:
        others = counts.get(case.question.family, Counter()).copy()
        if label := labels[case.question.id]:
            others[label] -= 1
        plans[case.question.id] = others.most_common(1)[0][0] if others.total() else "both"
    return plans


def without_picture(cases: Sequence[Case]) -> Plans:
    """What the planner says when it is shown the question alone."""
    return {case.question.id: case.asked.turns[BLIND]["plan"] for case in cases}


def agreement(cases: Sequence[Case], plans: Plans) -> float:
    """Share of the annotated questions whose label a rule hits, in percent."""
    labelled = [(plans[case.question.id], label) for case in cases if (label := annotate(case)) is not None]
    return 100 * sum(plan == label for plan, label in labelled) / max(len(labelled), 1)


def accuracy(cases: Sequence[Case], plans: Plans) -> float:
    """Right answers of a rule that is used as a policy, in percent."""
    return 100 * sum(case.right(plans[case.question.id]) for case in cases) / max(len(cases), 1)


def searches(cases: Sequence[Case], plans: Plans, kind: str) -> float:
    """Share of the questions for which a rule looks up the picture or text ("image", "text"), in percent."""
    return 100 * sum(plans[case.question.id] in (kind, "both") for case in cases) / max(len(cases), 1)
