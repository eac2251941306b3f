"""What is said of frames as they were taken, on worlds that neither weights nor thresholds have seen."""

from __future__ import annotations

import asyncio
import io
import secrets
from collections.abc import Sequence
from statistics import median
from time import perf_counter, thread_time

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.stats import rankdata

from bench.everyday.setup import encoders
from bench.hostile.sections import Setup
from bench.results import Row, at_least, at_most, spread
from bench.sections import Part
from bench.session.closer import HEIGHT, WIDTH, frame_of
from bench.session.stage import Served, questions_of
from quizglass_lab.coaching.samples import CLEAN, samples
from quizglass_server.domain.turns import RGB, Picture
from quizglass_server.roles.image_encoder import ImageEncoder
from quizglass_server.session.coaching.coach import FAULTS, CaptureCoach

SEED, CLEAN_SEED = 6103, 6104
"""Apart from those of `quizglass_lab.coaching.fit`."""
_EASY, _HARD = 0.9, 0.85
BARS = {"blur": _EASY, "dark": _EASY, "noise": _EASY, "tilt": _EASY, "truncation": _HARD, "occlusion": _HARD}
_MOST_MS, _MOST_ALARMS = 3.0, 2.0
_UNCOUNTED = 4
"""Pairs that warm everything up."""


async def coaching(setup: Setup, _: Served) -> Part:
    """AUC of every fault against clean frames, false alarms, and what it adds to the time of a frame's embedding."""
    judged = await asyncio.to_thread(_measured, setup.count(2100, 70), setup.count(1500, 30))
    frames = await asyncio.to_thread(_frames, setup, setup.count(50, 4))
    image = (await encoders(setup.bundle)).image
    added = await _added_ms(image, frames, setup.count(400, 8))
    name = f"coaching: time added to embedding a frame of {WIDTH} x {HEIGHT}, p50 ({spread(added)})"
    coach = CaptureCoach()
    alone = [_cost_ms(coach, pixels) for pixels in frames]
    rows = [
        at_most(name, median(added), "ms", _MOST_MS),
        Row(f"coaching: processor's time for a frame of {WIDTH} x {HEIGHT}, p50", median(alone), "ms"),
    ]
    return Part([*judged.rows, *rows], {**judged.data, "added_ms": added, "alone_ms": alone})


def _frames(setup: Setup, count: int) -> list[RGB]:
    """Frames as glasses stream them: uint8 [1280, 720, 3]."""
    encoded = (frame_of(question) for question in questions_of(setup, count))
    return [np.asarray(Image.open(io.BytesIO(each)).convert("RGB")) for each in encoded]


async def _added_ms(image: ImageEncoder, frames: Sequence[RGB], pairs: int) -> list[float]:
    """Milliseconds that a frame takes longer to be embedded and judged at once, as sessions do, than to be embedded."""
    coach, added = CaptureCoach(), list[float]()
    for at in range(-_UNCOUNTED, pairs):
        took = dict[bool, float]()
        for judges in (False, True) if at % 2 else (True, False):
            picture = Picture(secrets.token_bytes(32), frames[at % len(frames)])  # no cache has seen it
            began = perf_counter()
            judging = [asyncio.to_thread(coach.judge, picture.pixels)] if judges else []
            await asyncio.gather(image.embed([picture]), *judging)
            took[judges] = perf_counter() - began
        if at >= 0:
            added.append((took[True] - took[False]) * 1e3)
    return added


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
    return Part(rows)


def auc(scores: NDArray[np.float32], there: NDArray[np.bool_]) -> float:
    """Probability that something that is there scores higher than something that is not (Mann and Whitney).

    A tie is half of it, whichever stands first.
    """
    ranks = rankdata(scores)
    hits = int(there.sum())
    return float((ranks[there].sum() - hits * (hits + 1) / 2) / (hits * (len(scores) - hits)))


def _cost_ms(coach: CaptureCoach, pixels: NDArray[np.uint8]) -> float:
    began = thread_time()
    coach.judge(pixels)
    return (thread_time() - began) * 1e3
