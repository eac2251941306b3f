"""The detector: does it point at the thing that is asked about, and do its crops bring the thing's entry back?"""

from __future__ import annotations

from collections.abc import Sequence

from bench.accuracy.ground import Ground, roles, skipped
from bench.accuracy.several import Turns, ask_policies, barred_unseen, share
from bench.results import Row, at_least
from bench.sections import Part
from bench.worlds import Trial
from quizglass_lab.pocketworld.arrangement import Box, boxes
from quizglass_lab.pocketworld.layout import intersection_over_union
from quizglass_lab.pocketworld.questions import Question

SHARE = 0.5
POLICY = "image"
LEAST_OVERLAP = 0.5
"""Intersection over union from which a box counts as the thing's."""
WITHIN = 5


def run(ground: Ground) -> Part:
    """Pictures of several things, searched with the detector and without; the named kind counts nothing."""
    crops: list[Turns] = []
    views: list[Turns] = []
    for seed in ground.seeds:
        trial = ground.trial(seed, share=SHARE)
        questions = [question for question in trial.questions if _several(question)]
        with ground.server(trial.folder, "without-bonus", kind_bonus=0.0) as target:
            if "detector" not in roles(target):
                return skipped("objects: boxes, recall by crops", "the bundle has no detector")
            crops += ask_policies(ground, "crops", trial, questions, (POLICY,), target, explain=True)
        views += _without(ground, trial, questions)
    return Part(rows(crops, views), {"questions": len(crops), "unseen": barred_unseen(rows, crops, views)})


def _several(question: Question) -> bool:
    return question.target is not None and len(question.scene.things) > 1 and question.group in ("image", "both")


def _without(ground: Ground, trial: Trial, questions: Sequence[Question]) -> list[Turns]:
    with ground.server(trial.folder, "without-detector", without=("detector",), kind_bonus=0.0) as target:
        return ask_policies(ground, "views", trial, questions, (POLICY,), target)


def rows(crops: Sequence[Turns], views: Sequence[Turns]) -> list[Row]:
    """Boxes, then recall with the crops beside views alone."""
    placed = [(turns, box) for turns in crops if (box := asked_for(turns.question))]
    pointed = [best_overlap(turns.of[POLICY]["boxes"][:1], box) >= LEAST_OVERLAP for turns, box in placed]
    any_box = [best_overlap(turns.of[POLICY]["boxes"], box) >= LEAST_OVERLAP for turns, box in placed]
    name = f"asked-for object under the detector's first box, IoU >= 0.5 ({len(placed)} pictures of several things)"
    with_crops, alone = share(crops, _found), share(views, _found)
    recall = f"image search recall@{WITHIN} with crops minus views alone, the named kind counting nothing"
    bar = at_least(recall, with_crops - alone, "points", 5)
    return [
        at_least(name, _percent(pointed), "%", 85),
        Row("the same, under any of its boxes", _percent(any_box), "%"),
        Row(recall, with_crops - alone, "points", "views alone", alone, bar=bar.bar, ok=bar.ok),
    ]


def asked_for(question: Question) -> Box | None:
    """Where the question's thing stands in the picture: left, top, right, bottom, 0 to 1."""
    for placed, box in zip(question.scene.things, boxes(question.scene), strict=True):
        if placed.thing.id == question.target:
            return box
    return None


def best_overlap(answered: Sequence[Box], box: Box) -> float:
    """Largest intersection over union of a box with any of the detector's."""
    return max((intersection_over_union(each, box) for each in answered), default=0.0)


def _found(turns: Turns) -> bool:
    hits = [entry for origin, entry, *_ in turns.of[POLICY]["evidence"] if origin == "image_search"]
    return turns.question.target in list(dict.fromkeys(hits))[:WITHIN]


def _percent(hits: Sequence[bool]) -> float:
    return 100 * sum(hits) / len(hits) if hits else float("nan")
