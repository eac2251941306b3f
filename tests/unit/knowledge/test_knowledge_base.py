"""The knowledge base as the server uses it, with small fake encoders and real files."""

import asyncio
import hashlib
import itertools
import os
from pathlib import Path

import numpy as np
import pytest

from quizglass.values import Entry
from quizglass_server.domain.entries import PicturedEntry
from quizglass_server.domain.turns import Picture
from quizglass_server.errors import EngineFailed, KnowledgeFailed, KnowledgeLocked, NotFound, Overloaded, RoleMissing
from tests.support.knowledge.fakes import (
    GRAPHS_EARLY,
    FakeImageEncoder,
    FakeTextEncoder,
    open_base,
    pictured,
    query_picture,
    query_text,
    stream,
)


async def test_an_entry_comes_back_as_it_was_given(tmp_path: Path) -> None:
    given = Entry("velmora", "Velmora", "A car.", "car", "A red car.\n\nFast.", {"year": "1974", "b": "2"}, "world:1")
    base = await open_base(tmp_path)
    await base.add(stream([PicturedEntry(given, [b"front", b"back", b"front"])]))
    await base.close()
    base = await open_base(tmp_path)
    stored = await base.get("velmora")
    await base.close()
    assert stored.picture_sha256 == (hashlib.sha256(b"front").digest(), hashlib.sha256(b"back").digest())
    assert list(stored.attributes) == ["year", "b"]
    assert (stored.id, stored.title, stored.caption, stored.kind) == ("velmora", "Velmora", "A car.", "car")
    assert (stored.text, stored.attributes, stored.source) == (given.text, given.attributes, given.source)


