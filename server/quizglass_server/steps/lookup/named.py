"""Of a query that names several things ("Which costs more, the Velmora or the Tandric?"), a passage of each.

A passage about one of them may answer half of it so well that it, and others like it, leave no room for the other half.
"""

from __future__ import annotations

from collections.abc import Sequence

from quizglass_server.domain.turns import Evidence
from quizglass_server.steps.language.statements import sentences
from quizglass_server.steps.language.wording import stands_in, words


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


def each_first(query: str, ranked: Sequence[Evidence], accept: float) -> list[Evidence]:
    """Ranked passages, but of several things that the query names the best of each before all others.

    Args:
        query: what they were ranked for.
        ranked: the best first.
        accept: a thing whose best passage is less probable goes without one.
    """
    best = {title: next(each for each in ranked if each.title == title) for title in titles_named(query, ranked)}
    first = [passage for passage in best.values() if passage.rerank_score >= accept]
    if len(first) < 2:
        return list(ranked)
    return [*first, *(passage for passage in ranked if passage not in first)]
