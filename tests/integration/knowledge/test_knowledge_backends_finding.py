"""What searches bring back beyond nearest vectors, on every backend: words, facts, filters, one result an entry."""

import numpy as np
import pytest

from quizglass.values import Filter, SearchMode
from quizglass_server.domain.entries import SearchOptions
from quizglass_server.domain.turns import Picture
from tests.support.knowledge.backends import Place
from tests.support.knowledge.fakes import (
    FakeImageEncoder,
    fake_decode,
    hashed,
    pictured,
    query_picture,
    query_text,
    stream,
)

FAR = hashed(b"a question whose vector says nothing")
WORDS = SearchOptions(mode=SearchMode.KEYWORDS)


async def test_a_rare_name_is_found_by_its_words(knowledge_store) -> None:
    await knowledge_store.add(
        stream(pictured(f"e{n}", title=f"Thing {n}", text=f"It is the {n}. of many.") for n in range(200))
    )
    await knowledge_store.add(stream([pictured("z", title="Zyrbaxa", text="It is one of many.")]))
    found = await knowledge_store.search_texts(FAR, 5, "Who has seen a Zyrbaxa?")
    assert "z" in {hit.entry.id for hit in found}
    assert len(found) == 5
    (first, *_) = await knowledge_store.search_texts(FAR, 5, "Who has seen a Zyrbaxa?", WORDS)
    assert first.entry.id == "z"
    assert await knowledge_store.search_texts(
        FAR, 5, "Zyrbaxa", SearchOptions(mode=SearchMode.VECTORS)
    ) == await knowledge_store.search_texts(FAR, 5)


async def test_words_find_what_is_new_and_not_what_is_gone(knowledge_store) -> None:
    await knowledge_store.add(stream([pictured("a", text="A velmora."), pictured("b", text="A tagrin.")]))
    assert [hit.entry.id for hit in await knowledge_store.search_texts(None, 5, "velmora", WORDS)] == ["a"]
    await knowledge_store.delete("a")
    assert await knowledge_store.search_texts(None, 5, "velmora", WORDS) == []
    await knowledge_store.add(stream([pictured("b", text="A quorit.")]))
    assert await knowledge_store.search_texts(None, 5, "tagrin", WORDS) == []
    assert [hit.text for hit in await knowledge_store.search_texts(None, 5, "Quorit!", WORDS)] == ["A quorit."]


async def test_words_are_found_where_none_are_written_apart(knowledge_store) -> None:
    await knowledge_store.add(stream([pictured("k", title="Koala", text="コアラはユーカリの葉を食べます。🐨")]))
    await knowledge_store.add(stream([pictured("p", title="Panda", text="大熊猫主要吃竹子。")]))
    for query, entry in (
        ("コアラは何を食べますか", "k"),
        ("ユーカリ", "k"),
        ("🐨", "k"),
        ("竹子", "p"),
        ("熊猫吃什么", "p"),
    ):
        hits = await knowledge_store.search_texts(None, 5, query, WORDS)
        assert [hit.entry.id for hit in hits][:1] == [entry], query


async def test_the_score_of_a_chunk_found_by_words_is_its_cosine(knowledge_store) -> None:
    await knowledge_store.add(stream([pictured("a", title="A", text="A velmora.")]))
    query = await query_text("A: A velmora.")
    (hit,) = await knowledge_store.search_texts(-query, 1, "velmora")
    assert hit.score == pytest.approx(-1.0, abs=1e-5)


async def test_a_fact_that_the_question_names_comes_first(knowledge_store) -> None:
    text = "The Velmora costs 45 crowns and was first made in 1974."
    attributes = {"price": "45 crowns", "first_year": "1974", "colour": "red"}
    await knowledge_store.add(stream(pictured(f"e{n}", title=f"Thing {n}", text=f"Price {n}.") for n in range(20)))
    await knowledge_store.add(stream([pictured("v", title="Velmora", text=text, attributes=attributes)]))
    (first, *_) = await knowledge_store.search_texts(FAR, 3, "What is the price of the Velmora?")
    assert (first.entry.id, first.text) == ("v", "Price: 45 crowns.")
    found = await knowledge_store.search_texts(FAR, 5, "What is the colour of the Velmora?")
    assert found[0].text == "Colour: red."
    assert len({hit.text for hit in found}) == 5, "the fact is a chunk as well, and comes once"


