"""The contract of a knowledge store, on every backend: what is kept, what is refused, what outlives a restart."""

import asyncio
import hashlib
from dataclasses import replace

import numpy as np
import pytest

from quizglass.values import Entry, SearchMode
from quizglass_server.domain.entries import PicturedEntry, SearchOptions
from quizglass_server.errors import EngineFailed, KnowledgeFailed, NotFound, RoleMissing
from tests.support.knowledge.backends import Place
from tests.support.knowledge.fakes import (
    FakeImageEncoder,
    FakeTextEncoder,
    hashed,
    pictured,
    query_picture,
    query_text,
    stream,
)

FAR = hashed(b"a question whose vector says nothing")
WORDS = SearchOptions(mode=SearchMode.KEYWORDS)
FULL = Entry(
    "shop/velmora",
    "Velmora “GT” ünïcode",
    'A car; said "so" \\ they.',
    "car",
    "A red car.\n\n速い。 Very fast. 🚗",
    {"year": "1974", 'odd "key" \\': "value of] \"all'} kinds", "ключ": "значение"},
    "https://example.org/?a=1&b='2'",
    language="pt-BR",
    text_format="markdown",
    time=1_700_000_000,
)


async def test_an_entry_comes_back_as_it_was_given_also_after_a_restart(knowledge_place: Place) -> None:
    base = await knowledge_place.open()
    report = await base.add(stream([PicturedEntry(FULL, [b"front", b"back", b"front"])]))
    assert (report.added, report.refused) == (1, [])
    before = await base.get(FULL.id)
    await base.close()
    base = await knowledge_place.open()
    stored = await base.get(FULL.id)
    assert (stored, base.count()) == (before, 1)
    assert stored.picture_sha256 == (hashlib.sha256(b"front").digest(), hashlib.sha256(b"back").digest())
    assert list(stored.attributes) == list(FULL.attributes)
    for name in ("id", "title", "caption", "kind", "text", "attributes", "source", "language", "text_format", "time"):
        assert getattr(stored, name) == getattr(FULL, name), name
    (first, *_) = await base.search_texts(await query_text(f"{FULL.title}: {FULL.caption}"), 5)
    assert (first.entry, first.text) == (stored, FULL.caption)
    assert [hit.entry for hit in await base.search_crops([await query_picture(b"back")], 5)] == [stored]
    await base.close()


async def test_entries_that_are_added_again_are_compared_with_those_they_replace(knowledge_store) -> None:
    pictured_one = PicturedEntry(FULL, [b"front"])
    lives = replace(FULL, id="lives", expires_after=1000)
    first = await knowledge_store.add(stream([pictured_one, pictured("b", text="B."), PicturedEntry(lives, [])]))
    assert (first.added, first.changed, first.unchanged) == (3, 0, 0)
    again = await knowledge_store.add(
        stream(
            [
                pictured_one,  # just so
                PicturedEntry(FULL, [b"back"]),  # another picture
                pictured("b", text="Other."),
                pictured("b", text="Other."),  # as the one before it
                PicturedEntry(lives, []),  # its life begins anew
                pictured("c", text="C."),
            ]
        )
    )
    assert (again.added, again.changed, again.unchanged) == (6, 3, 2)


