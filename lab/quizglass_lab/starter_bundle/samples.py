"""Inputs for the parity check of the starter's models: questions about a drawn world."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from quizglass_export.roles.shared.samples import SEED, ParitySample
from quizglass_lab.pocketworld.articles import world_articles
from quizglass_lab.pocketworld.draw import draw_scene
from quizglass_lab.pocketworld.names import CORE_SEED, CORE_THINGS
from quizglass_lab.pocketworld.questions import make_questions
from quizglass_lab.pocketworld.world import make_world, with_core

SCENE_PIXELS = 448


def pocketworld_samples(count: int, seed: int = SEED, things: int = 120) -> list[ParitySample]:
    """Questions about a world with the core's things and new ones.

    Each has its gold evidence, where its group looks anything up, and among the passages a wrong one.
    """
    world = with_core(make_world(seed, things), make_world(CORE_SEED, CORE_THINGS))
    articles = {article.id: article for article in world_articles(world)}
    others = sorted(articles)
    rng = random.Random(seed)
    samples = []
    for question in make_questions(world, count, seed):
        gold = [articles[entry] for entry in question.gold_entries if entry in articles]
        told = [(article.title, _telling(article.paragraphs, question.answer)) for article in gold]
        wrong = articles[rng.choice(others)]
        target = articles.get(question.target or "")
        samples.append(
            ParitySample(
                picture=np.asarray(draw_scene(question.scene, SCENE_PIXELS).convert("RGB"), dtype=np.uint8),
                question=question.text,
                query=question.gold_query,
                history=question.history,
                words=question.words or "",
                seen=(target.caption,) if target and question.group in ("image", "both") else (),
                found=tuple(text for _, text in told) if question.group in ("text", "both") else (),
                passages=tuple(f"{title}: {text}" for title, text in (*told, (wrong.title, wrong.paragraphs[0]))),
            )
        )
    return samples


def _telling(paragraphs: Sequence[str], answer: str) -> str:
    """The paragraph that holds the answer, else the first."""
    return next((text for text in paragraphs if answer in text), paragraphs[0])
