"""Random sequences of operations against a model of the store's content and answers."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quizglass_server.config.address import MilvusAddress
from quizglass_server.domain.entries import PicturedEntry
from quizglass_server.errors import NotFound
from quizglass_server.knowledge import IndexOptions, KnowledgeBase
from tests.support.knowledge.backends import fresh_place
from tests.support.knowledge.fakes import hashed, open_base, pictured, query_picture, stream

IDS = [f"e{n}" for n in range(8)]
PICTURES = [b"%d" % n for n in range(6)]
ENTRIES = st.builds(
    lambda name, text, pictures: pictured(name, text=text, pictures=pictures),
    st.sampled_from(IDS),
    st.sampled_from(["", "Red.", "Blue.", "Red.\n\nIt is a thing of many words, twelve of them and one more."]),
    st.lists(st.sampled_from(PICTURES), max_size=4, unique=True),
)
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(ENTRIES, min_size=1, max_size=6)),
        st.tuples(st.just("delete"), st.sampled_from(IDS)),
        st.tuples(st.just("search"), st.sampled_from(PICTURES)),
        st.tuples(st.just("reopen"), st.none()),
        st.tuples(st.just("settle"), st.none()),
    ),
    max_size=25,
)
# Never a graph, and graphs, merges and rebuilds all the time.
OPTIONS = st.sampled_from([IndexOptions(), IndexOptions(graph_from=4, tail=2, dead_share=0.5)])

Model = dict[str, PicturedEntry]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(OPERATIONS, OPTIONS)
def test_the_store_behaves_like_the_model(operations: list[tuple[str, object]], options: IndexOptions) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_run(lambda: open_base(Path(folder), options=options), operations))


@settings(max_examples=10, deadline=None, suppress_health_check=[*HealthCheck])
@given(operations=OPERATIONS)
def test_a_store_in_milvus_behaves_like_the_model(milvus: MilvusAddress, operations: list[tuple[str, object]]) -> None:
    place = fresh_place("milvus", Path(), milvus)
    asyncio.run(_run(place.open, operations))


async def _run(opened: Callable[[], Awaitable[Any]], operations: list[tuple[str, object]]) -> None:
    base = await opened()
    model: Model = {}
    try:
        for name, argument in operations:
            if name == "reopen":
                await base.close()
                base = await opened()
            elif name == "settle":
                if isinstance(base, KnowledgeBase):
                    await base.settle()
            elif name == "search":
                await _check_pictures(base, model, argument)
            else:
                await _change(base, model, name, argument)
        await _check_all(base, model)
    finally:
        await base.close()


async def _change(base: KnowledgeBase, model: Model, name: str, argument) -> None:
    if name == "add":
        report = await base.add(stream(argument))
        assert (report.added, report.refused) == (len(argument), [])
        model.update({given.entry.id: given for given in argument})
    elif argument in model:
        await base.delete(argument)
        del model[argument]
    else:
        try:
            await base.delete(argument)
        except NotFound:
            return
        raise AssertionError("an entry that is not there was deleted")


async def _check_all(base: KnowledgeBase, model: Model) -> None:
    assert base.count() == len(model)
    listed = await base.list("", 100)
    assert [replace(entry, picture_sha256=()) for entry in listed] == [model[key].entry for key in sorted(model)]
    for picture in PICTURES:
        await _check_pictures(base, model, picture)
    await _check_texts(base, model)


async def _check_pictures(base: KnowledgeBase, model: Model, picture: bytes) -> None:
    query = await query_picture(picture)
    vectors = {one: await query_picture(one) for one in PICTURES}
    expected = {
        name: max(float(vectors[one] @ query) for one in given.pictures)
        for name, given in model.items()
        if given.pictures
    }
    for limit in (1, 3, 100):
        hits = await base.search_crops([query], limit)
        assert len(hits) == min(limit, len(expected))
        assert len({hit.entry.id for hit in hits}) == len(hits)
        np.testing.assert_allclose([hit.score for hit in hits], sorted(expected.values())[::-1][:limit], atol=1e-5)
        np.testing.assert_allclose([hit.score for hit in hits], [expected[hit.entry.id] for hit in hits], atol=1e-5)


async def _check_texts(base: KnowledgeBase, model: Model) -> None:
    expected = sorted(
        (name, chunk) for name, given in model.items() for chunk in given.entry.text.split("\n\n") if _own(given, chunk)
    )
    hits = await base.search_texts(hashed(b"any"), 100)
    found = sorted((hit.entry.id, hit.text) for hit in hits)
    assert [name for name, _ in found] == [name for name, _ in expected]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def _own(given: PicturedEntry, chunk: str) -> bool:
    """Whether a paragraph is a chunk of its own: the short first one joins the second."""
    return bool(chunk) and not (chunk == "Red." and "\n\n" in given.entry.text)
