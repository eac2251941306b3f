"""What it is worth that a recognised entry brings its own text: the bundle beside itself with `evidence.own_passages`.

Asked under the policy `image`, which searches no text: the generator is shown the entry's caption, with or without the
passages of its own that fit the question.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.accuracy.ground import Ground
from bench.accuracy.several import Turns, accuracy, ask_policies, interval
from bench.results import Row, ratio
from bench.sections import Part
from quizglass_lab.scoring.intervals import confidence_interval

POLICY = "image"
SHARE = 0.5
OWN = 2
"""As the everyday bundle has it."""
GROUPS = ("all", "image", "both")
"""By what the world says a question needs; those that need no picture gain and lose nothing by it."""


def run(ground: Ground) -> Part:
    """The same questions of both bundles."""
    without: list[Turns] = []
    own: list[Turns] = []
    for seed in ground.seeds:
        trial = ground.trial(seed, share=SHARE)
        for count, turns in ((0, without), (OWN, own)):
            with ground.server(trial.folder, f"own-passages-{count}", own_passages=count) as target:
                turns += ask_policies(ground, f"own-{count}", trial, trial.questions, (POLICY,), target)
    return Part(rows(own, without), {"questions": len(own), "changed": _changed(own, without)})


def rows(own: Sequence[Turns], without: Sequence[Turns]) -> list[Row]:
    """Right answers with and without by group, the difference question by question, and what prompts cost."""
    table: list[Row] = []
    for group in GROUPS:
        ours = [turns for turns in own if group in ("all", turns.question.group)]
        theirs = [turns for turns in without if group in ("all", turns.question.group)]
        if not ours:
            continue
        needs = "" if group == "all" else f", questions that need {group}"
        value, peer = accuracy(ours, POLICY), accuracy(theirs, POLICY)
        title = f"policy {POLICY}, own_passages {OWN}{needs}: right ({interval(ours, POLICY)})"
        table.append(Row(title, value, "%", "own_passages 0", peer, ratio(value, peer)))
    gains = [100.0 * (a.right(POLICY) - b.right(POLICY)) for a, b in zip(own, without, strict=True)]
    low, high = confidence_interval(gains)
    gain = f"policy {POLICY}, own_passages {OWN} over 0 (95 % interval {low:.1f} to {high:.1f})"
    ours_tokens, peer_tokens = (_mean([each.of[POLICY]["prompt_tokens"] for each in some]) for some in (own, without))
    tokens = f"policy {POLICY}, own_passages {OWN}: prompt tokens, mean"
    return [
        *table,
        Row(gain, _mean(gains), "points"),
        Row(tokens, ours_tokens, "tokens", "own_passages 0", peer_tokens, ratio(ours_tokens, peer_tokens)),
    ]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


def _changed(own: Sequence[Turns], without: Sequence[Turns]) -> dict[str, list[list[str]]]:
    """Questions that one of the two answers rightly: question, the right answer, with, without."""
    changed: dict[str, list[list[str]]] = {"better": [], "worse": []}
    for ours, theirs in zip(own, without, strict=True):
        if ours.right(POLICY) != theirs.right(POLICY):
            said = [turns.of[POLICY]["answer"] for turns in (ours, theirs)]
            question = ours.question
            changed["better" if ours.right(POLICY) else "worse"].append([question.text, question.answer, *said])
    return changed
