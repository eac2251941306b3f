"""Entries that are imported again cost what is new of them: all else is taken over as it is stored."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from quizglass.values import Entry, Filter, SearchMode
from quizglass_server.domain.entries import PicturedEntry, SearchOptions
from quizglass_server.errors import NotFound
from quizglass_server.knowledge import KnowledgeBase
from quizglass_server.knowledge.database.schema import FILE
from quizglass_server.knowledge.ingest import drafts
from quizglass_server.knowledge.repair.inspection import inspect
from tests.support.knowledge.fakes import (
    FakeImageEncoder,
    FakeTextEncoder,
    open_base,
    query_picture,
    query_text,
    stream,
)

PAGE = "<p>A page of its own.</p>" * 400
"""So long that a process of its own converts it."""
RED = "It is red from the bow to the stern, and was painted again in the summer of last year."
NINE = "It sails at nine in the morning and at six in the evening on each day of the week."
SOLD = "It was sold to a company on an island that is far away from here, as they say."
BOAT = PicturedEntry(
    Entry("boat", "Boat", "A ferry.", "ship", f"{RED}\n\n{NINE}", {"length": "90 m", "built": "1974"}),
    [b"port", b"starboard"],
)
PLAIN = PicturedEntry(Entry("plain", "Plain"))
ENTRIES = [BOAT, PLAIN, PicturedEntry(Entry("page", "Page", text=PAGE, text_format="html"))]


class Counted:
    """A store whose encoders count what they embed."""

    def __init__(self, texts: str = "text-1", images: str = "image-1") -> None:
        self._texts, self._images = FakeTextEncoder(texts), FakeImageEncoder(images)
        self.base: KnowledgeBase

    async def open(self, directory: Path) -> KnowledgeBase:
        self.base = await open_base(directory, text_encoder=self._texts, image_encoder=self._images)
        return self.base

    async def embedded(self, *entries: PicturedEntry) -> tuple[int, int]:
        """How many passages and pictures adding these embeds."""
        self._texts.batches.clear()
        self._images.batches.clear()
        report = await self.base.add(stream(entries))
        assert (report.added, report.refused) == (len(entries), [])
        return sum(self._texts.batches), sum(self._images.batches)


@pytest.fixture
async def counted(tmp_path: Path):
    made = Counted()
    base = await made.open(tmp_path)
    await base.add(stream(ENTRIES))
    yield made
    await made.base.close()


async def found(base: KnowledgeBase, passage: str, picture: bytes) -> tuple[str, str]:
    """The entries on which these lie."""
    (chunk, *_), (shown, *_) = (
        await base.search_texts(await query_text(passage), 1),
        await base.search_crops([await query_picture(picture)], 1),
    )
    assert (chunk.score, shown.score) == (pytest.approx(1, abs=1e-5), pytest.approx(1, abs=1e-5))
    return chunk.entry.id, shown.entry.id


async def test_what_is_there_just_so_is_neither_embedded_nor_written(counted: Counted, tmp_path: Path) -> None:
    before = (tmp_path / FILE).with_name(f"{FILE}-wal").read_bytes()
    for _ in range(2):
        assert await counted.embedded(*ENTRIES) == (0, 0)
    assert (tmp_path / FILE).with_name(f"{FILE}-wal").read_bytes() == before
    report = await counted.base.add(stream(ENTRIES))
    assert (report.added, report.changed, report.unchanged) == (3, 0, 3)
    assert await found(counted.base, f"Boat: {NINE}", b"starboard") == ("boat", "boat")


async def test_nor_after_a_restart(tmp_path: Path) -> None:
    first, then = Counted(), Counted()
    base = await first.open(tmp_path)
    assert min(await first.embedded(*ENTRIES)) > 0
    await base.close()
    base = await then.open(tmp_path)
    assert await then.embedded(*ENTRIES) == (0, 0)
    await base.close()


async def test_tags_are_changed_without_embedding(counted: Counted) -> None:
    tagged = replace(BOAT.entry, kind="ferry", source="harbour", language="en", time=7)
    assert await counted.embedded(PicturedEntry(tagged, BOAT.pictures)) == (0, 0)
    assert (await counted.base.get("boat")).source == "harbour"
    options = SearchOptions(Filter(kinds=("ferry",)))
    assert [hit.entry.id for hit in await counted.base.search_texts(await query_text("x"), 1, "", options)] == ["boat"]


async def test_another_title_embeds_the_texts_that_begin_with_it_and_no_picture(counted: Counted) -> None:
    passages, pictures = await counted.embedded(PicturedEntry(replace(BOAT.entry, title="Ferry"), BOAT.pictures))
    assert (passages > 0, pictures) == (True, 0)
    assert await found(counted.base, f"Ferry: {RED}", b"port") == ("boat", "boat")


async def test_one_sentence_more_is_one_passage_more(counted: Counted) -> None:
    longer = replace(
        BOAT.entry, text=f"{BOAT.entry.text}\n\nIt is sold to somewhere that is far away from here, they say."
    )
    assert await counted.embedded(PicturedEntry(longer, [*BOAT.pictures, b"bow"])) == (1, 1)
    assert await found(counted.base, f"Boat: {NINE}", b"bow") == ("boat", "boat")


async def test_an_entry_of_another_id_takes_over_vectors_and_outlives_the_one_before(
    counted: Counted, tmp_path: Path
) -> None:
    renamed = PicturedEntry(replace(BOAT.entry, id="harbour/boat"), BOAT.pictures)
    assert await counted.embedded(renamed) == (0, 0)
    await counted.base.delete("boat")
    assert await found(counted.base, f"Boat: {RED}", b"port") == ("harbour/boat", "harbour/boat")
    await counted.base.delete("harbour/boat")
    await counted.base.compact()
    assert b"starboard" not in (tmp_path / FILE).read_bytes(), "nothing that was taken over is left"


async def test_what_expires_begins_anew_without_embedding(counted: Counted) -> None:
    brief = PicturedEntry(replace(BOAT.entry, expires_after=1000), BOAT.pictures)
    for _ in range(2):
        assert await counted.embedded(brief) == (0, 0)
        assert 990 < (await counted.base.get("boat")).expires_after <= 1000


async def test_of_one_stream_the_last_of_an_id_stays_also_where_that_is_what_was_there(counted: Counted) -> None:
    other = PicturedEntry(replace(BOAT.entry, text="It is blue."), [b"stern"])
    await counted.embedded(BOAT, other, BOAT)
    assert (await counted.base.get("boat")).text == BOAT.entry.text
    assert await found(counted.base, f"Boat: {RED}", b"port") == ("boat", "boat")
    await counted.embedded(BOAT, other)
    assert (await counted.base.get("boat")).text == "It is blue."


async def test_other_encoders_take_nothing_over(counted: Counted, tmp_path: Path) -> None:
    await counted.base.close()
    other = Counted("text-2", "image-2")
    counted.base = await other.open(tmp_path)
    passages, pictures = await other.embedded(BOAT)
    assert (passages > 1, pictures > 1) == (True, True)
    await counted.base.settle()
    hits = await counted.base.search_texts(await query_text(f"Boat: {RED}", "text-2"), 1)
    assert hits[0].score == pytest.approx(1, abs=1e-5)
    shown = await counted.base.search_crops([await query_picture(b"port", "image-2")], 1)
    assert shown[0].score == pytest.approx(1, abs=1e-5)


async def test_other_rules_of_cutting_cut_and_embed_texts_anew(
    counted: Counted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await counted.base.close()
    monkeypatch.setattr(drafts, "CHUNKING", "chunks-of-tomorrow")
    await counted.open(tmp_path)
    passages, pictures = await counted.embedded(BOAT)
    assert (passages > 1, pictures) == (True, 0)


@pytest.mark.parametrize(
    ("damage", "embedded"),
    [
        ("UPDATE pictures SET vector = zeroblob(64)", (0, 2)),
        ("UPDATE chunks SET text = 'It is sunk.' WHERE position = 0", (1, 0)),
        ("UPDATE entries SET text = 'It is sunk.' WHERE id = 'boat'", None),
        ("UPDATE picture_files SET encoded = x'00'", (0, 0)),
    ],
)
async def test_damaged_rows_are_made_anew(
    counted: Counted, tmp_path: Path, damage: str, embedded: tuple[int, int] | None
) -> None:
    with closing(sqlite3.connect(tmp_path / FILE)) as database:
        database.execute(damage)
        database.commit()
    made = await counted.embedded(BOAT)
    assert made == embedded or embedded is None
    assert await counted.base.picture((await counted.base.get("boat")).picture_sha256[0]) == b"port"
    assert await found(counted.base, f"Boat: {RED}", b"port") == ("boat", "boat")
    await counted.base.delete("page")
    await counted.base.close()
    assert inspect(tmp_path) == []


async def test_imports_of_the_same_beside_each_other_and_deletions_leave_a_sound_store(
    counted: Counted, tmp_path: Path
) -> None:
    async def deleting() -> None:
        for _ in range(20):
            try:
                await counted.base.delete("boat")
            except NotFound:
                await asyncio.sleep(0)

    await asyncio.gather(*(counted.base.add(stream(ENTRIES)) for _ in range(20)), deleting())
    await counted.base.add(stream(ENTRIES))
    assert counted.base.count() == 3
    words = await counted.base.search_texts(None, 5, "sails", SearchOptions(mode=SearchMode.KEYWORDS))
    assert [hit.entry.id for hit in words] == ["boat"]
    await counted.base.close()
    assert inspect(tmp_path) == []
