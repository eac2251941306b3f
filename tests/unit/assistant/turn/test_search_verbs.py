"""What looking something up does for a policy: several queries, limits, phrases and the detector's boxes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from quizglass.values import Entry, EvidenceFound, Exchange, Region, SkippedStep
from quizglass_server.domain.entries import ChunkHit, EntryHit, SearchOptions
from quizglass_server.domain.regions import Detection
from quizglass_server.domain.state import Draft
from quizglass_server.domain.turns import Picture, Vector
from quizglass_server.errors import EngineFailed
from quizglass_server.policies.tools import Tools
from quizglass_server.roles.coarse_reranker import COARSE_RERANKER
from quizglass_server.roles.detector import DETECTOR
from tests.support.scripted_policy import of
from tests.support.turn_fakes import CHUNKS, TAGRIN, VELMORA, World, done, picture, turn


async def test_several_queries_are_searched_at_once_each_reranked_by_itself_and_merged(ask: Any) -> None:
    world = World(found=1)
    brought = {
        "one": [CHUNKS[0], CHUNKS[1]],
        "two": [ChunkHit(VELMORA, CHUNKS[1].text, 0.75), CHUNKS[2]],
        "three": [CHUNKS[0]],
    }
    together = asyncio.Barrier(3)
    reranked: list[tuple[str, list[str]]] = []

    async def search_texts(vector: Vector, limit: int, words: str = "", finding: object = None) -> list[ChunkHit]:
        await together.wait()  # all three are under way
        return brought[words]

    async def score(query: str, passages: Sequence[str]) -> list[float]:
        reranked.append((query, [passage.partition(": ")[2] for passage in passages]))
        return [0.9 - 0.1 * place for place, _ in enumerate(passages)]

    world.knowledge.search_texts = search_texts  # type: ignore[method-assign]
    world.models.score = score  # type: ignore[method-assign]
    shown: list[list[str]] = []

    async def run(tools: Tools) -> Draft:
        shown.append([item.text for item in await tools.search_text(["one", "two", "one", "three"])])
        shown.append([item.text for item in await tools.search_text(["three", "two", "one"], limit=2)])
        return Draft()

    events = await ask(world, run)
    texts = {query: [hit.text for hit in hits] for query, hits in brought.items()}
    assert sorted(reranked[:3]) == sorted(texts.items())
    best_of_each = [CHUNKS[0].text, CHUNKS[1].text, CHUNKS[2].text]
    assert shown == [best_of_each, [CHUNKS[0].text, CHUNKS[1].text]]
    (told,) = of(EvidenceFound, events)
    assert [item.text for item in told.items] == best_of_each
    assert [item.id for item in told.items] == ["1", "2", "3"]


async def test_without_reranking_neither_the_coarse_nor_the_fine_reranker_is_asked(ask: Any) -> None:
    world, asked = World(found=2), list[str]()

    class Coarse:
        async def compare(self, picture: Picture, question: str, passages: Sequence[str]) -> list[float]:
            asked.append("coarse")
            return [0.1 * place for place, _ in enumerate(passages)]

    async def score(query: str, passages: Sequence[str]) -> list[float]:
        asked.append("fine")
        return [0.1 * place for place, _ in enumerate(passages)]

    world.models[COARSE_RERANKER] = Coarse()  # type: ignore[assignment]
    world.models.score = score  # type: ignore[method-assign]
    shown: list[str] = []

    async def run(tools: Tools) -> Draft:
        shown.extend(item.text for item in await tools.search_text(["cost"], rerank=False))
        return Draft()

    await ask(world, run)
    assert shown == [chunk.text for chunk in CHUNKS[:2]]
    assert asked == []


async def test_what_one_query_dropped_and_another_kept_is_told_of_once(ask: Any) -> None:
    world = World(coarse_accept=0.5, rerank_accept=0.4, found=2)

    class Coarse:
        async def compare(self, picture: Picture, question: str, passages: Sequence[str]) -> list[float]:
            return [0.9 if (question == "cost") == ("costs" in passage) else 0.1 for passage in passages]

    world.models[COARSE_RERANKER] = Coarse()  # type: ignore[assignment]

    async def run(tools: Tools) -> Draft:
        await tools.search_text(["cost", "made"])
        return Draft()

    (told,) = of(EvidenceFound, await ask(world, run))
    assert sorted(item.text for item in told.items) == sorted(chunk.text for chunk in CHUNKS)


async def test_a_passage_that_answers_one_of_the_queries_is_shown_whatever_the_others_make_of_it(ask: Any) -> None:
    world, shown = World(rerank_accept=0.5, found=2), list[list[str]]()
    world.knowledge.chunks = [CHUNKS[1]]

    async def score(query: str, passages: Sequence[str]) -> list[float]:
        return [0.9 if query == "cost" else 0.1 for _ in passages]

    world.models.score = score  # type: ignore[method-assign]

    async def run(tools: Tools) -> Draft:
        for queries in (["made", "cost"], ["cost", "made"]):
            shown.append([item.text for item in await tools.search_text(queries)])
        return Draft()

    (told,) = of(EvidenceFound, await ask(world, run))
    assert shown == [[CHUNKS[1].text]] * 2
    assert [(item.used, item.rerank_score) for item in told.items] == [(True, 0.9)]


async def test_a_passage_that_stands_twice_in_an_entry_is_shown_once(ask: Any) -> None:
    world, shown = World(found=2), list[str]()
    world.models.scores = {"Brenn": 0.9, "45": 0.8}
    world.knowledge.chunks = [CHUNKS[0], CHUNKS[0], CHUNKS[1]]

    async def run(tools: Tools) -> Draft:
        shown.extend(item.text for item in await tools.search_text(["cost"]))
        return Draft()

    await ask(world, run)
    assert shown == [CHUNKS[0].text, CHUNKS[1].text]


@pytest.mark.parametrize("left_out", ["found nothing", "not reranked"])
async def test_a_query_that_is_left_out_lets_no_passages_of_others_pass(ask: Any, left_out: str) -> None:
    world = World(rerank_accept=0.5)
    world.models.scores = {"Brenn": 0.2, "45": 0.9}
    reranks = world.models.score

    async def search_texts(vector: Vector, limit: int, words: str = "", finding: object = None) -> list[ChunkHit]:
        return list(CHUNKS[:2]) if words == "one" else list(CHUNKS[2:]) * (left_out != "found nothing")

    async def score(query: str, passages: Sequence[str]) -> list[float]:
        if query == "two":
            raise EngineFailed("broken")
        return await reranks(query, passages)

    world.knowledge.search_texts = search_texts  # type: ignore[method-assign]
    world.models.score = score  # type: ignore[method-assign]
    shown: list[str] = []

    async def run(tools: Tools) -> Draft:
        shown.extend(item.text for item in await tools.search_text(["one", "two"]))
        return Draft()

    await ask(world, run)
    assert shown == [CHUNKS[1].text, *([CHUNKS[2].text] if left_out == "not reranked" else [])]


async def test_several_queries_share_the_candidates_of_one(ask: Any) -> None:
    world = World(text_candidates=8, found=2)
    asked_for: list[int] = []

    async def search_texts(vector: Vector, limit: int, words: str = "", finding: object = None) -> list[ChunkHit]:
        asked_for.append(limit)
        return []

    world.knowledge.search_texts = search_texts  # type: ignore[method-assign]

    async def run(tools: Tools) -> Draft:
        for queries in ("a", "ab", "abc", "abcdef"):
            await tools.search_text(list(queries))
        await tools.search_text(["a", "b"], limit=20)
        return Draft()

    await ask(world, run)
    assert asked_for == [8, *[4] * 2, *[2] * 3, *[2] * 6, *[10] * 2]


@pytest.mark.parametrize("answers", [False, True])
async def test_names_in_the_best_passages_are_followed_where_no_passage_answers(ask: Any, answers: bool) -> None:
    world = World(text_candidates=4, found=2, links=2)
    maker = Entry("m", "Brenn")
    told = ChunkHit(maker, "Brenn comes from Harrow.", 0.2)
    searches: list[tuple[int, tuple[str, ...]]] = []
    reranked: list[str] = []

    async def search_texts(
        vector: Vector, limit: int, words: str = "", finding: SearchOptions | None = None
    ) -> list[ChunkHit]:
        titles = finding.titles if finding else ()
        searches.append((limit, titles))
        if titles:
            return [told] if "Brenn" in titles else []
        return [CHUNKS[0], CHUNKS[1], CHUNKS[2], ChunkHit(VELMORA, "It is red.", 0.6)]

    async def score(query: str, passages: Sequence[str]) -> list[float]:
        reranked.extend(passages)
        return [0.9 if "Harrow" in passage or (answers and "red" in passage) else 0.1 for passage in passages]

    world.knowledge.search_texts = search_texts  # type: ignore[assignment]
    world.models.score = score  # type: ignore[method-assign]
    shown: list[str] = []

    async def run(tools: Tools) -> Draft:
        shown.extend(item.text for item in await tools.search_text(["Where does its maker come from?"]))
        return Draft()

    await ask(world, run)
    naming = next(chunk.text for chunk in CHUNKS if "Brenn" in chunk.text)
    assert len(shown) == 2
    if answers:
        assert (shown[0], len(searches), len(reranked)) == ("It is red.", 1, 4)
        return
    assert shown == [told.text, naming]
    assert [(limit, titles[:1]) for limit, titles in searches[:2]] == [(4, ()), (3, ("Where",))]
    assert [limit for limit, _ in searches[2:]] == [2, 2]
    assert ["Brenn" in searches[2][1], "Harrow" in searches[3][1]] == [True, True]
    assert [len(reranked), reranked[-1].count(": ")] == [5, 2]


async def test_of_two_things_that_a_query_names_a_passage_of_each_is_shown(ask: Any) -> None:
    world = World(text_candidates=4, found=2, links=2)
    tagrin = ChunkHit(Entry("t", "Tagrin"), "The Tagrin costs 12 crowns.", 0.2)
    of_velmora = [ChunkHit(VELMORA, f"The Velmora costs {price} crowns.", 0.9) for price in (45, 46, 47, 48)]
    searched: list[tuple[str, ...]] = []

    async def search_texts(
        vector: Vector, limit: int, words: str = "", finding: SearchOptions | None = None
    ) -> list[ChunkHit]:
        titles = finding.titles if finding else ()
        searched.append(titles)
        return [tagrin] if "Tagrin" in titles else [] if titles else of_velmora

    async def score(query: str, passages: Sequence[str]) -> list[float]:
        return [0.6 if "Tagrin" in passage else 0.95 for passage in passages]

    world.knowledge.search_texts = search_texts  # type: ignore[assignment]
    world.models.score = score  # type: ignore[method-assign]
    shown: list[list[str]] = []

    async def run(tools: Tools) -> Draft:
        queries = ("Which costs more, the Velmora or the Tagrin?", "What does the Velmora cost?")
        shown.extend([[item.text for item in await tools.search_text([query])] for query in queries])
        return Draft()

    await ask(world, run)
    assert shown[0] == [of_velmora[0].text, tagrin.text]
    assert shown[1] == [of_velmora[0].text, of_velmora[1].text]
    assert searched[-1] == (), "for one thing alone no names are looked for"


async def test_a_limit_widens_a_search_and_what_is_shown(ask: Any) -> None:
    world = World(seen=1, image_candidates=1, text_candidates=1, found=1)
    world.models.scores = {"": 0.9}
    counts: list[int] = []

    async def run(tools: Tools) -> Draft:
        counts.append(len(await tools.search_image()))
        counts.append(len(await tools.search_image(limit=2)))
        counts.append(len(await tools.search_text(["q"])))
        counts.append(len(await tools.search_text(["q"], limit=3)))
        return Draft()

    events = await ask(world, run)
    assert counts == [1, 2, 1, 3]
    told = [[(item.id, item.used) for item in event.items] for event in of(EvidenceFound, events)]
    assert told == [[("1", True)], [("2", True)], [("3", True)], [("4", True), ("5", True)]]


async def test_phrases_are_looked_for_by_the_detector_and_looked_up(ask: Any) -> None:
    world = World()
    asked: list[list[str]] = []

    class Boxes:
        async def detect(self, picture: Picture, phrases: Sequence[str], least: float) -> list[Detection]:
            asked.append(list(phrases))
            return [Detection(Region(0.0, 0.0, 0.5, 0.5), 0.9, phrases[0])]

    world.models[DETECTOR] = Boxes()  # type: ignore[assignment]

    async def run(tools: Tools) -> Draft:
        await tools.search_image(["red car", "left boat"])
        await tools.search_image(["red car", "left boat"])
        await tools.search_image()
        return Draft()

    await ask(world, run)
    assert asked == [["red car", "left boat"], ["object"]]
    assert world.models.calls.of("image_encoder") == [[(4, 5, 3)]]


class Sides:
    """Finds a boat on the left and a car on the right."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    async def detect(self, picture: Picture, phrases: Sequence[str], least: float) -> list[Detection]:
        self.asked.append(list(phrases))
        boxes = {"boat": Region(0.0, 0.0, 0.4, 0.6), "car": Region(0.6, 0.0, 1.0, 0.6)}
        return [Detection(boxes[phrase], 0.9, phrase) for phrase in phrases if phrase in boxes]


