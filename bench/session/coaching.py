"""What is said of frames as they were taken, on worlds that neither weights nor thresholds have seen."""

from __future__ import annotations

import asyncio
from time import thread_time

import cv2
import numpy as np
from numpy.typing import NDArray

from bench.engine.figures import percentile
from bench.hostile.sections import Setup
from bench.results import Row, at_least, at_most
from bench.sections import Part
from bench.session.stage import Served
from quizglass_export.coaching.samples import CLEAN, samples
from quizglass_server.coaching.coach import FAULTS, CaptureCoach

SEED, CLEAN_SEED = 6103, 6104
"""Apart from those of `quizglass_export.coaching.fit`."""
_EASY, _HARD = 0.9, 0.85
BARS = {"blur": _EASY, "dark": _EASY, "noise": _EASY, "tilt": _EASY, "truncation": _HARD, "occlusion": _HARD}
_MOST_MS, _MOST_ALARMS = 3.0, 2.0


async def coaching(setup: Setup, _: Served) -> Part:
    """AUC of every fault against clean frames, false alarms, and the processor's time for a frame."""
    return await asyncio.to_thread(_measured, setup.count(2100, 70), setup.count(1500, 30))


def _measured(count: int, clean_count: int) -> Part:
    coach = CaptureCoach()
    cv2.setNumThreads(1)
    drawn = list(samples(SEED, count))
    logits = np.stack([coach.logits(each.pixels) for each in drawn])
    kinds = np.array([each.fault for each in drawn])
    rows = []
    for column, fault in enumerate(FAULTS):
        both = (kinds == fault) | (kinds == CLEAN)
        area = auc(logits[both, column], kinds[both] == fault)
        rows.append(at_least(f"coaching: AUC of {fault} against clean frames", area, "", BARS[fault]))
    told = [coach.judge(each.pixels).fault for each in drawn]
    for fault in FAULTS:
        named = [each == fault for each, kind in zip(told, kinds, strict=True) if kind == fault]
        rows.append(Row(f"coaching: frames with {fault} of which it is named", 100 * float(np.mean(named)), "%"))
    clean = [bool(coach.judge(each.pixels).fault) for each in samples(CLEAN_SEED, clean_count, (CLEAN,))]
    rows.append(at_most("coaching: false alarms on clean frames", 100 * float(np.mean(clean)), "%", _MOST_ALARMS))
    took = [_cost_ms(coach, each.pixels) for each in drawn[:200]]
    rows.append(at_most("coaching: processor's time for a frame, p50", percentile(took, 0.5), "ms", _MOST_MS))
    return Part(rows, {"ms": took})


def auc(scores: NDArray[np.float32], there: NDArray[np.bool_]) -> float:
    """Probability that something that is there scores higher than something that is not (Mann and Whitney)."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores, kind="stable")] = np.arange(1, len(scores) + 1)
    hits = int(there.sum())
    return float((ranks[there].sum() - hits * (hits + 1) / 2) / (hits * (len(scores) - hits)))


def _cost_ms(coach: CaptureCoach, pixels: NDArray[np.uint8]) -> float:
    began = thread_time()
    coach.judge(pixels)
    return (thread_time() - began) * 1e3
