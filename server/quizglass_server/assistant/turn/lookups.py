"""Looks a turn's picture and queries up in the knowledge store, with whatever roles the bundle has for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from quizglass.values import Origin
from quizglass_bundle.inputs.prompts import MOST_ENTRIES
from quizglass_bundle.tuning import Tuning
from quizglass_server.assistant.turn.journal import Journal
from quizglass_server.assistant.turn.outside import Outside
from quizglass_server.assistant.turn.resources import Resources
from quizglass_server.assistant.turn.runner import StepRunner
from quizglass_server.domain.entries import EntryHit
from quizglass_server.domain.turns import Evidence, Picture, Turn, Vector
from quizglass_server.roles.detector import DETECTOR
from quizglass_server.roles.image_encoder import IMAGE_ENCODER
from quizglass_server.roles.reranker import RERANKER
from quizglass_server.roles.text_encoder import TEXT_ENCODER
from quizglass_server.scheduling.at_once import at_once
from quizglass_server.steps.language.wording import shares_part
from quizglass_server.steps.lookup.alike import match_alike, rerank_by_appearance
from quizglass_server.steps.lookup.entry_pictures import entry_pictures
from quizglass_server.steps.lookup.image_search import (
    ViewHits,
    embed_views,
    in_turn,
    picture_evidence,
    search_pictures,
    search_squares,
)
from quizglass_server.steps.lookup.links import answered, follow_links, with_links, with_sources
from quizglass_server.steps.lookup.named import interleave_by_title, names_another, split_by_named_title
from quizglass_server.steps.lookup.parts.crop import Part, squares_of, views_of
from quizglass_server.steps.lookup.parts.detect import around, find_regions, likely_regions
from quizglass_server.steps.lookup.parts.pointing import each_meant, pointing
from quizglass_server.steps.lookup.rerank import SURE, best_first, choose, merged, rerank, rerank_coarsely
from quizglass_server.steps.lookup.spatial import match_places
from quizglass_server.steps.lookup.text_search import (
    in_order,
    own_passages,
    search_texts,
    text_evidence,
    with_passages,
    with_pictures,
)
from quizglass_server.steps.quoting import best_of, sentences_of, weigh

CHEAP_S = 0.05
"""Seconds; an embedding that usually takes longer is not begun before it is requested."""

_Sought = tuple[str, tuple[str, ...]]
"""A question, and phrases in place of its own words."""
_BY_TEXT = search_texts.named("picture_by_text")
OWN_TEXTS = 8
"""Of an entry that is quoted, how many passages are looked at: all of a note, of an article those that fit best."""


@dataclass(frozen=True, slots=True)
class QueryVectors:
    """Vectors of the parts that a picture is looked up by: boxes of a detector, likeliest first, or views."""

    vectors: Sequence[Vector] = ()
    boxed: bool = False


class Lookups:
    """The searches of one turn.

    Args:
        turn: the question and its picture.
        runner: runs the steps.
        resources: the store, the vectors of pictures seen before, and how much is looked up.
        journal: takes the evidence.
        look: describes the question's subject in a few words, or nothing; None: not available.
        published: whether searches bring what is like the picture or the query and nothing else: no names are followed,
            no appearance told apart, and no things looked up one by one.
    """

    def __init__(
        self,
        turn: Turn,
        runner: StepRunner,
        resources: Resources,
        journal: Journal,
        look: Callable[[], Awaitable[str]] | None = None,
        *,
        published: bool = False,
    ) -> None:
        self._published = published
        self._turn = turn
        self._runner = runner
        self._resources = resources
        self._tuning = resources.tuning
        self._journal = journal
        self._look = None if published else look
        self._outside = Outside(turn, runner, resources, journal)
        self._vectors: dict[_Sought, asyncio.Task[QueryVectors]] = {}
        self._guess: _Sought | None = None
        """What is embedded without any search that waits for it."""
        self._pictures: dict[tuple[bytes, ...], asyncio.Task[tuple[Picture, ...] | None]] = {}

    def end(self) -> None:
        """Let go of tasks and of the turn's verbs, as `PictureContext.end`."""
        self._look = None
        self._vectors.clear()
        self._pictures.clear()

    def embed_if_cheap(self) -> None:
        """Begin to embed the picture's views, if that is of use and takes no time worth mentioning."""
        usual, resources = self._resources.costs.usual, self._resources
        cheap = usual(find_regions.name) + usual(embed_views.name) <= CHEAP_S
        if not self._vectors and cheap and resources.models[IMAGE_ENCODER] is not None and resources.knowledge.count():
            self._embedding(self._pointing)
            self._guess = (self._pointing, ())

    def drop_guess(self) -> None:
        """End what `embed_if_cheap` began, where no search has asked for it: none follows."""
        guess, self._guess = self._guess, None
        if guess is not None and guess in self._vectors:
            self._vectors.pop(guess).cancel()

    async def embed_ahead(self) -> None:
        """Embed what a question is likely to look the picture up by, and keep it for the next turn.

        Those are the views of one that names no place, or with a detector the boxes of recent questions' subjects.
        """
        if self._resources.models[DETECTOR] is None:
            await self._embedding(self._pointing)
        elif (picture := self._turn.picture) is not None:
            regions = await self._runner.run(likely_regions, picture, self._tuning)
            await self._vectors_of(picture, regions or ())

    async def image(self, phrases: Sequence[str], limit: int, *, candidates: bool = False) -> list[Evidence]:
        """What the generator is shown of the entries that look like the picture; see `Tools.search_image`."""
        if self._turn.picture is None:
            self._journal.skip("image_search", "NO_PICTURE")
            return []
        if self._is_empty("image_search", "image"):
            return []
        shown = limit or self._tuning.seen
        most = max(limit, self._tuning.image_candidates)
        tuning = self._tuning.model_copy(update={"image_candidates": most})
        each = [] if phrases or self._published else await self._of_each(tuning)

        async def in_store() -> list[EntryHit] | None:
            return in_turn(each) or await self._of_one(tuple(phrases), tuning)

        async def vectors() -> Sequence[Vector]:
            return (await self._embedding(self._pointing, tuple(phrases))).vectors

        hits = await self._outside.pictures(in_store(), vectors, tuning.image_accept)
        if hits is None:
            return []
        evidence = picture_evidence(hits, shown=0)
        if not candidates:
            shown = max(shown, len({found[0].entry.id for found in each}))
            ranked = evidence if each else await self.disambiguate(evidence)
            evidence = [replace(item, used=position < shown) for position, item in enumerate(ranked)]
        if hits and self._tuning.own_passages:
            encoder, most = self._resources.models[TEXT_ENCODER], self._tuning.own_passages
            entries = [item.entry_id for item in evidence[:shown]]
            own = await self._runner.run(own_passages, encoder, self._turn.question, entries, most)
            evidence = with_passages(evidence, own or [])
        told = self._journal.found(evidence)
        return told[:shown] if candidates else _shown(told)

    async def disambiguate(self, entries: Sequence[Evidence]) -> list[Evidence]:
        """See `Tools.disambiguate`."""
        if self._look is None or len(match_alike(entries)) < 2:
            return list(entries)
        return rerank_by_appearance(entries, await self._look())

    async def _of_each(self, tuning: Tuning) -> list[list[EntryHit]]:
        """What is found by the boxes of each thing that a question names by sight, where it names several."""
        parts = each_meant(self._pointing) if self._resources.models[DETECTOR] is not None else []
        sought = await at_once([self._embedding(part) for part in parts])
        found = [await self._search(each, part, tuning) for part, each in zip(parts, sought, strict=True) if each.boxed]
        return [each.hits for each in found if each is not None and each.hits]

    async def _of_one(self, phrases: tuple[str, ...], tuning: Tuning) -> list[EntryHit] | None:
        """What is found by the boxes of the question's subject, or else by views; None where there was no time."""
        picture = self._turn.picture
        sought = await self._embedding(self._pointing, phrases)
        if picture is None or not sought.vectors:
            self._journal.skip("image_search", "BUDGET")
            return None
        found = await self._search(sought, self._pointing, tuning)
        if found is None:
            return []
        hits = found.hits or await self._shown(picture, found.near)
        return hits if hits or sought.boxed else await self._in_squares(picture, tuning)

    async def _search(self, sought: QueryVectors, question: str, tuning: Tuning) -> ViewHits | None:
        step, other_than = tuning.box_step if sought.boxed else 0.0, self._turn.other_than
        return await self._runner.run(search_pictures, sought.vectors, question, tuning, other_than, step)

    async def _in_squares(self, picture: Picture, tuning: Tuning) -> list[EntryHit]:
        """What smaller squares show where the views show nothing known; nothing where the bundle has none tried."""
        squares = squares_of(self._pointing, picture, tuning.views.squares)
        vectors = await self._vectors_of(picture, squares) if squares else []
        if not vectors:
            return []
        others = self._turn.other_than
        found = await self._runner.run(search_squares, vectors, self._pointing, tuning, others)
        if found is None:
            return []
        if shown := await self._shown(picture, found.near):
            return shown
        return found.hits if tuning.square_accept is None else await self._meant_first(found.hits)

    async def _shown(self, picture: Picture, near: Sequence[EntryHit]) -> list[EntryHit]:
        """Candidates whose keypoints the picture shares, the entry that the question means first."""
        least = self._tuning.spatial_accept
        if least is None or not near:
            return []
        return await self._meant_first(await self._runner.run(match_places, picture, near, least) or [])

    async def _meant_first(self, hits: list[EntryHit]) -> list[EntryHit]:
        """Things that stand in one picture, the one first that the question names, or whose own text answers it best.

        Where that settles nothing they stay as they are.
        """
        if len(hits) < 2:
            return hits
        question = self._pointing
        named = [hit.entry.id for hit in hits if shares_part(question, hit.entry.title)]
        least, reranker = self._tuning.quote_accept, self._resources.models[RERANKER]
        if not named and least is not None and reranker is not None:
            sentences = sentences_of(await self.own_texts(picture_evidence(hits, shown=0)))
            scores = await self._runner.run(weigh, question, sentences) if sentences else None
            best = best_of(question, sentences, scores) if scores else None
            named = [best.evidence.entry_id] if best is not None and best.score >= least else []
        return sorted(hits, key=lambda hit: hit.entry.id not in named)

    async def own(self, entries: Sequence[Evidence], query: str, limit: int) -> list[Evidence]:
        """What the generator is shown of the texts of entries; see `Tools.read_entries`."""
        if not entries or self._tuning.own_passages:
            return []
        encoder, ids = self._resources.models[TEXT_ENCODER], [entry.entry_id for entry in entries]
        own = await self._runner.run(own_passages, encoder, query, ids, limit or self._tuning.found)
        passages = text_evidence([hit for hits in own or () for hit in hits])
        return self._journal.found([replace(passage, used=True) for passage in passages])

    async def own_texts(self, entries: Sequence[Evidence]) -> list[Evidence]:
        """What entries say of themselves, as candidates; see `Tools.own_texts`."""
        if not entries:
            return []
        encoder, ids = self._resources.models[TEXT_ENCODER], [entry.entry_id for entry in entries]
        own = await self._runner.run(own_passages, encoder, self._turn.question, ids, OWN_TEXTS)
        return text_evidence([hit for hits in own or () for hit in in_order(hits)])

    async def text(self, queries: Sequence[str], limit: int, *, reranked: bool = True) -> list[Evidence]:
        """What the generator is shown of the passages that answer the queries; see `Tools.search_text`."""
        if not queries:
            self._journal.skip("text_search", "NO_QUERY")
            return []
        if self._is_empty("text_search", "text"):
            return []
        asked = list(dict.fromkeys(queries))
        candidates = max(limit, self._tuning.text_candidates)
        if len(asked) > 1:  # reranking costs by the passage: several queries share what one has
            candidates = max(self._tuning.found, candidates // len(asked))
        few = max(limit, self._tuning.rerank_first or candidates)
        results = await at_once([self._passages(query, candidates, few, reranked=reranked) for query in asked])
        best = merged([ranked for ranked, _, _ in results])
        if self._published:  # by score, whichever query it is of
            best = best_first(best)
        kept = {(passage.entry_id, passage.text) for passage in best}
        left = merged([left for _, left, _ in results])
        dropped = [passage for passage in left if (passage.entry_id, passage.text) not in kept]
        reranked = all(fine for ranked, _, fine in results if ranked)
        chosen = choose(best, limit or len(asked) * self._tuning.found, self._tuning, reranked=reranked)
        return _shown(self._journal.found([*chosen, *dropped]))

    async def pictured(self, queries: Sequence[str], limit: int) -> list[Evidence]:
        """Entries with pictures of the things that the queries name; see `Tools.search_pictures`."""
        if not queries:
            self._journal.skip(_BY_TEXT.name, "NO_QUERY")
            return []
        if self._is_empty(_BY_TEXT.name, "text"):
            return []
        shown = limit or self._tuning.seen
        asked, most = list(dict.fromkeys(queries)), max(shown, self._tuning.text_candidates)
        found = await at_once([self._runner.run(_BY_TEXT, self._resources.knowledge, query, most) for query in asked])
        hits = in_turn([with_pictures(each or ()) for each in found])[:shown]
        entries = [replace(item, origin=Origin.TEXT_SEARCH) for item in picture_evidence(hits, shown=shown)]
        return _shown(self._journal.found(entries))

    async def pictures(self, seen: Sequence[Evidence]) -> tuple[Picture, ...]:
        """Pictures of the first of these entries, in order; fetched once a turn."""
        wanted = tuple(takewhile(bool, (item.picture for item in seen[:MOST_ENTRIES])))
        if not wanted:
            return ()
        if wanted not in self._pictures:
            self._pictures[wanted] = self._runner.begin(self._runner.run(entry_pictures, wanted))
        pictures: tuple[Picture, ...] | None = await asyncio.shield(self._pictures[wanted])
        return pictures or ()

    async def _passages(
        self, query: str, most: int, few: int, *, reranked: bool
    ) -> tuple[list[Evidence], list[Evidence], bool]:
        """Passages for a query, best first; those that are not to be shown; whether the first were reranked.

        Args:
            query: what is searched for.
            most: how many passages, at most.
            few: how many are reranked before the others.
            reranked: without it neither reranker sees them, the coarse one as little as the fine one.
        """
        passages, dropped = await self._outside.texts(query, self._own_texts(query, most), most), list[Evidence]()
        if not reranked:
            return passages, dropped, False
        if passages and self._turn.picture is not None:
            parted = await self._runner.run(rerank_coarsely, self._turn.picture, query, passages, self._tuning)
            passages, dropped = parted or (passages, dropped)
        scored = await self._reranked(query, passages, few) if passages else None
        if scored is None:
            return passages, dropped, False
        ranked, spared = scored
        if self._published:
            return ranked, [*dropped, *spared], True
        accept = self._tuning.rerank_accept
        ranked = interleave_by_title(query, await self._followed(query, ranked), accept)
        ranked, others = split_by_named_title(query, ranked, accept)
        return ranked[:most], [*dropped, *others[:most], *spared], True

    async def _own_texts(self, query: str, most: int) -> list[Evidence]:
        if self._resources.models[TEXT_ENCODER] is None and self._resources.sources.that_find("text"):
            return []  # the store is searched by vectors, sources are not
        return text_evidence(await self._runner.run(search_texts, self._resources.knowledge, query, most) or [])

    async def _reranked(
        self, query: str, passages: list[Evidence], few: int
    ) -> tuple[list[Evidence], list[Evidence]] | None:
        """Passages with the reranker's scores, best first, and those that it was spared; None where it had no time.

        It is spared what the search puts behind the first few where these tell all that the query asks.
        """
        first, rest = passages[:few], passages[few:]
        ranked = await self._runner.run(rerank, query, first)
        if ranked is None:
            return None
        if not rest or self._tells_all(query, ranked, SURE):
            return ranked, rest
        others = await self._runner.run(rerank, query, rest)
        return (ranked, rest) if others is None else (best_first([*ranked, *others]), [])

    def _tells_all(self, query: str, ranked: Sequence[Evidence], least: float = 0.0) -> bool:
        """Whether a passage answers this probably, and the query names nothing that no accepted one is about."""
        accept = self._tuning.rerank_accept
        accepted = [passage for passage in ranked if passage.rerank_score >= accept]
        return answered(ranked, max(least, accept)) and not names_another(query, accepted)

    async def _followed(self, query: str, ranked: list[Evidence]) -> list[Evidence]:
        """Ranked passages, where none of them answers with those of entries that the query or the first ones name.

        Where one answers and the query names something besides what they are about, with those of that alone.
        """
        if not self._tuning.links or self._tells_all(query, ranked):
            return ranked
        links = 0 if answered(ranked, self._tuning.rerank_accept) else self._tuning.links
        encoder = self._resources.models[TEXT_ENCODER]
        linked = await self._runner.run(follow_links, encoder, query, ranked, links)
        scored = await self._runner.run(rerank, query, linked) if linked else None
        return ranked if scored is None else with_sources(best_first(with_links(ranked, scored)))

    def _embedding(self, question: str, phrases: tuple[str, ...] = ()) -> asyncio.Task[QueryVectors]:
        sought = question, phrases
        if sought == self._guess:
            self._guess = None
        if sought not in self._vectors:
            self._vectors[sought] = self._runner.begin(self._embed(question, phrases))
        return self._vectors[sought]

    async def _embed(self, question: str, phrases: Sequence[str]) -> QueryVectors:
        """What the question is looked up by; no vectors when there is no time for them.

        Those are the boxes of its subject, and the views where no box is found: beside boxes, views bring what
        was not asked about.
        """
        picture = self._turn.picture
        if picture is None:
            return QueryVectors()
        regions = await self._runner.run(find_regions, picture, question, self._tuning, phrases)
        squares = [around(region, picture) for region in regions or ()]
        parts = squares or views_of(question, self._tuning.views)
        return QueryVectors(await self._vectors_of(picture, parts), boxed=bool(regions))

    async def _vectors_of(self, picture: Picture, parts: Sequence[Part]) -> list[Vector]:
        """Vectors of parts of a picture, those that are not kept from before made in one batch."""

        async def embed(views: Sequence[Part]) -> list[Vector] | None:
            return await self._runner.run(embed_views, picture, views)

        return await self._resources.vectors(picture, tuple(parts), embed)

    @property
    def _pointing(self) -> str:
        """The question whose words say which thing of the picture is looked up."""
        return pointing(self._turn.question, self._turn.history)

    def _is_empty(self, step: str, kind: str) -> bool:
        if self._resources.knowledge.count() > 0 or self._outside.that_find(kind):
            return False
        self._journal.skip(step, "EMPTY_KNOWLEDGE")
        return True


def _shown(evidence: Sequence[Evidence]) -> list[Evidence]:
    return [item for item in evidence if item.used]
