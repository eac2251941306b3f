"""Which of two things is older, dearer, longer or heavier.

Of the balanced questions too few ask that to tell how well it goes.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.accuracy.ground import Ground, lacking, said, skipped
from bench.accuracy.several import Turns, accuracy, ask_policies, barred_unseen, interval
from bench.results import Row, at_least
from bench.sections import Part
from quizglass_lab.pocketworld.questions import Question

SHARE = 5.0
"""Of balanced questions, among which those that compare are looked for: with 400 questions a world about 50 of it."""
POLICY = "both"
POLICIES = (POLICY, "planning-agent+", "cogplanner-parallel+", "cogplanner-sequential+", "omnisearch+")


def run(ground: Ground) -> Part:
    """Always-both, and the policies that look one thing up after the other."""
    asked: list[Turns] = []
    served: list[str] = []
    for seed in ground.seeds:
        trial = ground.trial(seed, share=SHARE)
        questions = [question for question in trial.questions if compares(question)]
        with ground.server(trial.folder) as target:
            missing = lacking(target, POLICIES)
            if POLICY in missing:
                return skipped("comparisons", said({POLICY: missing[POLICY]}))
            served = [policy for policy in POLICIES if policy not in missing]
            asked += ask_policies(ground, "comparisons", trial, questions, served, target)
    return Part(rows(asked, served), {"questions": len(asked), "unseen": barred_unseen(rows, asked)})


def compares(question: Question) -> bool:
    """Whether it takes the numbers of two entries."""
    return question.family == "comparison" and len(question.gold_entries) > 1


def rows(asked: Sequence[Turns], served: Sequence[str] = (POLICY,)) -> list[Row]:
    """Right answers of all, and of those whose prompt had the passages that tell both numbers."""
    shown = [turns for turns in asked if has_both(turns)]
    name = f"comparisons with the passages found, always-both ({len(shown)} of {len(asked)} asked)"
    if not shown:
        return [Row(name, None, "", "no comparison had the passages of both")]
    low_to_high = interval(shown, POLICY)
    return [
        *(Row(f"comparisons, {policy} ({interval(asked, policy)})", accuracy(asked, policy), "%") for policy in served),
        at_least(f"{name}: {low_to_high}", accuracy(shown, POLICY), "%", 85),
    ]


def has_both(turns: Turns) -> bool:
    """Whether the answer's prompt had the number of everything that is compared; captions have none."""
    shown = [(entry, text) for _, entry, text, *_, used in turns.of[POLICY]["evidence"] if used]
    wanted = [(hop.entry, hop.answer) for hop in turns.question.hops if hop.action == "text"]
    return all(any(entry == each and answer in text for each, text in shown) for entry, answer in wanted)
