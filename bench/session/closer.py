"""Thumbnails first, and crops where they are asked for, against frames sent as large as they are of use."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import cv2
import numpy as np
from PIL import Image

from bench.hostile.sections import Setup
from bench.results import Row, at_most
from bench.sections import Part
from bench.session.links import through_proxy
from bench.session.stage import Served, questions_of
from bench.worlds import in_own_order
from quizglass.session import NeedFrame, TurnUpdate
from quizglass.values import Done
from quizglass_client import AsyncTurn
from quizglass_lab.pocketworld.draw import draw_scene
from quizglass_lab.pocketworld.questions import Question
from quizglass_lab.scoring.answers import exact_match
from quizglass_lab.scoring.intervals import confidence_interval

WIDTH, HEIGHT = 720, 1280
"""Pixels of a frame as glasses stream it."""
THUMBNAIL = 320
_MOST_SHARE, _MOST_LOST = 0.6, 1.0
_BUDGET_S = 60.0


@dataclass(slots=True)
class _Arm:
    """What one way of showing frames took, and brought, question by question."""

    up: list[int] = field(default_factory=list)
    right: list[bool] = field(default_factory=list)
    crops: int = 0

    @property
    def accuracy(self) -> float:
        """Percent."""
        return 100 * sum(self.right) / len(self.right)


async def thumbnails(setup: Setup, stage: Served) -> Part:
    """The same questions about the same frames, each in a session of its own, in both ways in turn."""
    thumbnails, wholes = _Arm(), _Arm()
    arms = ((THUMBNAIL, thumbnails), (0, wholes))
    questions = await asyncio.to_thread(questions_of, setup, setup.count(400, 10))
    for at, question in enumerate(questions):
        picture = await asyncio.to_thread(frame_of, question)
        for side, arm in in_own_order(question.id, arms):
            await _ask(stage, question, picture, side, arm)
        setup.say(f"{at + 1} of {len(questions)} questions")
    both = f"thumbnail of {THUMBNAIL} and crop"
    share = sum(thumbnails.up) / sum(wholes.up)
    low, high = lost_between(thumbnails.right, wholes.right)
    rows = [
        at_most(f"bytes up, {both}: share of the whole frame's", share, "", _MOST_SHARE),
        at_most(
            f"accuracy, {both}: lower by (95 % interval {low:.1f} to {high:.1f}, paired)",
            wholes.accuracy - thumbnails.accuracy,
            "points",
            _MOST_LOST,
        ),
        Row(f"accuracy, whole frames ({len(questions)} questions)", wholes.accuracy, "%"),
        Row("thumbnails of which a crop was asked for", 100 * thumbnails.crops / len(questions), "%"),
    ]
    data = {"thumbnail": asdict(thumbnails), "whole": asdict(wholes), "questions": [each.id for each in questions]}
    return Part(rows, data)


def lost_between(thumbnails: Sequence[bool], wholes: Sequence[bool]) -> tuple[float, float]:
    """95 % interval of the points that thumbnails lose, question by question, by bootstrap."""
    lost = [100.0 * (float(whole) - float(small)) for small, whole in zip(thumbnails, wholes, strict=True)]
    return confidence_interval(lost)


def frame_of(question: Question) -> bytes:
    """The question's scene in the middle of a frame of 720 x 1280, as JPEG; its borders go on above and below it."""
    scene = np.asarray(draw_scene(question.scene, WIDTH))
    above = (HEIGHT - WIDTH) // 2
    frame = cv2.copyMakeBorder(scene, above, HEIGHT - WIDTH - above, 0, 0, cv2.BORDER_REPLICATE)
    out = io.BytesIO()
    Image.fromarray(frame).save(out, "JPEG", quality=90)
    return out.getvalue()


async def _ask(stage: Served, question: Question, picture: bytes, side: int, arm: _Arm) -> None:
    async with through_proxy(stage) as (proxy, session):
        frame = await session.show(picture, thumbnail=side)
        turn = await session.ask(question.text, frame=frame, history=question.history, budget=_BUDGET_S)
        answer, crops = await _answer(turn)
        arm.up.append(proxy.up)
        arm.right.append(exact_match(answer, question.answer, question.aliases))
        arm.crops += crops


async def _answer(turn: AsyncTurn) -> tuple[str, bool]:
    """What was answered, and whether a crop was asked for."""
    answer, cropped = "", False
    async for said in turn:
        if isinstance(said, NeedFrame):
            cropped = cropped or any(need.region is not None for need in said.frames)
        elif isinstance(said, TurnUpdate) and isinstance(said.event, Done):
            answer = said.event.answer
    return answer, cropped