@pytest.mark.parametrize(
    ("question", "looked_for", "shown"),
    [
        ("Which is older, the boat or the car?", [["boat"], ["car"]], ["tagrin", "velmora"]),
        ("Which is older, the car or the boat?", [["car"], ["boat"]], ["velmora", "tagrin"]),
        ("Which is older, the boat or the tower?", [["boat"], ["tower"]], ["tagrin"]),
        ("Which is older, the boat or the Velmora?", [["boat"]], ["tagrin"]),
    ],
)
async def test_of_two_things_that_a_question_names_by_sight_the_entry_of_each_is_shown(
    ask: Any, question: str, looked_for: list[list[str]], shown: list[str]
) -> None:
    world, sides, found = World(seen=1), Sides(), list[str]()
    world.models[DETECTOR] = sides  # type: ignore[assignment]
    known = world.knowledge.entries

    async def embed(pictures: Sequence[Picture]) -> list[Vector]:
        return [np.full(4, view.pixels[0, 0, 0], np.float32) for view in pictures]

    async def search_views(vectors: Sequence[Vector], limit: int) -> list[list[EntryHit]]:
        boats = [vector[0] == picture().pixels[0, 0, 0] for vector in vectors]
        return [[EntryHit(TAGRIN, 0.9), EntryHit(VELMORA, 0.3)] if boat else known for boat in boats]

    world.models.embed = embed  # type: ignore[method-assign]
    world.knowledge.search_views = search_views  # type: ignore[method-assign]

    async def run(tools: Tools) -> Draft:
        found.extend(item.entry_id for item in await tools.search_image())
        return Draft()

    (told,) = of(EvidenceFound, await ask(world, run, asked=turn(question)))
    assert sides.asked == looked_for
    assert found == shown
    assert sorted(item.entry_id for item in told.items) == ["tagrin", "velmora"], (
        "hits that are not shown are reported too"
    )