async def test_what_is_added_replaced_and_deleted_is_seen_by_the_next_search(knowledge_store) -> None:
    await knowledge_store.add(
        stream([pictured("a", text="Old words.", pictures=[b"old"]), pictured("b", pictures=[b"other"])])
    )
    assert [hit.text for hit in await knowledge_store.search_texts(await query_text("a: Old words."), 5)] == [
        "Old words."
    ]
    for _ in range(2):  # the same again changes nothing
        await knowledge_store.add(stream([pictured("a", text="New.", pictures=[b"new"])]))
        assert knowledge_store.count() == 2
        assert [hit.text for hit in await knowledge_store.search_texts(await query_text("a: Old words."), 5)] == [
            "New."
        ]
        assert await knowledge_store.search_texts(None, 5, "old", WORDS) == []
        assert [hit.entry.id for hit in await knowledge_store.search_crops([await query_picture(b"old")], 9)] in (
            ["a", "b"],
            ["b", "a"],
        )
    gone = await knowledge_store.delete("a")
    assert (gone.id, gone.chunks, gone.pictures) == ("a", 1, 1)
    assert await knowledge_store.search_texts(await query_text("a: New."), 5, "new") == []
    assert [hit.entry.id for hit in await knowledge_store.search_crops([await query_picture(b"new")], 9)] == ["b"]
    assert knowledge_store.count() == 1
    for call in (knowledge_store.get("a"), knowledge_store.delete("a")):
        with pytest.raises(NotFound, match="'a'"):
            await call


async def test_notes_of_one_fact_a_line_are_found_line_by_line(knowledge_store) -> None:
    text = "battery: one PX625\nlens 50mm f/1.4\ndo not lend to Felix"
    await knowledge_store.add(stream([pictured("a", text=text)]))
    (found,) = await knowledge_store.search_texts(None, 5, "Felix", WORDS)
    assert found.text.splitlines() == text.splitlines()


async def test_of_two_entries_of_one_id_in_a_stream_the_later_stays(knowledge_store) -> None:
    report = await knowledge_store.add(stream([pictured("a", text="First."), pictured("a", text="Second.")]))
    assert (report.added, knowledge_store.count()) == (2, 1)
    assert [hit.text for hit in await knowledge_store.search_texts(await query_text("a: First."), 5)] == ["Second."]


async def test_bad_entries_are_refused_alike_and_the_others_added(knowledge_store) -> None:
    bad = [
        pictured("a", text="Fine."),
        pictured("", title="No id"),
        pictured("b", pictures=[b"fine", b"bad one"]),
        pictured("c", text="x" * 200_001),
        pictured("d", pictures=[b"fine"]),
        pictured('e" or key != "', text="An expression."),
        pictured("f", attributes={f"k{n}": "v" for n in range(201)}),
        pictured("g", language="not a tag"),
        pictured("h", time=-1),
        pictured("i", text_format="rtf"),
        pictured("j", pictures=[b"%d" % n for n in range(17)]),
    ]
    report = await knowledge_store.add(stream(bad))
    assert report.added == 2
    assert [(refusal.index, refusal.field) for refusal in report.refused] == [
        (1, "id"),
        (2, "pictures[1]"),
        (3, "text"),
        (5, "id"),
        (6, "attributes"),
        (7, "language"),
        (8, "time"),
        (9, "text_format"),
        (10, "pictures"),
    ]
    assert [entry.id for entry in await knowledge_store.list("", 10)] == ["a", "d"]


async def test_an_entry_at_all_its_limits_is_kept_whole(knowledge_store) -> None:
    attributes = {f"ключ {n}": "ж" * 500 for n in range(200)}
    largest = pictured(
        "x" * 200,
        title="т" * 200,
        text=("слово " * 33_333)[:200_000],
        attributes=attributes,
        caption="п" * 500,
        kind="k" * 60,
        source="с" * 500,
        language="de-CH-1996",
        pictures=[b"%d" % n for n in range(16)],
    )
    assert (await knowledge_store.add(stream([largest, pictured("y", text="Small.")]))).refused == []
    stored = await knowledge_store.get("x" * 200)
    assert (stored.text, stored.attributes) == (largest.entry.text.strip(), attributes)
    assert (len(stored.picture_sha256), stored.caption, stored.source) == (16, "п" * 500, "с" * 500)
    assert [entry.id for entry in await knowledge_store.list("", 9)] == ["x" * 200, "y"]
    hits = await knowledge_store.search_crops([await query_picture(b"15")], 5)
    assert [hit.entry.id for hit in hits] == ["x" * 200], "sixteen pictures are one result"
    assert (await knowledge_store.delete("x" * 200)).pictures == 16