FILTERS = {
    "kind": (Filter(kinds=("car", "bird")), {"a", "b"}),
    "source": (Filter(sources=("web",)), {"a", "c"}),
    "language": (Filter(languages=("en",)), {"a", "b"}),
    "regional language": (Filter(languages=("en-GB",)), {"b"}),
    "a language in capitals": (Filter(languages=("EN",)), {"a", "b"}),
    "another language": (Filter(languages=("e",)), set()),
    "attribute": (Filter(attributes={"colour": "red"}), {"a", "c"}),
    "two attributes": (Filter(attributes={"colour": "red", "size": "2"}), {"c"}),
    "from": (Filter(time_from=200), {"b", "c"}),
    "until": (Filter(time_until=300), {"a", "b"}),
    "between": (Filter(time_from=200, time_until=300), {"b"}),
    "all": (Filter(kinds=("car",), attributes={"colour": "red"}, time_from=1), {"a"}),
    "nothing": (Filter(kinds=("book",), sources=("web",), attributes={"colour": "red"}, time_from=301), set()),
}


@pytest.mark.parametrize("name", FILTERS)
async def test_filters(knowledge_store, name: str) -> None:
    filter_, expected = FILTERS[name]
    given = {
        "a": {"kind": "car", "source": "web", "language": "en", "attributes": {"colour": "red"}, "time": 100},
        "b": {"kind": "bird", "language": "en-GB", "attributes": {"colour": "blue"}, "time": 200},
        "c": {"kind": "book", "source": "web", "attributes": {"colour": "red", "size": "2"}, "time": 300},
        "d": {},
    }
    await knowledge_store.add(
        stream(pictured(k, text="Same words.", pictures=[k.encode()], **more) for k, more in given.items())
    )
    finding = SearchOptions(filter_)
    assert {hit.entry.id for hit in await knowledge_store.search_texts(FAR, 9, "same words", finding)} == expected
    assert {hit.entry.id for hit in await knowledge_store.search_texts(FAR, 9, "", finding)} == expected
    assert {hit.entry.id for hit in await knowledge_store.search_crops([FAR], 9, finding)} == expected


async def test_one_result_an_entry(knowledge_store) -> None:
    text = "\n\n".join(f"The velmora has, as everybody knows, {n} doors and {n + 1} windows too." for n in range(9))
    await knowledge_store.add(stream([pictured("a", text=text), pictured("b", text="A velmora.")]))
    assert len(await knowledge_store.search_texts(FAR, 5, "velmora")) == 5
    found = await knowledge_store.search_texts(FAR, 5, "velmora", SearchOptions(per_entry=True))
    assert sorted(hit.entry.id for hit in found) == ["a", "b"]


async def test_others_have_their_place_beside_an_entry_of_many_chunks(knowledge_store) -> None:
    text = "\n\n".join(f"The velmora has, as everybody knows, {n} doors and {n + 1} windows too." for n in range(90))
    others = [pictured(name, title=name, text="One more thing.") for name in ("b", "c")]
    await knowledge_store.add(stream([pictured("a", text=text), *others]))
    near = await query_text("a: The velmora has, as everybody knows, 7 doors and 8 windows too.")
    every = np.mean([await query_text(f"a: {each}") for each in text.split("\n\n")], axis=0)
    for query, words in ((near, "velmora"), (every, "")):
        found = await knowledge_store.search_texts(query, 3, words, SearchOptions(per_entry=True))
        assert [hit.entry.id for hit in found][:1] == ["a"]
        assert {hit.entry.id for hit in found} == {"a", "b", "c"}


@pytest.mark.parametrize("per_entry", [False, True])
async def test_words_are_looked_for_among_what_passes_the_filter(knowledge_store, per_entry: bool) -> None:
    text = "\n\n".join(f"A velmora, a velmora and once more a velmora of the {n}. kind." for n in range(90))
    last = pictured("z", text="Of all those many things that anybody might have seen one is a velmora.", kind="car")
    await knowledge_store.add(stream([pictured("a", text=text), last]))
    cars = SearchOptions(Filter(kinds=("car",)), SearchMode.KEYWORDS, per_entry)
    assert [hit.entry.id for hit in await knowledge_store.search_texts(None, 3, "velmora", cars)] == ["z"]
    every = SearchOptions(mode=SearchMode.KEYWORDS, per_entry=True)
    assert [hit.entry.id for hit in await knowledge_store.search_texts(None, 3, "velmora", every)] == ["a", "z"]


