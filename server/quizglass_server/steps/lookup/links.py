"""Follows names: what the entries say that a query or the passages found for it name by their titles.

A question of two lookups ("Who founded the maker of the Velmora?") names only what the first of them is about, so no
search for it brings the second passage; the first one names whom that is about (Asai et al., 2020, retrieve along such
links of Wikipedia). One that compares two things names both, and one of them may leave no room for the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from quizglass.values import SearchMode
from quizglass_server.domain.entries import SearchOptions
from quizglass_server.domain.turns import Evidence
from quizglass_server.roles.text_encoder import TextEncoder
from quizglass_server.scheduling.ledger import handed, text_size
from quizglass_server.steps.language.statements import sentences
from quizglass_server.steps.language.wording import stands_in, words
from quizglass_server.steps.lookup.text_search import TextIndex, text_evidence
from quizglass_server.steps.prompt_values import line
from quizglass_server.steps.step import Telling, step
from quizglass_server.steps.telling import passages as told_passages
from quizglass_server.steps.telling import texts

_HOPS = 2
"""Links after another: a question of three lookups has two."""
_SOURCES = 3
"""Passages whose names are followed, the best ones."""
_OWN = 2
"""Passages of each of several things that a query names."""
_ANSWERS = 0.5
"""Probability from which a reranker says that a passage answers."""
_LONGEST = 5
"""Words of a name."""
_MOST_NAMES = 200
"""Looked for at once."""


def _told(linked: list[Evidence] | None, _: TextEncoder | None, query: str, *__: object) -> Telling:
    return texts("query", query), told_passages(linked or (), lambda passage: passage.search_score)


@step("links", role="knowledge", optional=True, spare=True, told=_told)
async def follow_links(
    index: TextIndex, encoder: TextEncoder | None, query: str, passages: Sequence[Evidence], limit: int
) -> list[Evidence]:
    """Passages about the things that the query names, where it names several things or the search missed it, and of
    what the best passages name.

    The best are those about the things that the query names, if there are any. What they name brings up to `limit`
    passages, and what those name as many again; each has the passage that names its entry as `via`. With a `limit` of
    0 nothing is followed. Without an encoder all are found by words alone.
    """
    mode = SearchMode.VECTORS if encoder is not None else SearchMode.KEYWORDS
    vector = (await encoder.embed_queries([query]))[0] if encoder is not None else None

    async def titled(titles: Sequence[str], most: int, *, per_entry: bool = False) -> list[Evidence]:
        if not titles:
            return []
        options = SearchOptions(mode=mode, per_entry=per_entry, titles=tuple(titles[:_MOST_NAMES]))
        handed("knowledge", text_size(query, *options.titles) + (vector.nbytes if vector is not None else 0))
        return text_evidence(await index.search_texts(vector, most, query, options))

    spoken, there = names(query), {passage.title for passage in passages}
    others = await titled([name for name in spoken if name not in there], _SOURCES, per_entry=True)
    asked = list(dict.fromkeys([*(name for name in spoken if name in there), *(each.title for each in others)]))
    missing = [title for title in asked if len(asked) > 1 or title not in there]
    found = [each for title in missing for each in await titled([title], _OWN)]
    sources = [each for each in (*passages, *found) if each.title in asked] or list(passages)
    known, linked = set(asked), list[Evidence]()
    for _ in range(_HOPS if limit else 0):
        titles = [name for name in dict.fromkeys(_named_by(sources[:_SOURCES])) if name not in known]
        known.update(titles)
        sources = [_through(each, sources) for each in await titled(titles, limit)]
        linked += sources
    return [*found, *linked]


def names(text: str) -> list[str]:
    """What may be the title of an entry: up to five words, the first and the last of them with a capital or digit."""
    said = words(text)
    spans = (
        (said[start].start, said[end].end)
        for start in range(len(said))
        for end in range(start, min(start + _LONGEST, len(said)))
        if said[start].named and said[end].named
    )
    return [text[start:end] for start, end in spans]


def _named_by(sources: Iterable[Evidence]) -> Iterator[str]:
    """What passages name besides what they are about."""
    for source in sources:
        yield from (name for name in names(source.text) if name != source.title)


def _through(passage: Evidence, sources: Sequence[Evidence]) -> Evidence:
    """The passage with the source that names its entry."""
    said = words(passage.title)
    return replace(passage, via=next((each for each in sources if stands_in(said, words(each.text))), None))


def with_links(passages: Sequence[Evidence], linked: Sequence[Evidence]) -> list[Evidence]:
    """Both; what both brought is taken as it was linked."""
    known = {(each.entry_id, each.text) for each in linked}
    return [*(each for each in passages if (each.entry_id, each.text) not in known), *linked]


def whole_line(passage: Evidence) -> str:
    """A passage as a reranker reads it: behind the sentence that names its entry, where it was found by that."""
    return line(passage) if passage.via is None else f"{_naming(passage)} {line(passage)}"


def _naming(passage: Evidence) -> str:
    """What of the passage before it, and of the one before that, leads to a passage."""
    via = passage.via
    if via is None:
        return ""
    said = words(passage.title)
    sentence = next((text for _, text in sentences(via.text) if stands_in(said, words(text))), via.text)
    return f"{_naming(via)} {line(replace(via, text=sentence))}".strip()


def answered(ranked: Sequence[Evidence], accept: float) -> bool:
    """Whether one of these reranked passages answers by itself; one below `accept` is not even shown.

    What it names would tell more than was asked, which readers take for the answer.
    """
    return any(each.rerank_score >= max(_ANSWERS, accept) for each in ranked)


def with_sources(ranked: Sequence[Evidence]) -> list[Evidence]:
    """Ranked passages, each followed by those that lead to it: they count as much as what they lead to."""
    first: dict[tuple[str, str], Evidence] = {}
    for passage in ranked:
        each: Evidence | None = passage
        while each is not None:
            score = max(each.rerank_score, passage.rerank_score)
            first.setdefault((each.entry_id, each.text), replace(each, rerank_score=score))
            each = each.via
    return list(first.values())
