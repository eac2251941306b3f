"""Milvus alone: it goes away and comes back, several servers share it, writes are interrupted, it is not ours."""

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from pymilvus import MilvusClient

from quizglass.values import Filter, SearchMode
from quizglass_server.config.address import MilvusAddress, knowledge_address
from quizglass_server.domain.entries import SearchOptions
from quizglass_server.errors import KnowledgeFailed, KnowledgeLost, NotFound, NotSupported, SettingsError
from quizglass_server.knowledge.content.records import VectorKind
from quizglass_server.knowledge.milvus.base import MilvusKnowledge
from quizglass_server.knowledge.milvus.store import MilvusStore
from quizglass_server.scheduling.deadline import due_within
from tests.support.knowledge.backends import Place, free_port, fresh_place, milvus_process
from tests.support.knowledge.fakes import hashed, pictured, query_picture, query_text, stream

FAR = hashed(b"a question whose vector says nothing")
WORDS = SearchOptions(mode=SearchMode.KEYWORDS)


@pytest.fixture
def place(tmp_path: Path, milvus: MilvusAddress) -> Place:
    return fresh_place("milvus", tmp_path, milvus)


@contextmanager
def held(file: Path) -> Iterator[None]:
    """Another process has a file of Milvus Lite open."""
    code = f"from milvus_lite import MilvusLite; MilvusLite({str(file)!r}); print('held', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield
        holder.kill()


async def test_it_is_lost_killed_and_back_with_everything_acknowledged(tmp_path: Path) -> None:
    port = free_port()
    place = fresh_place("milvus", tmp_path, MilvusAddress(f"http://127.0.0.1:{port}", host="127.0.0.1"))
    with milvus_process(tmp_path / "milvus", port) as process:
        base = await place.open(timeout_s=30.0)
        changes: list[bool] = []
        base.on_change(lambda: changes.append(base.ready))
        assert (await base.add(stream(pictured(f"e{n}", text=f"Number {n}.") for n in range(20)))).added == 20
        process.send_signal(signal.SIGKILL)
        process.wait()
        with pytest.raises(KnowledgeLost, match="does not answer"):
            await base.search_texts(FAR, 5)
        assert not base.ready
        with pytest.raises(KnowledgeLost) as refused:  # at once, and says when it is tried again
            await base.get("e0")
        assert refused.value.retry_after_s is None or 0 < refused.value.retry_after_s <= 10
        for call in (base.search_crops([FAR], 5), base.delete("e0"), base.add(stream([pictured("x", text="X.")]))):
            with pytest.raises(KnowledgeLost):
                await call
        assert base.count() == 20, "the last count is still the best guess"
    with milvus_process(tmp_path / "milvus", port):
        async with asyncio.timeout(120):
            while not base.ready:  # noqa: ASYNC110  # a background task finds out
                await asyncio.sleep(0.02)
        assert [entry.id for entry in await base.list("", 99)] == sorted(f"e{n}" for n in range(20))
        assert next(hit.text for hit in await base.search_texts(None, 5, "number 7", WORDS)) == "Number 7."
        assert (await base.add(stream([pictured("after", text="And on.")]))).added == 1
        await asyncio.sleep(0)
        assert changes == [False, True]
        await base.close()


async def test_an_unreachable_server_is_reported_in_bounded_time(tmp_path: Path) -> None:
    place = fresh_place("milvus", tmp_path, MilvusAddress(f"http://127.0.0.1:{free_port()}", host="127.0.0.1"))
    with pytest.raises(KnowledgeLost, match="does not answer"):
        await place.open(timeout_s=0.3)


