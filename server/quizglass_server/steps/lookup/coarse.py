"""Leaves out the passages that do not go with the picture, before the finer and slower reranker reads the rest.

The coarse stage of QA-Dragon's coarse-to-fine reranker: a passage counts by its vector's largest dot product with the
query vectors of the picture and the question. The question is the query that the passages were searched for: it stands
alone, and of several parts it is the one that they may answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quizglass_bundle.tuning import Tuning
from quizglass_server.domain.turns import Evidence, Picture
from quizglass_server.roles.coarse_reranker import CoarseReranker
from quizglass_server.steps.prompt_values import line
from quizglass_server.steps.step import Telling, step
from quizglass_server.steps.telling import passages as told_passages
from quizglass_server.steps.telling import texts


def _told(
    parted: tuple[list[Evidence], list[Evidence]] | None,
    _: Picture,
    question: str,
    passages: Sequence[Evidence],
    __: Tuning,
) -> Telling:
    kept, dropped = parted or ((), ())
    inputs = *texts("question", question), *texts("passages", str(len(passages)))
    return inputs, [
        *told_passages(kept, lambda passage: passage.coarse_score),
        *told_passages(dropped, lambda passage: passage.coarse_score, "dropped"),
    ]


def _count(_: Picture, __: str, passages: Sequence[Evidence], ___: Tuning) -> float:
    return len(passages)


@step("coarse_rerank", role="coarse_reranker", optional=True, size=_count, told=_told)
async def rerank_coarsely(
    reranker: CoarseReranker, picture: Picture, question: str, passages: Sequence[Evidence], tuning: Tuning
) -> tuple[list[Evidence], list[Evidence]]:
    """The passages with their coarse scores, best first: those worth a closer look, and the others.

    Worth it are the first `coarse_candidates`, unless no relevance could lift them over the line (`rerank.choose`).
    """
    scores = await reranker.compare(picture, question, [line(passage) for passage in passages])
    scored = [replace(passage, coarse_score=score) for passage, score in zip(passages, scores, strict=True)]
    scored.sort(key=lambda passage: -passage.coarse)
    least = tuning.rerank_accept * tuning.coarse_accept if tuning.coarse_accept > 0 else -1.0
    near = sum(passage.coarse >= least for passage in scored)
    kept = near if tuning.coarse_candidates is None else min(near, tuning.coarse_candidates)
    return scored[:kept], scored[kept:]