async def test_it_is_looked_for_by_the_words_of_the_question_before(ask: Any) -> None:
    world = World()
    looked_for: list[list[str]] = []

    class Boxes:
        async def detect(self, picture: Picture, phrases: Sequence[str], least: float) -> list[Detection]:
            looked_for.append(list(phrases))
            return []

    world.models[DETECTOR] = Boxes()  # type: ignore[assignment]

    async def run(tools: Tools) -> Draft:
        await tools.search_image()
        return Draft()

    earlier = [Exchange("Who made the boat at the top?", "Jolawex"), Exchange("How much does it cost?", "45 crowns")]
    await ask(world, run, asked=turn("How much does it weigh?", history=earlier))
    assert looked_for == [["boat at the top"]]


async def test_a_detector_leaves_time_for_looking_the_views_up(ask: Any) -> None:
    world = World()
    for name, seconds in {"detect": 8.5, "embed": 1.0}.items():
        world.resources.costs.took(name, seconds)
    world.models[DETECTOR] = object()  # type: ignore[assignment]

    async def run(tools: Tools) -> Draft:
        assert await tools.search_image()
        return await tools.answer(tools.start())

    events = await ask(world, run, budget_s=9.0, now=lambda: 0.0)
    assert world.models.calls.of("image_encoder") == [[(6, 8, 3)]]
    assert done(events).skipped == (SkippedStep("detect", "BUDGET"),)


