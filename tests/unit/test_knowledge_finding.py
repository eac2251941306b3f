"""What searches bring back beyond nearest vectors: words, facts, filters, one result an entry, no near-duplicates."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from quizglass_server.domain import Picture
from quizglass_server.entries import Filter, Finding, SearchMode
from quizglass_server.errors import KnowledgeFailed, NotFound, RoleMissing
from quizglass_server.knowledge.cache import AnswerCache
from quizglass_server.knowledge.catalog import Catalog
from quizglass_server.knowledge.clock import StoreClock
from quizglass_server.knowledge.ranking import fused
from tests.support.knowledge_fakes import (
    FakeTextEncoder,
    fake_decode,
    hashed,
    open_base,
    pictured,
    query_picture,
    query_text,
    stream,
)

FAR = hashed(b"a question whose vector says nothing")
WORDS = Finding(mode=SearchMode.KEYWORDS)


@pytest.fixture
async def base(tmp_path: Path):
    made = await open_base(tmp_path)
    yield made
    await made.close()


async def test_a_rare_name_is_found_by_its_words(base) -> None:
    await base.add(stream(pictured(f"e{n}", title=f"Thing {n}", text=f"It is the {n}. of many.") for n in range(200)))
    await base.add(stream([pictured("z", title="Zyrbaxa", text="It is one of many.")]))
    found = await base.search_texts(FAR, 5, "Who has seen a Zyrbaxa?")
    assert "z" in {hit.entry.id for hit in found}
    assert len(found) == 5
    (first, *_) = await base.search_texts(FAR, 5, "Who has seen a Zyrbaxa?", WORDS)
    assert first.entry.id == "z"
    assert await base.search_texts(FAR, 5, "Zyrbaxa", Finding(mode=SearchMode.VECTORS)) == await base.search_texts(
        FAR, 5
    )


async def test_words_find_what_is_new_and_not_what_is_gone(base) -> None:
    await base.add(stream([pictured("a", text="A velmora."), pictured("b", text="A tagrin.")]))
    assert [hit.entry.id for hit in await base.search_texts(None, 5, "velmora", WORDS)] == ["a"]
    await base.delete("a")
    assert await base.search_texts(None, 5, "velmora", WORDS) == []
    await base.add(stream([pictured("b", text="A quorit.")]))
    assert await base.search_texts(None, 5, "tagrin", WORDS) == []
    assert [hit.text for hit in await base.search_texts(None, 5, "Quorit!", WORDS)] == ["A quorit."]


async def test_a_word_in_every_chunk_tells_nothing_and_costs_nothing() -> None:
    catalog = Catalog()
    catalog.add_passages((n, f"the thing {n}") for n in range(1, 7001))
    assert catalog.by_words("the", 5) == []
    assert catalog.by_words("the 4711", 5) == [4711]
    assert catalog.by_words('"; OR (', 5) == []
    assert catalog.by_words("", 5) == []


def test_lists_are_fused_by_rank() -> None:
    near = [(1, 0.9), (2, 0.8), (3, 0.7)]
    assert [label for label, _ in fused(near, [3, 4])] == [3, 1, 2, 4]
    assert fused(near, []) == near
    assert np.isnan(dict(fused(near, [4]))[4])


async def test_the_score_of_a_chunk_found_by_words_is_its_cosine(base) -> None:
    await base.add(stream([pictured("a", title="A", text="A velmora.")]))
    query = await query_text("A: A velmora.")
    (hit,) = await base.search_texts(-query, 1, "velmora")
    assert hit.score == pytest.approx(-1.0, abs=1e-5)


async def test_a_fact_that_the_question_names_comes_first(base) -> None:
    text = "The Velmora costs 45 crowns and was first made in 1974."
    attributes = {"price": "45 crowns", "first_year": "1974", "colour": "red"}
    await base.add(stream(pictured(f"e{n}", title=f"Thing {n}", text=f"Price {n}.") for n in range(20)))
    await base.add(stream([pictured("v", title="Velmora", text=text, attributes=attributes)]))
    (first, *_) = await base.search_texts(FAR, 3, "What is the price of the Velmora?")
    assert (first.entry.id, first.text) == ("v", "The price of Velmora is 45 crowns.")
    found = await base.search_texts(FAR, 5, "What is the colour of the Velmora?")
    assert found[0].text == "The colour of Velmora is red."
    assert len({hit.text for hit in found}) == 5, "the fact is a chunk as well, and comes once"


FILTERS = {
    "kind": (Filter(kinds=("car", "bird")), {"a", "b"}),
    "source": (Filter(sources=("web",)), {"a", "c"}),
    "language": (Filter(languages=("en",)), {"a", "b"}),
    "regional language": (Filter(languages=("en-GB",)), {"b"}),
    "attribute": (Filter(attributes={"colour": "red"}), {"a", "c"}),
    "two attributes": (Filter(attributes={"colour": "red", "size": "2"}), {"c"}),
    "from": (Filter(time_from=200), {"b", "c"}),
    "until": (Filter(time_until=300), {"a", "b"}),
    "between": (Filter(time_from=200, time_until=300), {"b"}),
    "all": (Filter(kinds=("car",), attributes={"colour": "red"}, time_from=1), {"a"}),
    "nothing": (Filter(kinds=("book",), sources=("web",), attributes={"colour": "red"}, time_from=301), set()),
}


@pytest.mark.parametrize("name", FILTERS)
async def test_filters(base, name: str) -> None:
    filter_, expected = FILTERS[name]
    given = {
        "a": {"kind": "car", "source": "web", "language": "en", "attributes": {"colour": "red"}, "time": 100},
        "b": {"kind": "bird", "language": "en-GB", "attributes": {"colour": "blue"}, "time": 200},
        "c": {"kind": "book", "source": "web", "attributes": {"colour": "red", "size": "2"}, "time": 300},
        "d": {},
    }
    await base.add(stream(pictured(k, text="Same words.", pictures=[k.encode()], **more) for k, more in given.items()))
    finding = Finding(filter_)
    assert {hit.entry.id for hit in await base.search_texts(FAR, 9, "same words", finding)} == expected
    assert {hit.entry.id for hit in await base.search_texts(FAR, 9, "", finding)} == expected
    assert {hit.entry.id for hit in await base.search_pictures(FAR, 9, finding)} == expected


async def test_one_result_an_entry(base) -> None:
    text = "\n\n".join(f"The velmora has, as everybody knows, {n} doors and {n + 1} windows too." for n in range(9))
    await base.add(stream([pictured("a", text=text), pictured("b", text="A velmora.")]))
    assert len(await base.search_texts(FAR, 5, "velmora")) == 5
    found = await base.search_texts(FAR, 5, "velmora", Finding(per_entry=True))
    assert sorted(hit.entry.id for hit in found) == ["a", "b"]


async def test_near_duplicates_are_folded_when_asked_for(tmp_path: Path) -> None:
    def decode(encoded: bytes, field: str) -> Picture:
        """Bytes of the same first letter look nearly the same."""
        picture = fake_decode(encoded, field)
        pixels = np.random.default_rng(encoded[0]).integers(0, 255, (32, 32, 3)).astype(np.uint8)
        pixels[0, 0] = picture.pixels[0, 0]
        return Picture(picture.sha256, pixels)

    base = await open_base(tmp_path, decode=decode)
    await base.add(stream(pictured(name, pictures=[name.encode()]) for name in ("a1", "a2", "a3", "b1")))
    assert len(await base.search_pictures(FAR, 9)) == 4
    folded = await base.search_pictures(FAR, 9, Finding(fold_alike=True))
    assert sorted(hit.entry.id[0] for hit in folded) == ["a", "b"]
    await base.close()


async def test_several_crops_are_one_search(base) -> None:
    await base.add(stream(pictured(f"e{n}", pictures=[b"%d" % n]) for n in range(9)))
    crops = [await query_picture(b"3"), await query_picture(b"7")]
    found = await base.search_crops(crops, 4)
    assert {hit.entry.id for hit in found[:2]} == {"e3", "e7"}
    assert len({hit.entry.id for hit in found}) == len(found) == 4


async def test_keywords_need_no_encoder(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    await base.add(stream([pictured("a", text="A velmora.")]))
    await base.close()
    base = await open_base(tmp_path, text_encoder=None)
    with pytest.raises(RoleMissing):
        await base.search_texts(FAR, 5, "velmora")
    await base.close()


async def test_a_repeated_question_is_answered_from_memory_until_something_changes(base) -> None:
    await base.add(stream([pictured("a", text="A velmora.")]))
    first = await base.search_texts(FAR, 5, "velmora")
    assert (await base.search_texts(FAR, 5, "velmora"), base._cache.hits) == (first, 1)
    await base.add(stream([pictured("b", text="A velmora too.")]))
    assert len(await base.search_texts(FAR, 5, "velmora")) == 2
    assert base._cache.hits == 1


def test_a_cache_keeps_what_was_asked_for_last() -> None:
    cache = AnswerCache(2)
    for key in "ab":
        cache.put(key, key)
    assert cache.get("a") == "a"
    cache.put("c", "c")
    assert [cache.get(key) for key in "abc"] == ["a", None, "c"]


async def test_entries_expire(tmp_path: Path) -> None:
    passed = [0.0]
    base = await open_base(tmp_path)
    await base.close()
    base = await open_base(tmp_path)
    base._clock._start, base._clock._counter = 1_000_000_000.0, lambda: passed[0]
    await base.add(stream([pictured("short", text="A velmora.", expires_after_s=60), pictured("long", text="A car.")]))
    assert (await base.get("short")).expires_after_s == 60
    passed[0] = 59.0
    assert len(await base.search_texts(FAR, 5)) == 2
    passed[0] = 60.0
    assert [hit.entry.id for hit in await base.search_texts(FAR, 5)] == ["long"]
    with pytest.raises(NotFound):
        await base.get("short")
    assert [entry.id for entry in await base.list("", 9)] == ["long"]
    assert base.count() == 1
    await base.close()


async def test_time_does_not_go_back_with_the_system_clock(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    base._clock._start += 1_000_000
    await base.add(stream([pictured("a", text="Words.", expires_after_s=100)]))
    await base.close()
    base = await open_base(tmp_path)
    assert isinstance(base._clock, StoreClock)
    assert (await base.get("a")).expires_after_s in (99, 100)
    await base.close()


async def test_a_deleted_entry_leaves_a_receipt_and_after_compaction_nothing(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    await base.add(stream(pictured(f"e{n}", text=f"Text {n}.", pictures=[b"%d" % n]) for n in range(30)))
    await base.add(stream([pictured("secret", text="The zyrbaxa of Zyrbaxon.", pictures=[b"zyrbaxa picture"])]))
    receipt = await base.delete("secret")
    assert (receipt.id, receipt.chunks, receipt.pictures) == ("secret", 1, 1)
    assert await base.compact() >= receipt.sequence
    assert _files_with(tmp_path, b"zyrbax") == []
    assert len(_files_with(tmp_path, b"")) > 3
    assert len(await base.search_texts(FAR, 50)) == 30
    await base.close()
    assert _files_with(tmp_path, b"zyrbax") == []


def _files_with(directory: Path, content: bytes) -> list[str]:
    files = [path for path in directory.rglob("*") if path.is_file()]
    return [path.name for path in files if content in path.read_bytes().lower()]


async def test_while_another_encoder_embeds_anew_words_answer(tmp_path: Path) -> None:
    class Slow(FakeTextEncoder):
        def __init__(self) -> None:
            super().__init__("text-2")
            self.go_on = asyncio.Event()

        async def embed_passages(self, texts):
            await self.go_on.wait()
            return await super().embed_passages(texts)

    base = await open_base(tmp_path)
    await base.add(stream([pictured("a", title="A", text="A velmora."), pictured("b", text="A tagrin.")]))
    await base.close()
    encoder = Slow()
    base = await open_base(tmp_path, text_encoder=encoder)
    assert [hit.entry.id for hit in await base.search_texts(FAR, 5, "velmora")] == ["a"]
    assert await base.search_texts(FAR, 5) == []
    await base.delete("b")
    await base.add(stream([pictured("c", text="")]))
    encoder.go_on.set()
    await base.settle()
    (hit,) = await base.search_texts(await query_text("A: A velmora.", "text-2"), 5)
    assert (hit.entry.id, hit.score) == ("a", pytest.approx(1.0, abs=1e-5))
    await base.close()


async def test_a_catalog_that_is_missing_or_damaged_is_built_again(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    await base.add(stream(pictured(f"e{n}", text=f"Word{n}.", kind="car") for n in range(20)))
    await base.close()
    (path,) = (tmp_path / "graphs").glob("catalog*")
    content = path.read_bytes()
    for damaged in (content[:-1], content[:3000] + b"\xff" + content[3001:], b""):
        path.write_bytes(damaged)
        base = await open_base(tmp_path)
        found = await base.search_texts(None, 5, "word7", Finding(Filter(kinds=("car",)), SearchMode.KEYWORDS))
        assert [hit.entry.id for hit in found] == ["e7"]
        await base.close()
        (path,) = (tmp_path / "graphs").glob("catalog*")
    with pytest.raises(KnowledgeFailed):
        Catalog(b"not a database" * 100)


async def test_a_catalog_follows_what_happened_since_its_snapshot(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    await base.add(stream(pictured(f"e{n}", text=f"Word{n}.", kind="car") for n in range(20)))
    await base.close()
    (path,) = (tmp_path / "graphs").glob("catalog*")
    content = path.read_bytes()
    base = await open_base(tmp_path)
    await base.delete("e7")
    await base.add(stream([pictured("e8", text="Another.", kind="bird")]))
    base._indexes._keeper.save = lambda **_: None  # as if killed before the snapshot
    await base.close()
    assert path.read_bytes() == content
    base = await open_base(tmp_path)
    for word, ids in (("word7", []), ("word8", []), ("another", ["e8"]), ("word9", ["e9"])):
        assert [hit.entry.id for hit in await base.search_texts(None, 5, word, WORDS)] == ids
    birds = Finding(Filter(kinds=("bird",)))
    assert [hit.entry.id for hit in await base.search_texts(FAR, 5, "", birds)] == ["e8"]
    await base.close()
