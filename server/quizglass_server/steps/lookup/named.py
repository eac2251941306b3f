"""Of a query that names several things ("Which costs more, the Velmora or the Tandric?"), a passage of each.

A passage about one of them may answer half of it so well that it, and others like it, leave no room for the other half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.language.statements import sentences
from quizglass_server.steps.language.wording import mentions, stands_in, words
from quizglass_server.steps.lookup.rerank import REJECTED


def titles_named(query: str, passages: Sequence[Evidence]) -> list[str]:
    """Titles of passages that stand in the query, in the order of the passages."""
    said = words(query)
    return [title for title in dict.fromkeys(passage.title for passage in passages) if stands_in(words(title), said)]


def names_another(query: str, passages: Sequence[Evidence]) -> bool:
    """Whether a query has a name that no title of these passages has, beside one that some have.

    A name is a word with a capital that does not begin a sentence.
    """
    titles = titles_named(query, passages)
    if not titles:
        return False
    known = {word.key for title in titles for word in words(title)}
    spoken = (word for _, sentence in sentences(query) for word in words(sentence)[1:])
    return any(word.named and not word.key[0].isdigit() and word.key not in known for word in spoken)


def interleave_by_title(query: str, ranked: Sequence[Evidence], accept: float) -> list[Evidence]:
    """Ranked passages, but of several things that the query names the best of each before all others.

    Those count as much as the best of them: each answers a part of the query alone.

    Args:
        query: what they were ranked for.
        ranked: the best first.
        accept: the order stays unless the best passage of one thing reaches this, and that of another `REJECTED`.
    """
    best = [next(each for each in ranked if each.title == title) for title in titles_named(query, ranked)]
    score = max((passage.rerank_score for passage in best), default=0.0)
    first = [passage for passage in best if passage.rerank_score >= min(accept, REJECTED)]
    if len(first) < 2 or score < accept:
        return list(ranked)
    others = [passage for passage in ranked if passage not in first]
    return [*(replace(passage, rerank_score=score) for passage in first), *others]


def split_by_named_title(
    query: str, ranked: Sequence[Evidence], accept: float
) -> tuple[list[Evidence], list[Evidence]]:
    """Ranked passages, split into those about a thing that the query names and others.

    Where a passage that is accepted has its title in the query, another one has to be about that too, or mention it, or
    stand behind a link: of two names that are spelt alike a reader may take either for the other.
    """
    accepted = [passage for passage in ranked if passage.rerank_score >= accept]
    titles = titles_named(query, accepted)
    if not titles:
        return list(ranked), []
    told = [
        each.title in titles or each.via is not None or any(mentions(each.text, title) for title in titles)
        for each in ranked
    ]
    parted = list(zip(ranked, told, strict=True))
    return [each for each, tells in parted if tells], [each for each, tells in parted if not tells]