async def test_a_detector_that_hangs_is_ended_while_there_is_time_for_the_views(ask: Any) -> None:
    world = World()
    world.resources.costs.took("embed", 10.0)

    class Hanging:
        async def detect(self, picture: Picture, phrases: Sequence[str], least: float) -> list[Detection]:
            await asyncio.Event().wait()
            return []

    world.models[DETECTOR] = Hanging()  # type: ignore[assignment]

    async def run(tools: Tools) -> Draft:
        assert await tools.search_image()
        return await tools.answer(tools.start())

    assert done(await ask(world, run, budget_s=11.3)).skipped == (SkippedStep("detect", "BUDGET"),)


async def test_a_detector_that_fails_takes_nothing_from_the_views(ask: Any) -> None:
    world = World()

    class Broken:
        async def detect(self, picture: Picture, phrases: Sequence[str], least: float) -> list[Detection]:
            raise EngineFailed("broken")

    world.models[DETECTOR] = Broken()  # type: ignore[assignment]

    async def run(tools: Tools) -> Draft:
        assert await tools.search_image()
        return await tools.answer(tools.start())

    assert done(await ask(world, run)).skipped == (SkippedStep("detect", "FAILED"),)


TWIN = EntryHit(TAGRIN, 0.798)
"""Of another thing, with a picture as near as that of the Velmora, which has 0.8."""


