"""The simplest rules that a planner has to beat: what the wording of a question gives away, and a planner without eyes.

A rule that only chooses a plan need not be served: its answer is that of the policy that always follows this plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence

from bench.accuracy.planner.asking import BLIND
from bench.accuracy.planner.cases import Case, annotate
from quizglass_lab.pocketworld.questions import Question
from quizglass_lab.pocketworld.questions.wording import template

Plans = Mapping[str, str]
"""Question id to plan."""


def best_by_wording(cases: Sequence[Case]) -> Plans:
    """The best of three rules on words alone: by the question's family, by its words, by those of the dialogue too.

    Each says the best label of all other questions that look alike to it; the one is taken that agrees with most
    annotations. Families are known to the world that asks, and to no server: this is the upper bound of such rules.
    """
    labels = {case.question.id: annotate(case) for case in cases}
    candidates = [_best_by(cases, labels, key) for key in (_family, _words, _dialogue)]
    return max(candidates, key=lambda plans: sum(plans[name] == label for name, label in labels.items()))


def _family(question: Question) -> Hashable:
    return question.family


def _words(question: Question) -> Hashable:
    return question.family, template(question.text)


def _dialogue(question: Question) -> Hashable:
    return _words(question), tuple(template(asked) for asked, _ in question.history)


def _best_by(cases: Sequence[Case], labels: Mapping[str, str | None], key: Callable[[Question], Hashable]) -> Plans:
    counts: dict[Hashable, Counter[str]] = {}
    for case in cases:
        if label := labels[case.question.id]:
            counts.setdefault(key(case.question), Counter())[label] += 1
    plans = {}
    for case in cases:
        others = counts.get(key(case.question), Counter()).copy()
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
