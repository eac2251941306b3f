"""How long turns that plan take beside one that always looks everything up, each on a picture that nothing has seen."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import asdict
from itertools import compress
from statistics import median
from time import perf_counter
from typing import Any

from bench.accuracy.ground import BUDGET_S, Ground
from bench.results import Row, spread
from bench.sections import Part
from bench.worlds import Trial, in_own_order
from quizglass_client import Client
from quizglass_lab.pocketworld.dataset import SCENE_SIZE
from quizglass_lab.pocketworld.draw import draw_scene
from quizglass_lab.pocketworld.questions import Question

SHARE = 0.25
AGENT, ADAPTIVE, BOTH = POLICIES = ("planning-agent+", "adaptive", "both")
_MOST = 0.85


def run(ground: Ground) -> Part:
    """One question at a time, the policies in another order for each; a pixel tells each picture from all before it."""
    times: dict[str, list[float]] = {policy: [] for policy in POLICIES}
    unseen: list[bool] = []
    for seed in ground.seeds:
        trial = ground.trial(seed, share=SHARE)
        _time(ground, trial, times)
        unseen += [question.target in trial.unseen for question in trial.questions]
    data = {"questions": len(unseen), "unseen": alone(times[AGENT], times[BOTH], unseen)}
    return Part([row(times[AGENT], times[BOTH]), adaptive(times[ADAPTIVE], times[BOTH])], data)


def _time(ground: Ground, trial: Trial, times: dict[str, list[float]]) -> None:
    """Add what each policy takes for each question of a world."""
    tick = ground.ticker("pace", len(trial.questions))
    with ground.server(trial.folder) as target, Client(target, timeout=BUDGET_S) as client:
        client.answer(trial.questions[0].text, fresh(trial.questions[0], len(POLICIES)), policy=BOTH, budget=BUDGET_S)
        for question in trial.questions:
            for place, policy in enumerate(in_own_order(question.id, POLICIES)):
                times[policy].append(_ms(client, question, fresh(question, place), policy))
            tick()


def alone(ours: Sequence[float], theirs: Sequence[float], unseen: Sequence[bool]) -> list[dict[str, Any]]:
    """The row over the questions about things that no model was trained on; none where there are no such."""
    if not any(unseen):
        return []
    return [asdict(row(list(compress(ours, unseen)), list(compress(theirs, unseen))))]


def row(ours: Sequence[float], theirs: Sequence[float]) -> Row:
    """The two medians."""
    value, peer = median(ours), median(theirs)
    name = f"a planned turn, p50 of {len(ours)} ({spread(ours)})"
    against = f"always-both ({spread(theirs)})"
    return Row(name, value, "ms", against, peer, value / peer, f"<= {_MOST:g}x peer", value <= _MOST * peer)


def adaptive(ours: Sequence[float], theirs: Sequence[float]) -> Row:
    """The same of a server's default, which has no bar."""
    value, peer = median(ours), median(theirs)
    return Row(f"an adaptive turn, p50 of {len(ours)} ({spread(ours)})", value, "ms", "always-both", peer, value / peer)


def fresh(question: Question, mark: int) -> bytes:
    """The question's picture as PNG, with a corner of its own so that no cache knows it."""
    image = draw_scene(question.scene, SCENE_SIZE)
    image.putpixel((0, 0), (mark, sum(question.id.encode()) % 256, 255))
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=1)
    return out.getvalue()


def _ms(client: Client, question: Question, picture: bytes, policy: str) -> float:
    began = perf_counter()
    client.answer(question.text, picture, history=question.history, policy=policy, budget=BUDGET_S)
    return 1e3 * (perf_counter() - began)