async def test_pages_follow_the_ids(knowledge_store) -> None:
    await knowledge_store.add(stream(pictured(name) for name in ("b", "B", "a/1", "a", "c", "a:", "a.1", "10", "9")))
    assert [entry.id for entry in await knowledge_store.list("", 4)] == ["10", "9", "B", "a"]
    assert [entry.id for entry in await knowledge_store.list("a", 3)] == ["a.1", "a/1", "a:"]
    assert [entry.id for entry in await knowledge_store.list("a:", 9)] == ["b", "c"]
    assert await knowledge_store.list("c", 3) == []


async def test_a_page_of_long_entries_is_cut_short(knowledge_store) -> None:
    await knowledge_store.add(stream(pictured(f"e{n:02}", text="wörter " * 28_000) for n in range(24)))
    page = await knowledge_store.list("", 24)
    assert 0 < len(page) < 24
    rest = await knowledge_store.list(page[-1].id, 24)
    assert [entry.id for entry in [*page, *rest]] == [f"e{n:02}" for n in range(24)]


async def test_a_missing_encoder_is_named_and_the_rest_works(knowledge_place: Place) -> None:
    base = await knowledge_place.open(image_encoder=None)
    with pytest.raises(RoleMissing, match="image_encoder"):
        await base.add(stream([pictured("a", pictures=[b"x"])]))
    with pytest.raises(RoleMissing, match="image_encoder"):
        await base.search_crops([FAR], 5)
    assert (await base.add(stream([pictured("a", text="A velmora.")]))).added == 1
    await base.close()
    base = await knowledge_place.open(text_encoder=None)
    with pytest.raises(RoleMissing, match="text_encoder"):
        await base.add(stream([pictured("b", text="Words.")]))
    with pytest.raises(RoleMissing, match="text_encoder"):
        await base.search_texts(FAR, 5, "velmora")
    assert (await base.add(stream([pictured("b", pictures=[b"b"])]))).added == 1
    assert [entry.id for entry in await base.list("", 9)] == ["a", "b"]
    assert (await base.delete("a")).chunks == 1
    await base.close()


async def test_a_vector_that_is_none_is_an_engine_failure(knowledge_store) -> None:
    for vector in (np.zeros(16, np.float32), np.ones(15, np.float32), np.full(16, np.nan, np.float32)):
        with pytest.raises(EngineFailed):
            await knowledge_store.search_crops([vector], 5)
        with pytest.raises(EngineFailed):
            await knowledge_store.search_texts(vector, 5)
    with pytest.raises(EngineFailed):
        await knowledge_store.search_texts(None, 5)


async def test_an_entry_that_has_expired_is_no_more_to_be_deleted(knowledge_place: Place) -> None:
    passed = [0.0]
    base = await knowledge_place.open()
    base._clock._start, base._clock._counter = 1_000_000_000.0, lambda: passed[0]
    await base.add(stream([pictured("short", text="A velmora.", expires_after=60)]))
    passed[0] = 60.0
    with pytest.raises(NotFound):
        await base.delete("short")  # without any call since
    await base.close()


async def test_entries_expire(knowledge_place: Place) -> None:
    passed = [0.0]
    base = await knowledge_place.open()
    base._clock._start, base._clock._counter = 1_000_000_000.0, lambda: passed[0]
    short = pictured("short", text="A velmora.", pictures=[b"s"], expires_after=60)
    await base.add(stream([short, pictured("long", text="A car.", pictures=[b"l"])]))
    assert (await base.get("short")).expires_after == 60
    passed[0] = 59.0
    assert len(await base.search_texts(FAR, 5)) == 2
    assert (await base.get("short")).expires_after == 1
    passed[0] = 60.0
    assert [hit.entry.id for hit in await base.search_texts(FAR, 5)] == ["long"]
    assert [hit.entry.id for hit in await base.search_crops([FAR], 5)] == ["long"]
    assert await base.search_texts(None, 5, "velmora", WORDS) == []
    for call in (base.get("short"), base.delete("short")):
        with pytest.raises(NotFound):
            await call
    assert [entry.id for entry in await base.list("", 9)] == ["long"]
    async with asyncio.timeout(60):
        while base.count() != 1:  # noqa: ASYNC110  # no event says so
            await asyncio.sleep(0.01)
    await base.close()


