"""What searches bring back beyond nearest vectors: words, facts, filters, one result an entry, no near-duplicates."""

import asyncio
import shutil
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from quizglass.values import Filter, SearchMode
from quizglass_server.domain.entries import SearchOptions
from quizglass_server.errors import CopiesLeft, KnowledgeFailed, NotFound, RoleMissing
from quizglass_server.knowledge import IndexOptions
from quizglass_server.knowledge.database.reader import DatabaseReader
from quizglass_server.knowledge.database.schema import FILE
from quizglass_server.knowledge.database.writer import DatabaseWriter
from quizglass_server.knowledge.index.catalog import Catalog
from quizglass_server.knowledge.index.snapshots import Snapshot
from quizglass_server.knowledge.repair import inspection
from quizglass_server.knowledge.repair.inspection import inspect
from quizglass_server.knowledge.repair.salvage import salvage
from quizglass_server.knowledge.search.ranking import fused
from quizglass_server.steady_clock import SteadyClock
from tests.support.knowledge.fakes import (
    FakeTextEncoder,
    hashed,
    open_base,
    pictured,
    query_text,
    stream,
)

FAR = hashed(b"a question whose vector says nothing")
WORDS = SearchOptions(mode=SearchMode.KEYWORDS)


@pytest.fixture
async def base(tmp_path: Path):
    made = await open_base(tmp_path)
    yield made
    await made.close()


async def test_a_word_in_every_chunk_tells_nothing_and_costs_nothing() -> None:
    catalog = Catalog()
    catalog.add_passages((n, f"the thing {n}") for n in range(1, 7001))
    assert catalog.by_words("the", 5) == []
    assert catalog.by_words("the 4711", 5) == [4711]
    assert catalog.by_words('"; OR (', 5) == []
    assert catalog.by_words("", 5) == []


async def test_beside_rarer_words_common_ones_are_scored_as_far_as_their_places_go() -> None:
    catalog = Catalog()
    catalog.add_passages((n, f"thing {n} {'seldom' * (n <= 200)} {'often' * (n <= 400)}") for n in range(1, 7001))
    assert sorted(catalog.by_words("seldom 4711", 500)) == [*range(1, 201), 4711]
    assert catalog.by_words("often 4711", 500) == [4711]
    assert sorted(catalog.by_words("often", 500)) == [*range(1, 401)], "alone it is all that there is"


def test_lists_are_fused_by_rank() -> None:
    near = [(1, 0.9), (2, 0.8), (3, 0.7)]
    assert [label for label, _ in fused(near, [3, 4])] == [3, 1, 2, 4]
    assert fused(near, []) == near
    assert np.isnan(dict(fused(near, [4]))[4])


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
    assert await base.search_texts(FAR, 5, "velmora") is first
    await base.add(stream([pictured("b", text="A velmora too.")]))
    assert len(await base.search_texts(FAR, 5, "velmora")) == 2


async def test_entries_expire(tmp_path: Path) -> None:
    passed = [0.0]
    base = await open_base(tmp_path)
    await base.close()
    base = await open_base(tmp_path)
    base._clock._start, base._clock._counter = 1_000_000_000.0, lambda: passed[0]
    await base.add(stream([pictured("short", text="A velmora.", expires_after=60), pictured("long", text="A car.")]))
    assert (await base.get("short")).expires_after == 60
    assert {hit.entry.expires_after for hit in await base.search_texts(FAR, 5)} == {60, 0}
    passed[0] = 59.0
    assert {hit.entry.expires_after for hit in await base.search_texts(FAR, 5)} == {1, 0}  # as of now
    passed[0] = 60.0
    assert [hit.entry.id for hit in await base.search_texts(FAR, 5)] == ["long"]
    with pytest.raises(NotFound):
        await base.get("short")
    assert [entry.id for entry in await base.list("", 9)] == ["long"]
    assert base.count() == 1
    await base.close()