async def test_found_by_text_and_by_any_of_its_pictures(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    await base.add(stream([pictured("a", text="It is red.", pictures=[b"a1", b"a2"]), pictured("b", pictures=[b"b1"])]))
    hits = await base.search_crops([await query_picture(b"a2")], 5)
    assert [hit.entry.id for hit in hits] == ["a", "b"]
    assert hits[0].score == pytest.approx(1.0, abs=1e-5)
    (chunk,) = await base.search_texts(await query_text("a: It is red."), 5)
    assert (chunk.entry.id, chunk.text) == ("a", "It is red.")
    assert chunk.score == pytest.approx(1.0, abs=1e-5)
    await base.close()


async def test_replacing_forgets_what_was_and_deleting_everything(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    await base.add(stream([pictured("a", text="Old.", pictures=[b"old"]), pictured("b", pictures=[b"old"])]))
    await base.add(stream([pictured("a", text="New.", pictures=[b"new"])]))
    assert base.count() == 2
    texts = await base.search_texts(await query_text("a: Old."), 5)
    assert [hit.text for hit in texts] == ["New."]
    assert [hit.entry.id for hit in await base.search_crops([await query_picture(b"old")], 1)] == ["b"]
    await base.delete("a")
    assert await base.search_texts(await query_text("a: New."), 5) == []
    with pytest.raises(NotFound):
        await base.get("a")
    with pytest.raises(NotFound):
        await base.delete("a")
    assert base.count() == 1
    await base.close()


async def test_of_two_entries_of_one_id_in_a_stream_the_later_stays(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    report = await base.add(stream([pictured("a", text="First."), pictured("a", text="Second.")]))
    assert (report.added, base.count()) == (2, 1)
    assert [hit.text for hit in await base.search_texts(await query_text("a: First."), 5)] == ["Second."]
    await base.close()


async def test_bad_entries_are_refused_and_the_others_added(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    report = await base.add(
        stream(
            [
                pictured("a", text="Fine."),
                pictured("", title="No id"),
                pictured("b", pictures=[b"fine", b"bad one"]),
                pictured("c", text="x" * 200_001),
                pictured("d", pictures=[b"fine"]),
            ]
        )
    )
    assert report.added == 2
    assert [(r.index, r.id, r.field) for r in report.refused] == [
        (1, "", "id"),
        (2, "b", "pictures[1]"),
        (3, "c", "text"),
    ]
    assert [entry.id for entry in await base.list("", 10)] == ["a", "d"]
    await base.close()


async def test_pages_follow_the_ids(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    await base.add(stream(pictured(name) for name in ("b", "B", "a/1", "a", "c")))
    assert [entry.id for entry in await base.list("", 3)] == ["B", "a", "a/1"]
    assert [entry.id for entry in await base.list("a/1", 3)] == ["b", "c"]
    assert await base.list("c", 3) == []
    await base.close()


async def test_a_missing_encoder_is_named_and_the_rest_works(tmp_path: Path) -> None:
    base = await open_base(tmp_path, image_encoder=None)
    with pytest.raises(RoleMissing, match="image_encoder"):
        await base.add(stream([pictured("a", pictures=[b"x"])]))
    with pytest.raises(RoleMissing, match="image_encoder"):
        await base.search_crops([np.ones(16, np.float32)], 5)
    assert (await base.add(stream([pictured("a", text="Fine.")]))).added == 1
    await base.close()
    base = await open_base(tmp_path, text_encoder=None)
    with pytest.raises(RoleMissing, match="text_encoder"):
        await base.add(stream([pictured("b", text="Words.")]))
    with pytest.raises(RoleMissing, match="text_encoder"):
        await base.search_texts(np.ones(16, np.float32), 5)
    assert (await base.add(stream([pictured("b", pictures=[b"x"])]))).added == 1
    await base.close()


async def test_embeddings_are_made_in_batches_across_entries(tmp_path: Path) -> None:
    texts, images = FakeTextEncoder(), FakeImageEncoder()
    base = await open_base(tmp_path, text_encoder=texts, image_encoder=images)
    await base.add(stream(pictured(f"e{n}", text=f"Text {n}.", pictures=[b"%d" % n]) for n in range(70)))
    assert texts.batches == images.batches == [32, 32, 6]
    await base.close()


async def test_another_encoder_embeds_everything_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def ends() -> list[str]:
        done = [record for record in caplog.records if record.message == "all of the store is embedded anew"]
        return [vars(record)["directory"] for record in done]

    caplog.set_level("INFO")
    base = await open_base(tmp_path)
    await base.add(stream(pictured(f"e{n}", text=f"Text {n}.", pictures=[b"%d" % n]) for n in range(100)))
    await base.close()
    assert ends() == []
    base = await open_base(
        tmp_path, text_encoder=FakeTextEncoder("text-2", 24), image_encoder=FakeImageEncoder("image-2", 8)
    )
    await base.settle()
    assert ends() == [str(tmp_path)]
    vector = (await FakeTextEncoder("text-2", 24).embed_queries(["e7: Text 7."]))[0]
    assert [hit.entry.id for hit in await base.search_texts(vector, 1)] == ["e7"]
    (found,) = await FakeImageEncoder("image-2", 8).embed([(await _pixels(b"7"))])
    assert [hit.entry.id for hit in await base.search_crops([found], 1)] == ["e7"]
    await base.close()


async def _pixels(encoded: bytes):
    from tests.support.knowledge.fakes import fake_decode

    return fake_decode(encoded, "")


async def test_a_picture_that_no_longer_decodes_is_kept_but_not_found(tmp_path: Path) -> None:
    from tests.support.knowledge.fakes import fake_decoding

    base = await open_base(tmp_path, decode=lambda encoded, field: fake_decoding(b"ok" + encoded, field))
    await base.add(stream([pictured("a", pictures=[b"bad"]), pictured("b", pictures=[b"good"])]))
    await base.close()
    for _ in range(2):
        base = await open_base(tmp_path, image_encoder=FakeImageEncoder("image-2"))
        await base.settle()
        vector = await query_picture(b"good", "image-2")
        assert [hit.entry.id for hit in await base.search_crops([vector], 5)] == ["b"]
        assert len((await base.get("a")).picture_sha256) == 1
        await base.close()


async def test_a_picture_that_there_is_never_memory_for_holds_up_no_other(tmp_path: Path) -> None:
    from tests.support.knowledge.fakes import fake_decoding

    async def narrow(encoded: bytes, field: str) -> Picture:
        if encoded == b"giant":
            raise Overloaded("900 MiB are needed, and work_memory_bytes admits 10 at most")
        return await fake_decoding(encoded, field)

    base = await open_base(tmp_path)
    await base.add(stream([pictured("a", pictures=[b"giant"]), pictured("b", pictures=[b"good"])]))
    await base.close()
    base = await open_base(tmp_path, image_encoder=FakeImageEncoder("image-2"), decode=narrow)
    await base.settle()
    vector = await query_picture(b"good", "image-2")
    assert [hit.entry.id for hit in await base.search_crops([vector], 5)] == ["b"]
    await base.close()


async def test_vectors_without_meaning_are_an_engine_failure(tmp_path: Path) -> None:
    class Broken(FakeTextEncoder):
        async def embed_passages(self, texts):
            return [np.full(16, np.nan, np.float32) for _ in texts]

    base = await open_base(tmp_path, text_encoder=Broken())
    with pytest.raises(EngineFailed, match="text_encoder"):
        await base.add(stream([pictured("a", text="Words.")]))
    with pytest.raises(EngineFailed):
        await base.search_texts(np.ones(3, np.float32), 5)
    assert base.count() == 0
    await base.close()


async def test_a_second_opener_is_refused_until_the_first_closes(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    with pytest.raises(KnowledgeLocked, match=str(tmp_path)):
        await open_base(tmp_path)
    await base.close()
    await base.close()
    await (await open_base(tmp_path)).close()


async def test_a_closed_base_says_so(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    await base.close()
    with pytest.raises(KnowledgeFailed, match="closed"):
        await base.get("a")


async def test_an_import_that_is_cancelled_leaves_a_working_base(tmp_path: Path) -> None:
    base = await open_base(tmp_path)
    reached = asyncio.Event()

    async def endless():
        number = 0
        while True:
            yield pictured(f"e{number}", text=f"Text {number}.")
            number += 1
            if number == 300:
                reached.set()
            await asyncio.sleep(0)

    task = asyncio.create_task(base.add(endless()))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await base.add(stream([pictured("last", text="Words.")]))).added == 1
    found = await base.search_texts(await query_text("e0: Text 0."), 1)
    assert [hit.entry.id for hit in found] == ["e0"]
    assert base.count() == len(await base.list("", 100_000))
    await base.close()


@pytest.mark.parametrize("content", [b"not a database" * 1000, b"SQLite format 3\0" + b"\xff" * 9000])
async def test_a_damaged_truth_is_named_not_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "knowledge.sqlite3").write_bytes(content)
    with pytest.raises(KnowledgeFailed, match=r"knowledge\.sqlite3"):
        await open_base(tmp_path)
    assert (tmp_path / "knowledge.sqlite3").read_bytes() == content
    (tmp_path / "knowledge.sqlite3").unlink()
    await (await open_base(tmp_path)).close()


async def test_a_directory_that_cannot_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KnowledgeFailed, match="file"):
        await open_base(tmp_path / "file")


async def test_searches_are_right_while_graphs_are_built(tmp_path: Path) -> None:
    base = await open_base(tmp_path, options=GRAPHS_EARLY)
    names = [f"e{n}" for n in range(200)]

    async def search_all() -> None:
        for name in names[:40] * 5:
            hits = await base.search_texts(await query_text(f"{name}: Text."), 3)
            assert hits[0].entry.id == name
            assert len({hit.entry.id for hit in hits}) == 3

    await base.add(stream(pictured(name, text="Text.") for name in names[:40]))
    searching = asyncio.create_task(search_all())
    for start in range(40, 200, 10):
        await base.add(stream(pictured(name, text="Text.") for name in names[start : start + 10]))
    await searching
    await base.settle()
    await base.close()
    assert list((tmp_path / "graphs").iterdir())


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "remove", "swap"])
async def test_a_damaged_graph_is_never_trusted(tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    base = await open_base(tmp_path, options=GRAPHS_EARLY)
    await base.add(stream(pictured(f"e{n}", text="Text.", pictures=[b"%d" % n]) for n in range(100)))
    await base.settle()
    await base.close()
    files = sorted((tmp_path / "graphs").iterdir())
    assert len(files) == 3
    _damage(files, damage)
    base = await open_base(tmp_path, options=GRAPHS_EARLY)
    assert "not used" in caplog.text
    await base.settle()
    for number in range(100):
        hits = await base.search_texts(await query_text(f"e{number}: Text."), 2)
        assert hits[0].entry.id == f"e{number}"
        found = await base.search_crops([await query_picture(b"%d" % number)], 2)
        assert found[0].entry.id == f"e{number}"
    await base.close()
    caplog.clear()
    await (await open_base(tmp_path, options=GRAPHS_EARLY)).close()
    assert "not used" not in caplog.text


def _damage(files: list[Path], damage: str) -> None:
    contents = [path.read_bytes() for path in files]
    for path, content, other in zip(files, contents, [*contents[1:], contents[0]], strict=True):
        if damage == "flip":
            path.write_bytes(content[:500] + bytes([content[500] ^ 1]) + content[501:])
        elif damage == "cut":
            os.truncate(path, len(content) - 1)
        elif damage == "empty":
            os.truncate(path, 0)
        elif damage == "remove":
            path.unlink()
        else:
            path.write_bytes(other)


async def test_an_older_truth_is_refused_and_once_accepted_does_not_believe_later_graphs(tmp_path: Path) -> None:
    base = await open_base(tmp_path, options=GRAPHS_EARLY)
    await base.add(stream(pictured(f"old{n}", text="Text.") for n in range(60)))
    await base.settle()
    await base.close()
    copy = (tmp_path / "knowledge.sqlite3").read_bytes()
    base = await open_base(tmp_path, options=GRAPHS_EARLY)
    await base.add(stream(pictured(f"lost{n}", text="Text.") for n in range(60)))
    await base.settle()
    await base.close()
    (tmp_path / "knowledge.sqlite3").write_bytes(copy)
    with pytest.raises(KnowledgeFailed, match="acknowledged commits are missing, an older file was put in its place"):
        await open_base(tmp_path, options=GRAPHS_EARLY)
    (tmp_path / "marker").unlink()
    base = await open_base(tmp_path, options=GRAPHS_EARLY)
    await base.add(stream(pictured(f"new{n}", text="Text.") for n in range(60)))
    for name in ("old7", "new7"):
        assert (await base.search_texts(await query_text(f"{name}: Text."), 1))[0].entry.id == name
    hits = await base.search_texts(await query_text("lost7: Text."), 120)
    assert len(hits) == 120
    assert not any(hit.entry.id.startswith("lost") for hit in hits)
    await base.close()


async def test_looking_after_a_store_goes_on_after_a_failure_and_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quizglass_server.knowledge.base._TIDY_S", 0.001)
    base, looks, again = await open_base(tmp_path), itertools.count(), asyncio.Event()

    def look_after(*, idle: bool = False) -> None:
        if next(looks) == 0:
            raise RuntimeError("can't start new thread")
        again.set()

    monkeypatch.setattr(base._indexes, "look_after", look_after)
    async with asyncio.timeout(60):
        await again.wait()

    async def failing() -> None:
        raise RuntimeError("a bug")

    base._background.append(asyncio.create_task(failing()))
    await asyncio.sleep(0)
    await base.close()
    await (await open_base(tmp_path)).close()  # the directory is free