async def test_another_encoder_embeds_anew_or_is_refused_with_what_to_do(knowledge_place: Place) -> None:
    base = await knowledge_place.open()
    await base.add(stream([pictured("a", text="Words.", pictures=[b"a"])]))
    await base.close()
    for other in ({"text_encoder": FakeTextEncoder("text-2", 24)}, {"image_encoder": FakeImageEncoder("image-2", 8)}):
        if knowledge_place.backend == "milvus":
            with pytest.raises(KnowledgeFailed, match=r"another encoder .*knowledge_collections"):
                await knowledge_place.open(**other)
            continue
        base = await knowledge_place.open(**other)
        await base.settle()
        encoder = other.get("text_encoder")
        if encoder is not None:
            (query,) = await encoder.embed_queries(["a: Words."])
            assert [hit.score for hit in await base.search_texts(query, 5)] == [pytest.approx(1.0, abs=1e-5)]
        await base.close()
    base = await knowledge_place.open()
    assert (await base.get("a")).text == "Words."
    await base.close()


async def test_reads_and_writes_at_once_see_whole_entries(knowledge_store) -> None:
    """An entry is replaced again and again: whoever looks sees one of its versions, never parts of two."""
    names = [f"e{n}" for n in range(4)]

    async def write() -> None:
        for turn in range(6):
            await knowledge_store.add(
                stream(pictured(n, text=f"Turn {turn}.", kind=f"k{turn}", pictures=[b"p"]) for n in names)
            )

    async def read() -> None:
        while not writing.done():
            for hit in await knowledge_store.search_texts(FAR, 9):
                assert (hit.text, hit.entry.kind) == (f"Turn {hit.entry.kind[1:]}.", hit.entry.kind)
            for entry in await knowledge_store.list("", 9):
                assert entry.text == f"Turn {entry.kind[1:]}."
            assert {hit.entry.id for hit in await knowledge_store.search_crops([FAR], 9)} <= set(names)

    await knowledge_store.add(stream(pictured(n, text="Turn 0.", kind="k0", pictures=[b"p"]) for n in names))
    writing = asyncio.create_task(write())
    await asyncio.gather(writing, read(), read())
    assert {hit.text for hit in await knowledge_store.search_texts(FAR, 9)} == {"Turn 5."}
    assert knowledge_store.count() == 4


async def test_several_writers_lose_nothing(knowledge_store) -> None:
    given = [[pictured(f"w{writer}/e{n}", text=f"{writer} {n}.") for n in range(10)] for writer in range(4)]
    assert [
        report.added for report in await asyncio.gather(*(knowledge_store.add(stream(each)) for each in given))
    ] == [10] * 4
    assert (knowledge_store.count(), len(await knowledge_store.list("", 99))) == (40, 40)


async def test_a_caller_that_leaves_does_not_harm(knowledge_store) -> None:
    adding = asyncio.create_task(
        knowledge_store.add(stream(pictured(f"e{n}", text=f"Number {n}.") for n in range(300)))
    )
    await asyncio.sleep(0)
    adding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await adding
    assert (await knowledge_store.add(stream([pictured("after", text="Still here.")]))).added == 1
    assert [hit.text for hit in await knowledge_store.search_texts(None, 5, "still", WORDS)] == ["Still here."]


async def test_a_closed_store_says_so(knowledge_place: Place) -> None:
    base = await knowledge_place.open()
    await base.close()
    await base.close()
    with pytest.raises(KnowledgeFailed, match="closed"):
        await base.get("a")
