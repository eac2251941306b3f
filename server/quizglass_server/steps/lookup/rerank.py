"""Orders passages, coarsely by the picture and finely by the query, and picks those the generator is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from quizglass_bundle.tuning import Tuning
from quizglass_server.domain.turns import Evidence, Picture
from quizglass_server.roles.coarse_reranker import CoarseReranker
from quizglass_server.roles.reranker import Reranker
from quizglass_server.steps.lookup.links import whole_line
from quizglass_server.steps.prompt_values import line
from quizglass_server.steps.step import Telling, step
from quizglass_server.steps.telling import passages as told_passages
from quizglass_server.steps.telling import texts

REJECTED = 0.02
"""Among passages less probable than this the reranker has no favourite: they keep the search's order."""
SURE = 0.95
"""A passage of this probability answers, whatever the reranker would make of others."""


def _told(ranked: list[Evidence] | None, query: str, passages: Sequence[Evidence]) -> Telling:
    inputs = *texts("query", query), *texts("passages", str(len(passages)))
    return inputs, told_passages(ranked, lambda passage: passage.rerank_score)


def _count(_: str, passages: Sequence[Evidence]) -> float:
    return len(passages)


@step("rerank", role="reranker", optional=True, spare=True, size=_count, told=_told)
async def rerank(reranker: Reranker, query: str, passages: Sequence[Evidence]) -> list[Evidence]:
    """The passages with the reranker's scores, best first by fine x coarse (QA-Dragon's coarse-to-fine reranker).

    Fine is the reranker's probability; coarse is the coarse reranker's cosine, without one the search's, not below 0.
    What a source brought counts by its trust. Equal products keep the order.
    """
    scores = await reranker.score(query, [whole_line(passage) for passage in passages])
    scored = [replace(passage, rerank_score=score) for passage, score in zip(passages, scores, strict=True)]
    return best_first(scored)


def best_first(scored: Sequence[Evidence]) -> list[Evidence]:
    """Passages with their scores, in order; see `rerank`."""
    return sorted(scored, key=_worth, reverse=True)


def _worth(passage: Evidence) -> float:
    return passage.rerank_score * max(passage.coarse, 0.0) * passage.trust if passage.rerank_score >= REJECTED else 0.0


def choose(passages: Sequence[Evidence], shown: int, tuning: Tuning, *, reranked: bool) -> list[Evidence]:
    """Mark what the generator is shown: the first `shown` that are accepted.

    Args:
        passages: the best first.
        shown: how many at most.
        tuning: the thresholds.
        reranked: whether all were; of several queries those of some may have been left out.
    """
    chosen, left = list[Evidence](), shown
    for passage in passages:
        used = left > 0 and _accepted(passage, tuning, reranked=reranked or passage.rerank_score > 0)
        chosen.append(replace(passage, used=used))
        left -= used
    return chosen


def _accepted(passage: Evidence, tuning: Tuning, *, reranked: bool) -> bool:
    """Fine x coarse >= the product of their thresholds (QA-Dragon); of one of the two, that one against its own.

    Of neither, the search's cosine against its own.
    """
    coarse = None if tuning.coarse_accept <= 0 else passage.coarse_score
    if coarse is None:
        least = tuning.rerank_accept if reranked else tuning.text_accept
        return (passage.rerank_score if reranked else passage.search_score) >= least
    if not reranked:
        return coarse >= tuning.coarse_accept
    return passage.rerank_score * coarse >= tuning.rerank_accept * tuning.coarse_accept


def merged(rankings: Sequence[Sequence[Evidence]]) -> list[Evidence]:
    """The passages that several queries found, each once: the best of every query, then the second of each, ...

    One that several found has the best of its scores: it may answer one query and not the others.
    """
    by_rank = (passage for rank in zip_longest(*rankings) for passage in rank if passage is not None)
    once: dict[tuple[str, str], Evidence] = {}
    for passage in by_rank:
        key = passage.entry_id, passage.text
        once[key] = max(once.get(key, passage), passage, key=lambda each: each.rerank_score)
    return list(once.values())


def _told_coarse(
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


def _count_coarse(_: Picture, __: str, passages: Sequence[Evidence], ___: Tuning) -> float:
    return len(passages)


@step("coarse_rerank", role="coarse_reranker", optional=True, size=_count_coarse, told=_told_coarse)
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