async def test_one_that_accepts_and_never_answers_costs_no_more_than_its_time(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = MilvusAddress(f"http://127.0.0.1:{silent.getsockname()[1]}", host="127.0.0.1")
        async with asyncio.timeout(60):
            with pytest.raises(KnowledgeLost):
                await fresh_place("milvus", tmp_path, address).open(timeout_s=0.5)


async def test_a_caller_without_time_is_not_served_and_no_other_is_refused(place: Place) -> None:
    base = await place.open()
    await base.add(stream([pictured("a", text="Words.")]))
    with due_within(0), pytest.raises(KnowledgeLost):
        await base.search_texts(FAR, 5)
    assert base.ready
    assert len(await base.search_texts(FAR, 5)) == 1
    await base.close()


async def test_two_servers_see_each_others_entries_at_once(place: Place) -> None:
    one, other = await place.open(), await place.open()
    await one.add(stream([pictured("a", text="First words.", pictures=[b"a"])]))
    assert [hit.text for hit in await other.search_texts(FAR, 5)] == ["First words."]
    await other.add(stream([pictured("a", text="Other words.")]))
    assert [hit.text for hit in await one.search_texts(FAR, 5)] == ["Other words."]
    assert await one.search_crops([await query_picture(b"a")], 5) == []
    await one.delete("a")
    assert await other.search_texts(FAR, 5, "words") == []
    with pytest.raises(NotFound):
        await other.delete("a")
    await one.close()
    await other.close()


@pytest.mark.parametrize("after", range(1, 6))
async def test_a_write_that_ends_in_the_middle_shows_nothing_or_all(
    place: Place, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ends a write after so many of its calls, then looks with another server."""
    base = await place.open()
    await base.add(stream([pictured("a", text="Old words.", pictures=[b"old"])]))
    calls = 0
    real = MilvusStore._writing

    def failing(self, job) -> None:
        nonlocal calls
        calls += 1
        if calls > after:
            raise KnowledgeFailed("pulled out")
        real(self, job)

    monkeypatch.setattr(MilvusStore, "_writing", failing)
    new = pictured("a", text="New words.", pictures=[b"new"], attributes={f"k{n}": "long " * 99 for n in range(60)})
    with pytest.raises(KnowledgeFailed, match="pulled out"):
        await base.add(stream([new]))
    monkeypatch.undo()
    await base.close()
    base = await place.open()
    entry = await base.get("a")
    assert entry.text == ("New words." if after >= 4 else "Old words."), "vectors, parts, then what makes it exist"
    found = {hit.entry.text for hit in await base.search_texts(FAR, 99)}
    assert found == {entry.text}
    assert [hit.entry for hit in await base.search_crops([FAR], 9)] == [entry]
    await base.add(stream([new]))
    assert {hit.text for hit in await base.search_texts(None, 5, "old", WORDS)} == set()
    await base.close()


async def test_what_it_cannot_promise_is_refused_by_name(place: Place) -> None:
    base = await place.open()
    await base.add(stream([pictured("a", pictures=[b"a"])]))
    digest = (await base.get("a")).picture_sha256[0]
    for call in (base.picture(digest), base.compact()):
        with pytest.raises(NotSupported, match="Milvus") as refused:
            await call
        assert refused.value.metadata == {"backend": "milvus"}
    assert (await base.delete("a")).sequence == 0, "no receipt"
    await base.close()


async def test_text_of_filters_and_ids_is_never_an_expression(place: Place) -> None:
    base = await place.open()
    odd = 'a"] or key != "'
    await base.add(stream([pictured("a", text="Words.", kind=odd, source=odd, attributes={odd: "x"}), pictured("b")]))
    for filter_ in (Filter(kinds=(odd,)), Filter(sources=(odd,)), Filter(attributes={odd: "x"})):
        assert {hit.entry.id for hit in await base.search_texts(FAR, 5, options=SearchOptions(filter_))} == {"a"}
    for text in ('"', "\\", '\\"', "]", "{x}", "'", "\n", "\x00", '" or key != "', "%", "_", "🚗"):
        odd_filters = Filter({text: text}), Filter(kinds=(text,)), Filter(sources=(text,)), Filter(languages=(text,))
        for filter_ in odd_filters:
            assert await base.search_texts(FAR, 5, text, SearchOptions(filter_)) == []
        with pytest.raises(NotFound):
            await base.get(text)
        await base.list(text, 5)
    await base.close()


async def test_collections_of_others_are_left_alone(place: Place) -> None:
    client = MilvusClient(place.address.uri)
    client.create_collection(f"{place.name}_chunks", dimension=4)
    with pytest.raises(KnowledgeFailed, match=f"{place.name}_chunks is not one of this server's version"):
        await place.open()
    assert client.describe_collection(f"{place.name}_chunks")["properties"].get("quizglass.format") is None
    client.close()


async def test_nothing_that_was_asked_reaches_a_log(place: Place, caplog: pytest.LogCaptureFixture, capfd) -> None:
    base = await place.open()
    await base.add(stream([pictured("a", text="Words.")]))
    client = MilvusClient(place.address.uri)
    client.drop_collection(f"{place.name}_chunks")
    secret = SearchOptions(Filter(kinds=("private kind",)))
    with caplog.at_level("DEBUG"), pytest.raises(KnowledgeFailed, match="answered with failure"):
        await base.search_texts(FAR, 5, "private words", secret)
    told = caplog.text + "".join(capfd.readouterr())
    assert "Milvus answered with a failure" in told
    assert "private" not in told
    client.close()
    await base.close()


async def test_a_file_needs_no_server_and_is_there_after_a_restart(tmp_path: Path) -> None:
    address = knowledge_address(f"milvus:{tmp_path / 'made' / 'knowledge.db'}")
    assert isinstance(address, MilvusAddress)
    place = fresh_place("milvus", tmp_path, address)
    base = await place.open()
    await base.add(stream([pictured("a", text="Words.", pictures=[b"a"])]))
    await base.close()
    base = await place.open()
    assert [hit.text for hit in await base.search_texts(await query_text("a: Words."), 5)] == ["Words."]
    await base.close()


async def test_a_file_that_another_process_has_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "knowledge.db"
    place = fresh_place("milvus", tmp_path, MilvusAddress(str(file)))
    with held(file), pytest.raises(KnowledgeFailed, match="another server"):
        await place.open()
    base = await place.open()
    assert isinstance(base, MilvusKnowledge)
    await base.close()


@pytest.mark.parametrize(("package", "where"), [("pymilvus", "http://127.0.0.1:1"), ("milvus_lite", "milvus:x.db")])
async def test_a_missing_extra_is_named(package: str, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SettingsError, match=r"pip install '\.\[milvus\]'"):
        await fresh_place("milvus", Path(), knowledge_address(where)).open()


def test_it_is_loaded_only_when_it_is_chosen() -> None:
    code = (
        "import sys, quizglass_server.app\n"
        "heavy = {'pymilvus', 'milvus_lite', 'faiss', 'pandas', 'pyarrow'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


async def test_an_entry_that_expired_and_is_added_again_leaves_no_rows_behind(place: Place) -> None:
    base = await place.open()
    clock, vectors = base._clock, base._store.collections.vectors[VectorKind.CHUNKS]
    await base.add(stream([pictured("a", text="Old.", expires_after=60)]))
    clock._start += 61
    await base.add(stream([pictured("a", text="New.")]))
    with closing(MilvusClient(uri=place.address.uri)) as client:
        rows = client.query(vectors, filter="revision > 0", output_fields=["text"], consistency_level="Strong")
    await base.close()
    assert [row["text"] for row in rows] == ["New."]