@pytest.mark.parametrize(
    ("look", "sees", "shown"),
    [("blue boat", True, "tagrin"), ("red car", True, "velmora"), ("blue boat", False, "velmora")],
)
async def test_entries_with_the_same_picture_are_distinguished_by_what_the_generator_sees(
    ask: Any, look: str, sees: bool, shown: str
) -> None:
    world, found = World(seen=1), list[list[str]]()
    world.knowledge.entries = [EntryHit(VELMORA, 0.8), TWIN]
    world.models.answer, world.models.sees = [look], sees

    async def run(tools: Tools) -> Draft:
        found.append([item.entry_id for item in await tools.search_image()])
        candidates = await tools.search_image(limit=2, candidates=True)
        found.append([item.entry_id for item in candidates])
        found.append([item.entry_id for item in await tools.disambiguate(candidates)])
        return Draft()

    (first, *_) = of(EvidenceFound, await ask(world, run))
    assert found[0] == [shown]
    assert [item.entry_id for item in first.items if item.used] == [shown]
    assert found[1] == ["velmora", "tagrin"], "a policy that chooses sees the order of the search"
    assert found[2][0] == shown
    assert len(world.models.calls.of("think")) == 2 * sees


async def test_entries_that_match_differently_are_not_looked_at_again(ask: Any) -> None:
    world = World(seen=1)

    async def run(tools: Tools) -> Draft:
        assert [item.entry_id for item in await tools.search_image()] == ["velmora"]
        return Draft()

    await ask(world, run)
    assert world.models.calls.of("think") == []