async def test_what_expires_while_nothing_can_be_written_is_hidden_and_deleted_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = [0.0]
    base = await open_base(tmp_path)
    base._clock._start, base._clock._counter = base._clock(), lambda: passed[0]
    short = pictured("short", text="A velmora.", pictures=[b"s", b"both"], expires_after=60)
    await base.add(stream([short, pictured("long", text="A car.", pictures=[b"both"])]))

    def full(writer: DatabaseWriter, jobs: object) -> None:
        raise KnowledgeFailed("the disk is full")

    async def check() -> None:
        assert [hit.entry.id for hit in await base.search_texts(FAR, 5)] == ["long"]
        assert [hit.entry.id for hit in await base.search_texts(None, 5, "velmora", WORDS)] == []
        assert [entry.id for entry in await base.list("", 9)] == ["long"]
        with pytest.raises(NotFound):
            await base.get("short")
        with pytest.raises(NotFound):
            await base.picture(sha256(b"s").digest())
        assert await base.picture(sha256(b"both").digest()) == b"both"
        assert base.count() == 1

    with monkeypatch.context() as patch:
        patch.setattr(DatabaseWriter, "run", full)
        passed[0] = 61.0
        await check()
        await base._expire(again=bool(base._hidden))  # as every few seconds
        await check()
    await base._expire(again=bool(base._hidden))
    await check()
    await base.close()
    assert inspect(tmp_path) == []
    with closing(DatabaseReader(tmp_path / FILE)) as reader:
        assert len(reader.numbers()) == 1


async def test_a_hidden_entry_that_is_written_again_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = [0.0]
    base = await open_base(tmp_path)
    base._clock._start, base._clock._counter = base._clock(), lambda: passed[0]
    await base.add(stream([pictured(name, text="A velmora.", expires_after=60) for name in ("a", "b", "c")]))
    passed[0] = 61.0
    with monkeypatch.context() as patch:
        patch.setattr(DatabaseWriter, "expire", lambda *_: _fail("the disk is full"))
        assert await base.list("", 9) == []
        assert base.count() == 0
    await base.add(stream([pictured("a", text="A velmora.")]))
    with pytest.raises(NotFound):  # it has expired, whether or not that could be written
        await base.delete("b")
    assert base.count() == 1
    await base._expire(again=bool(base._hidden))
    assert (base.count(), [entry.id for entry in await base.list("", 9)]) == (1, ["a"])
    await base.close()
    base = await open_base(tmp_path)
    assert base.count() == 1
    await base.close()


async def test_hidden_entries_are_not_found_by_words_without_an_encoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = await open_base(tmp_path)
    await base.add(
        stream([pictured("short", text="A velmora.", expires_after=60), pictured("long", text="A velmora.")])
    )
    await base.close()
    monkeypatch.setattr(DatabaseWriter, "expire", lambda *_: _fail("the disk is full"))
    base = await open_base(tmp_path, text_encoder=None)
    base._clock._start += 61.0
    assert [hit.entry.id for hit in await base.search_texts(None, 5, "velmora", WORDS)] == ["long"]
    assert base.count() == 1
    await base.close()


def _fail(message: str) -> None:
    raise KnowledgeFailed(message)


