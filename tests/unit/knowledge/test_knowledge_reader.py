"""What reading the database gives, and what it tells when it fails."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from quizglass_server.errors import KnowledgeFailed
from quizglass_server.knowledge.database.reader import DatabaseReader
from quizglass_server.knowledge.database.schema import FILE
from tests.support.knowledge.fakes import open_base, pictured, stream


async def test_a_page_of_long_entries_ends_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quizglass_server.knowledge.database.reader.PAGE_CHARS", 50)
    base = await open_base(tmp_path)
    await base.add(stream(pictured(name, text="Long text. " * 3) for name in "abcde"))
    assert [entry.id for entry in await base.list("", 10)] == ["a", "b"]
    assert [entry.id for entry in await base.list("b", 1)] == ["c"]
    await base.close()


async def test_pictures_that_are_embedded_anew_are_read_as_many_as_memory_allows(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    pictures = [bytes([number]) * 1000 for number in range(5)]
    await base.add(stream([pictured("a", pictures=pictures)]))
    await base.close()
    with closing(DatabaseReader(tmp_path / FILE)) as reader:
        some = reader.pictures_outside("image-2", 64, 2500)
        assert [encoded for _, encoded in some] == pictures[:3]
        assert len(reader.pictures_outside("image-2", 2, 2500)) == 2
        assert len(reader.pictures_outside("image-2", 64, 0)) == 1, "one at least, however large"
        assert reader.pictures_outside("image-1", 64, 2500) == []


async def test_a_failing_store_does_not_tell_clients_where_it_lies(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    with sqlite3.connect(tmp_path / "knowledge.sqlite3") as other:
        other.execute("DROP TABLE entries")
    with pytest.raises(KnowledgeFailed, match=r"^knowledge\.sqlite3: ") as caught:
        await base.get("a")
    assert str(tmp_path) not in caught.value.message
    await base.close()