async def test_near_duplicates_are_folded_when_asked_for(knowledge_place: Place) -> None:
    async def decode(encoded: bytes, field: str) -> Picture:
        """Bytes of the same first letter look nearly the same."""
        picture = fake_decode(encoded, field)
        pixels = np.random.default_rng(encoded[0]).integers(0, 255, (32, 32, 3)).astype(np.uint8)
        pixels[0, 0] = picture.pixels[0, 0]
        return Picture(picture.sha256, pixels)

    base = await knowledge_place.open(decode=decode)
    await base.add(stream(pictured(name, pictures=[name.encode()]) for name in ("a1", "a2", "a3", "b1")))
    assert len(await base.search_crops([FAR], 9)) == 4
    folded = await base.search_crops([FAR], 9, SearchOptions(fold_alike=True))
    assert sorted(hit.entry.id[0] for hit in folded) == ["a", "b"]
    crops = await FakeImageEncoder().embed([await decode(name, "crop") for name in (b"a1", b"a2")])
    assert {hit.entry.id for hit in (await base.search_crops(crops, 9))[:2]} == {"a1", "a2"}
    folded = await base.search_crops(crops, 9, SearchOptions(fold_alike=True))
    assert sorted(hit.entry.id[0] for hit in folded) == ["a", "b"]
    await base.close()


async def test_any_number_of_near_duplicates_leaves_the_places_to_others(knowledge_place: Place) -> None:
    async def decode(encoded: bytes, field: str) -> Picture:
        picture = fake_decode(encoded, field)
        pixels = np.random.default_rng(encoded[0]).integers(0, 255, (32, 32, 3)).astype(np.uint8)
        pixels[0, 0] = picture.pixels[0, 0]
        return Picture(picture.sha256, pixels)

    base = await knowledge_place.open(decode=decode)
    names = [*(f"a{number}" for number in range(90)), "b1", "c1"]
    await base.add(stream(pictured(name, pictures=[name.encode()]) for name in names))
    folded = await base.search_crops([FAR], 3, SearchOptions(fold_alike=True))
    assert sorted(hit.entry.id[0] for hit in folded) == ["a", "b", "c"]
    assert len(await base.search_crops([FAR], 9, SearchOptions(fold_alike=True))) == 3
    await base.close()


async def test_several_crops_are_one_search(knowledge_store) -> None:
    await knowledge_store.add(stream(pictured(f"e{n}", pictures=[b"%d" % n]) for n in range(9)))
    crops = [await query_picture(b"3"), await query_picture(b"7")]
    found = await knowledge_store.search_crops(crops, 4)
    assert {hit.entry.id for hit in found[:2]} == {"e3", "e7"}
    assert len({hit.entry.id for hit in found}) == len(found) == 4


async def test_a_search_among_some_entries_brings_theirs_alone(knowledge_store) -> None:
    texts = {"a": "The velmora is quick.", "b": "The velmora is slow.", "c": "The velmora is blue."}
    await knowledge_store.add(stream(pictured(id_, text=text) for id_, text in texts.items()))
    among = SearchOptions(entries=("b", "c", "nobody"))
    hits = await knowledge_store.search_texts(FAR, 5, "velmora", among)
    assert {hit.entry.id for hit in hits} == {"b", "c"}
    words = SearchOptions(mode=SearchMode.KEYWORDS, entries=("a",), filter=Filter(kinds=("no such kind",)))
    assert await knowledge_store.search_texts(None, 5, "velmora", words) == []
    nobody = SearchOptions(mode=SearchMode.KEYWORDS, entries=("nobody",))
    assert await knowledge_store.search_texts(None, 5, "velmora", nobody) == []


async def test_a_search_among_some_titles_brings_theirs_alone(knowledge_store) -> None:
    titles = {
        "a": "Ana Bex",
        "b": "Ana Bexley",
        "c": 'Orin "O" Works',
        "d": "竹子 House",
        "e": "",
        "f": "Ana Bex: a life",
    }
    await knowledge_store.add(stream(pictured(id_, title=title, text="velmora") for id_, title in titles.items()))

    async def found(*wanted: str, mode: SearchMode = SearchMode.HYBRID) -> set[str]:
        options = SearchOptions(mode=mode, titles=wanted)
        vector = None if mode is SearchMode.KEYWORDS else FAR
        return {hit.entry.id for hit in await knowledge_store.search_texts(vector, 9, "velmora", options)}

    assert await found("Ana Bex") == {"a"}
    assert await found("Ana", "ana bex", "Nobody") == set()
    assert await found('Orin "O" Works', "竹子 House", mode=SearchMode.KEYWORDS) == {"c", "d"}
    assert await found("%", "_na Bex", "") == set()
    await knowledge_store.add(stream([pictured("a", title="Ida Lin", text="velmora")]))
    assert await found("Ana Bex", "Ida Lin") == {"a"}
    await knowledge_store.delete("a")
    assert await found("Ida Lin") == set()
