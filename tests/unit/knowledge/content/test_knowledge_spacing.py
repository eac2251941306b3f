"""Keyword search where words are not written apart: any part is found, and other text stays as it is."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quizglass.values import SearchMode
from quizglass_server.domain.entries import SearchOptions
from quizglass_server.knowledge.content.spacing import spaced
from quizglass_server.knowledge.index import catalog as catalog_module
from quizglass_server.knowledge.index import catalog_sync as keeping
from quizglass_server.knowledge.index.catalog import Catalog
from tests.support.knowledge.fakes import hashed, open_base, pictured, stream

WORDS = SearchOptions(mode=SearchMode.KEYWORDS)
FAR = hashed(b"a question whose vector says nothing")
LANGUAGES = {
    "koala": ("コアラはユーカリの葉を食べます。", ("コアラは何を食べますか", "ユーカリ", "葉", "ｺｱﾗ", "食べる")),
    "panda": ("大熊猫主要吃竹子，生活在四川。", ("熊猫吃什么？", "竹子", "四川")),
    "hanok": ("한옥은 한국의 전통 집이다.", ("한옥", "전통집", "한국")),
    "market": ("ตลาดน้ำขายผลไม้สดทุกวัน", ("ผลไม้", "ตลาด")),
    "temple": ("ប្រាសាទអង្គរវត្តស្ថិតនៅខេត្តសៀមរាប", ("អង្គរវត្ត",)),
    "pagoda": ("ရွှေတိဂုံဘုရားသည်ရန်ကုန်မြို့တွင်ရှိသည်", ("ဘုရား",)),
    "sticker": ("A sheet of stickers: 🐨👍🏽🇯🇵", ("🐨", "👍", "🇯🇵")),
}
OTHERS = "The Velmora costs 45 crowns: naïve café, Straße, Москва, كتاب, हिन्दी, x² + 20 °C, © 2026 → “fine”…"


@pytest.fixture
async def base(tmp_path: Path):
    made = await open_base(tmp_path)
    texts = {name: text for name, (text, _) in LANGUAGES.items()} | {"velmora": OTHERS}
    await made.add(stream([pictured(name, title=f"N{n}", text=text) for n, (name, text) in enumerate(texts.items())]))
    yield made
    await made.close()


@pytest.mark.parametrize(
    ("name", "query"), [(name, query) for name, (_, asked) in LANGUAGES.items() for query in asked]
)
async def test_any_part_is_found(base, name: str, query: str) -> None:
    hits = await base.search_texts(None, 3, query, WORDS)
    assert hits
    assert hits[0].entry.id == name


async def test_what_is_not_there_is_not_found(base) -> None:
    for query in ("カモノハシ", "鲸鱼", "코끼리", "🐧", "วัด", "🇫🇷"):
        assert await base.search_texts(None, 3, query, WORDS) == []


@settings(deadline=None)
@given(st.text(st.characters(codec="ascii")) | st.just(OTHERS))
def test_text_of_other_scripts_stays_as_it_is(text: str) -> None:
    assert spaced(text) == text


@settings(deadline=None)
@given(st.text("コアラ東京하나กาแฟ食べ", min_size=2, max_size=30), st.data())
def test_every_part_of_two_characters_is_found_by_the_tokenizer(run: str, data: st.DataObject) -> None:
    catalog = Catalog()
    catalog.add_passages([(1, f"before {run} after"), (2, "other")])
    start = data.draw(st.integers(0, len(run) - 2))
    assert catalog.by_words(run[start : start + 2], 5) == [1]
    catalog.close()


def test_mixed_text_keeps_its_words() -> None:
    assert spaced("BMWの車🚗").split() == ["BMW", "の車", "車", "emoji128663"]


async def test_attributes_are_named_in_such_scripts_too(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    await base.add(stream([pictured("a", title="コアラ", text="動物です。", attributes={"食べ物": "ユーカリ"})]))
    hits = await base.search_texts(FAR, 3, "コアラの食べ物は何ですか")
    assert hits[0].text == "食べ物: ユーカリ."
    await base.close()


async def test_a_store_that_the_version_before_saved_is_indexed_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:  # as that version indexed and named its snapshots
        before.setattr(catalog_module, "spaced", lambda text: text)
        before.setattr(keeping, "LIBRARY", "catalog-1")
        base = await open_base(tmp_path)
        await base.add(stream([pictured("koala", title="K", text=LANGUAGES["koala"][0])]))
        assert await base.search_texts(None, 3, "コアラは何を食べますか", WORDS) == []
        await base.close()
    base = await open_base(tmp_path)
    assert [hit.entry.id for hit in await base.search_texts(None, 3, "コアラは何を食べますか", WORDS)] == ["koala"]
    await base.close()


def test_english_is_ranked_as_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    words = [f"word{n}" for n in range(400)]
    passages = [(n, " ".join(rng.choice(words, 40))) for n in range(1, 800)]
    ours, plain = Catalog(), Catalog()
    ours.add_passages(passages)
    monkeypatch.setattr(catalog_module, "spaced", lambda text: text)
    plain.add_passages(passages)
    queries = [" ".join(rng.choice(words, 6)) for _ in range(50)]
    expected = [plain.by_words(query, 10) for query in queries]
    monkeypatch.undo()
    assert [ours.by_words(query, 10) for query in queries] == expected