async def test_time_does_not_go_back_with_the_system_clock(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    base._clock._start += 1_000_000
    await base.add(stream([pictured("a", text="Words.", expires_after=100)]))
    await base.close()
    base = await open_base(tmp_path)
    assert isinstance(base._clock, SteadyClock)
    assert (await base.get("a")).expires_after in (99, 100)
    await base.close()


async def test_time_that_passed_after_the_last_write_does_not_come_back_with_the_system_clock(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    await base.add(stream([pictured("a", text="Words.", expires_after=100)]))
    before = inspection.last_state(tmp_path)
    base._clock._start += 60
    await base.close()  # and the system's clock is where it was
    after = inspection.last_state(tmp_path)
    assert (after.sequence, after.count) == (before.sequence, before.count)
    base = await open_base(tmp_path)
    assert 0 < (await base.get("a")).expires_after <= 40
    await base.close()


async def test_a_server_that_is_killed_keeps_the_time_but_for_an_hour(tmp_path: Path) -> None:
    base = await open_base(tmp_path / "store")
    await base.add(stream([pictured("a", text="Words.", expires_after=10_000)]))
    await base._keep_time()
    base._clock._start += 3_000
    await base._keep_time()
    shutil.copytree(tmp_path / "store", tmp_path / "early")
    base._clock._start += 3_000
    await base._keep_time()
    shutil.copytree(tmp_path / "store", tmp_path / "killed")
    await base.close()
    for copy, least, most in (("early", 9_000, 10_000), ("killed", 3_000, 4_000)):
        base = await open_base(tmp_path / copy)
        assert least < (await base.get("a")).expires_after <= most
        await base.close()


async def test_a_time_that_cannot_be_written_does_not_keep_a_store_from_closing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    base = await open_base(tmp_path)
    await base.add(stream([pictured("a", text="Words.", expires_after=100)]))
    base._clock._start += 60
    monkeypatch.setattr(DatabaseWriter, "run", lambda *_: _fail("the disk is full"))
    await base.close()
    assert "the time by which entries expire could not be written: the disk is full" in caplog.text
    monkeypatch.undo()
    base = await open_base(tmp_path)
    assert base.count() == 1
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


async def test_no_compaction_is_acknowledged_beside_the_files_from_before_a_repair(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    await base.add(stream([pictured("secret", text="The zyrbaxa of Zyrbaxon.")]))
    await base.close()
    kept = salvage(tmp_path).kept_as
    assert kept == tmp_path / "before-repair-1"
    base = await open_base(tmp_path)
    receipt = await base.delete("secret")
    with pytest.raises(CopiesLeft, match=r"before-repair-1.*compact again"):
        await base.compact()
    assert _files_with(kept, b"zyrbax") != []
    shutil.rmtree(kept)
    assert await base.compact() >= receipt.sequence
    assert _files_with(tmp_path, b"zyrbax") == []
    await base.close()


async def test_compaction_leaves_nothing_in_snapshots_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = IndexOptions(graph_from=10)
    base = await open_base(tmp_path, options=options)
    await base.add(stream(pictured(f"e{n}", text=f"Text {n}.") for n in range(30)))
    await base.add(stream([pictured("secret", text="The zyrbaxa of Zyrbaxon.")]))
    await base.settle()
    await base.close()
    base = await open_base(tmp_path, options=options)
    assert len([*(tmp_path / "graphs").iterdir()]) == 2
    await base.delete("secret")
    with monkeypatch.context() as patch:
        patch.setattr(Snapshot, "_written", lambda *_: _fail("the disk is full"))
        await base.compact()
    assert _files_with(tmp_path, b"zyrbax") == []
    assert [*(tmp_path / "graphs").iterdir()] == []
    await base.close()
    assert len([*(tmp_path / "graphs").iterdir()]) == 2
    assert inspect(tmp_path) == []


async def test_compaction_leaves_no_graph_of_an_encoder_that_is_not_there(tmp_path: Path) -> None:
    options = IndexOptions(graph_from=10)
    base = await open_base(tmp_path, options=options)
    await base.add(stream(pictured(f"e{n}", text=f"Text {n}.") for n in range(30)))
    await base.settle()
    await base.close()
    base = await open_base(tmp_path, options=options, text_encoder=None)
    await base.delete("e3")
    assert [*(tmp_path / "graphs").glob("chunks*")] != []
    await base.compact()
    assert [*(tmp_path / "graphs").glob("chunks*")] == []
    await base.close()
    base = await open_base(tmp_path, options=options)
    assert len(await base.search_texts(FAR, 50)) == 29
    await base.close()


async def test_no_compaction_is_acknowledged_while_the_log_is_being_read(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    base._store._writer._db.execute("PRAGMA busy_timeout = 50")
    await base.add(stream([pictured("secret", text="The zyrbaxa of Zyrbaxon.")]))
    with closing(DatabaseReader(tmp_path / FILE)) as reader, reader.one_commit() as log:  # as a snapshot does
        log.execute("SELECT count(*) FROM entries").fetchone()
        receipt = await base.delete("secret")
        with pytest.raises(KnowledgeFailed, match="being read"):
            await base.compact()
        assert _files_with(tmp_path, b"zyrbax") != []
    assert await base.compact() >= receipt.sequence
    assert _files_with(tmp_path, b"zyrbax") == []
    await base.close()


async def test_without_a_text_encoder_too_many_chunks_of_one_entry_leave_room_for_others(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    herds = (f"Zebra after zebra of the zebra herd {number} follows a zebra to the river there." for number in range(9))
    town = "To a quiet town by the sea, it is told, there once came a zebra, and nobody knew what it wanted there."
    await base.add(stream([pictured("long", text="\n\n".join(herds)), pictured("short", text=town)]))
    await base.close()
    base = await open_base(tmp_path, text_encoder=None)
    hits = await base.search_texts(None, 2, "zebra", SearchOptions(mode=SearchMode.KEYWORDS, per_entry=True))
    assert {hit.entry.id for hit in hits} == {"long", "short"}
    await base.close()


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
        found = await base.search_texts(None, 5, "word7", SearchOptions(Filter(kinds=("car",)), SearchMode.KEYWORDS))
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
    base._indexes._catalog_sync.save = lambda: None  # as if killed before the snapshot
    await base.close()
    assert path.read_bytes() == content
    base = await open_base(tmp_path)
    for word, ids in (("word7", []), ("word8", []), ("another", ["e8"]), ("word9", ["e9"])):
        assert [hit.entry.id for hit in await base.search_texts(None, 5, word, WORDS)] == ids
    birds = SearchOptions(Filter(kinds=("bird",)))
    assert [hit.entry.id for hit in await base.search_texts(FAR, 5, "", birds)] == ["e8"]
    await base.close()
