"""What the memory promises of its files: time to live, bounds, restarts, kills, full disks, other encoders."""

import asyncio
import re
import sqlite3
import subprocess
import sys
import time
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from quizglass.values import Order
from quizglass_server.config.settings import MemoryOptions
from quizglass_server.domain.sightings import Seen, Sighting, SightingFilter, SightingQuery
from quizglass_server.domain.turns import Picture
from quizglass_server.errors import EngineFailed, KnowledgeFailed, KnowledgeLocked, NotFound, RoleMissing
from quizglass_server.knowledge.database.schema import FILE
from quizglass_server.knowledge.database.writer import DatabaseWriter
from quizglass_server.knowledge.memory import SightingMemory
from quizglass_server.knowledge.memory import memory as memories
from quizglass_server.knowledge.memory import queue as queues
from quizglass_server.knowledge.repair.backup import snapshot
from quizglass_server.knowledge.repair.inspection import inspect
from quizglass_server.knowledge.repair.salvage import salvage
from quizglass_server.steps.lookup.recall import last_seen_by_name
from tests.support.knowledge.fakes import FakeTextEncoder
from tests.support.knowledge.memory_stage import Eyes, frame

ROOT = Path(__file__).parents[4]
ALL = SightingQuery(100)
RED, BLUE = np.full((32, 32, 3), (255, 0, 0), np.uint8), np.full((32, 32, 3), (0, 0, 255), np.uint8)


@asynccontextmanager
async def opened(folder, eyes=None, text=True, image=True, busy=lambda: False, **options):
    encoders = {
        "text_encoder": FakeTextEncoder() if text else None,
        "image_encoder": (eyes or Eyes()) if image else None,
    }
    memory = await SightingMemory.open(folder, MemoryOptions(**options), **encoders, busy=busy)
    try:
        yield memory
    finally:
        await memory.close()


def seen(name, pixels=RED, *, at=0, **more):
    async def embed():
        return await Eyes().embed([frame(pixels)])

    picture = Picture(name.encode().ljust(32, b"."), pixels)
    return Seen(
        Sighting(name, at or int(time.time()), picture.sha256, question=f"Is {name} awake?", **more), picture, embed
    )


async def ids(memory, pixels=None):
    if pixels is None:
        return [hit.sighting.id for hit in await memory.latest(ALL)]
    return [hit.sighting.id for hit in await memory.by_picture(await Eyes().embed([frame(pixels)]), ALL)]


async def keep(memory, *names, **more):
    for name in names:
        memory.remember(seen(name, **more))
    await memory.settle()


def wait(memory, seconds):
    """Let so many seconds pass for the memory."""
    memory._store._clock._start += seconds


async def test_a_sighting_expires_though_the_system_clock_stands_still(tmp_path):
    async with opened(tmp_path, memory_ttl_s=100) as memory:
        await keep(memory, "early", at=int(memory._store.now()))
        wait(memory, 50)
        await keep(memory, "late", at=int(memory._store.now()))
        wait(memory, 30)
        assert await ids(memory) == ["late", "early"]
        wait(memory, 25)
        assert await ids(memory) == await ids(memory, RED) == ["late"]
        assert [hit.sighting.id for hit in await memory.by_text(np.ones(16), "early awake", ALL)] == ["late"]
        with pytest.raises(NotFound):
            await memory.thumbnail("early")
        assert (await memory.stats()).sightings == 1
        wait(memory, 50)
        assert await ids(memory) == []
        await memory.compact()
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"awake" in path.read_bytes()]


async def test_sightings_that_expired_and_cannot_be_deleted_are_in_no_statistics(tmp_path, monkeypatch):
    def full(*_):
        raise KnowledgeFailed("the disk is full")

    async with opened(tmp_path, memory_ttl_s=100) as memory:
        start = int(memory._store.now())
        await keep(memory, "early", at=start)
        wait(memory, 50)
        await keep(memory, "late", at=start)
        monkeypatch.setattr(DatabaseWriter, "expire", full)
        wait(memory, 55)
        stats = await memory.stats()
        assert stats.sightings == 1
        assert stats.oldest_time == stats.latest_time
        assert abs(stats.latest_time - (start - 55)) <= 1  # 55 seconds ago by a clock that stands still
        await asyncio.wrap_future(memory._store._indexes.rebuild())  # of all that is in the database
        assert await ids(memory) == await ids(memory, RED) == ["late"]


async def test_a_clock_that_was_set_back_prolongs_nothing(tmp_path):
    async with opened(tmp_path, memory_ttl_s=100) as memory:
        wait(memory, 1_000_000)
        await keep(memory, "a", at=int(memory._store.now()))
    async with opened(tmp_path, memory_ttl_s=100) as memory:
        (hit,) = await memory.latest(ALL)
        assert 90 <= hit.sighting.expires_after <= 100
        wait(memory, 101)
        assert await ids(memory) == []


async def test_a_clock_that_was_set_back_shortens_nothing_either(tmp_path):
    async with opened(tmp_path, memory_ttl_s=100) as memory:
        wait(memory, 1_000_000)
        await keep(memory, "a")  # by the system's clock it was seen long ago
    async with opened(tmp_path, memory_ttl_s=100) as memory:
        assert await ids(memory) == ["a"]
        wait(memory, 101)
        assert await ids(memory) == []


async def test_so_long_ago_is_so_long_ago_though_the_clock_was_set_back(tmp_path):
    async with opened(tmp_path) as memory:
        now = int(time.time())
        await keep(memory, "early")
        wait(memory, 86_400)  # and the clock was set back by a day
        await keep(memory, "late")
        late, early = [hit.sighting for hit in await memory.latest(ALL)]
        assert abs(late.time - now) <= 1
        assert abs(early.time - (now - 86_400)) <= 1
        yesterday = SightingFilter(time_until=now - 3600)
        assert [hit.sighting.id for hit in await memory.latest(SightingQuery(100, yesterday))] == ["early"]
        stats = await memory.stats()
        assert (stats.oldest_time, stats.latest_time) == (early.time, late.time)
        assert (await memory.forget(yesterday))[0] == 1
        assert await ids(memory) == ["late"]
    async with opened(tmp_path) as memory:
        (hit,) = await memory.latest(ALL)
        assert abs(hit.sighting.time - now) <= 2


async def test_what_a_shorter_time_to_live_allows_no_more_is_forgotten_at_the_start(tmp_path):
    async with opened(tmp_path, memory_ttl_s=10_000) as memory:
        now = int(memory._store.now())
        await keep(memory, "old", at=now - 5000)
        await keep(memory, "new", at=now)
    async with opened(tmp_path, memory_ttl_s=1000) as memory:
        assert await ids(memory) == ["new"]


async def test_the_best_are_looked_for_once_however_many_there_are(tmp_path, monkeypatch):
    async with opened(tmp_path) as memory:
        for start in range(0, 100, 50):  # as many as may wait
            await keep(memory, *(f"s{number}" for number in range(start, start + 50)))
        search, looks = memory._store.search_crops, []

        async def counted(vectors, limit, finding):
            looks.append(limit)
            return await search(vectors, limit, finding)

        monkeypatch.setattr(memory._store, "search_crops", counted)
        query = SightingQuery(3, order=Order.BEST, least_score=-1.0)
        assert len(await memory.by_picture(await Eyes().embed([frame(RED)]), query)) == 3
        assert len(looks) == 1


class NearestCaptions(FakeTextEncoder):
    """Takes a question for one of sightings that say nothing but this name."""

    async def embed_queries(self, texts):
        return await super().embed_queries(["Velmora: Velmora" for _ in texts])


@pytest.mark.parametrize("latest", [159, 158])
async def test_the_last_sighting_of_a_name_is_the_latest_however_many_fit_the_question_better(tmp_path, latest):
    question, began = "When did I last see the Velmora?", int(time.time()) - 1000
    async with opened(tmp_path) as memory:
        for number in range(160):
            one = seen(f"s{number}", at=began + number, recognised=("Velmora",) if number <= latest else ("Tagrin",))
            asked = "Is it awake?" if number < 140 else "Is Velmora, up on its shelf, still awake or asleep?"
            memory.remember(replace(one, sighting=replace(one.sighting, question=asked)))
            if number % 50 == 49:
                await memory.settle()
        await memory.settle()
        hit = await last_seen_by_name(memory, NearestCaptions(), question)
        assert hit is not None
        assert hit.sighting.id == f"s{latest}"
        assert await last_seen_by_name(memory, FakeTextEncoder(), "When did I last see the Brenn?") is None


async def test_the_oldest_go_when_there_are_too_many(tmp_path):
    async with opened(tmp_path, memory_sightings=3) as memory:
        await keep(memory, *"abcde")
        assert await ids(memory) == ["e", "d", "c"]


async def test_the_oldest_go_when_they_take_too_many_bytes(tmp_path):
    rng = np.random.default_rng(1)
    async with opened(tmp_path, memory_bytes=300_000, memory_thumbnail_side=128) as memory:
        names = [f"n{number}" for number in range(40)]
        for name in names:
            await keep(memory, name, pixels=rng.integers(0, 255, (128, 128, 3), dtype=np.uint8))
        left = await ids(memory)
        assert left == names[::-1][: len(left)]
        assert 1 <= len(left) < 40
        assert (await memory.stats()).bytes <= 300_000


async def test_it_is_all_there_after_a_restart_and_private(tmp_path):
    async with opened(tmp_path / "memory") as memory:
        memory.remember(seen("a", session_id="walk", answer="No.", recognised=("Velmora",)))
    async with opened(tmp_path / "memory") as memory:
        (hit,) = await memory.by_picture(await Eyes().embed([frame(RED)]), ALL)
        assert (hit.sighting.session_id, hit.sighting.answer, hit.sighting.recognised) == ("walk", "No.", ("Velmora",))
    assert (tmp_path / "memory").stat().st_mode & 0o777 == 0o700


async def test_another_encoder_sees_the_small_pictures_anew_and_drops_the_rest(tmp_path):
    async with opened(tmp_path) as memory:
        await keep(memory, "kept")
    async with opened(tmp_path, memory_thumbnail_side=0) as memory:
        await keep(memory, "bare")
        assert set(await ids(memory, RED)) == {"kept", "bare"}
    async with opened(tmp_path, eyes=Eyes("eyes-2")) as memory:
        await memory._store.settle()
        assert await ids(memory, RED) == ["kept"]
        assert await ids(memory) == ["bare", "kept"]


async def test_without_a_text_encoder_it_is_found_by_its_looks(tmp_path):
    async with opened(tmp_path, text=False) as memory:
        await keep(memory, "a")
        assert await ids(memory, RED) == ["a"]
        with pytest.raises(RoleMissing):
            await memory.by_text(np.ones(16), "awake", ALL)


async def test_without_an_image_encoder_it_is_found_by_its_words(tmp_path):
    async with opened(tmp_path, image=False) as memory:
        await keep(memory, "a")
        (hit,) = await memory.by_text(np.ones(16, np.float32), "awake", ALL)
        assert (hit.sighting.id, hit.sighting.thumbnail_sha256) == ("a", None)
        with pytest.raises(RoleMissing):
            await ids(memory, RED)


async def test_failures_are_counted_and_the_next_is_remembered(tmp_path, caplog):
    async def broken():
        raise EngineFailed("no vectors today")

    async with opened(tmp_path) as memory:
        memory.remember(Seen(seen("a").sighting, seen("a").picture, broken))
        await keep(memory, "b")
        stats = await memory.stats()
        assert (stats.remembered, stats.failed, stats.waiting) == (1, 1, 0)
        assert await ids(memory) == ["b"]
    assert "a sighting is lost" in caplog.text
    assert "awake" not in caplog.text


async def test_too_many_that_wait_are_left_out_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(queues, "_MOST_WAITING", 2)
    async with opened(tmp_path) as memory:
        await keep(memory, *"abcd")
        stats = await memory.stats()
        assert (stats.remembered, stats.dropped) == (2, 2)
        assert await ids(memory) == ["b", "a"]


async def test_forgetting_is_followed_by_a_compaction_of_its_own(tmp_path, monkeypatch):
    compacted = asyncio.Event()
    async with opened(tmp_path) as memory:
        compact = memory._store.compact

        async def told():
            sequence = await compact()
            compacted.set()
            return sequence

        monkeypatch.setattr(memory._store, "compact", told)
        await keep(memory, "zyrbax")
        await memory.forget(SightingFilter(frame_sha256=b"zyrbax".ljust(32, b".")))
        await asyncio.wait_for(compacted.wait(), 60)
        assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"zyrbax" in path.read_bytes()]


async def test_a_compaction_that_breaks_does_not_end_those_after_it(tmp_path, monkeypatch):
    compacted, tries = asyncio.Event(), []
    async with opened(tmp_path) as memory:

        async def compact():
            tries.append(1)
            if len(tries) == 1:
                raise RuntimeError("a bug")
            compacted.set()
            return 0

        monkeypatch.setattr(memory._store, "compact", compact)
        for name in ("a", "b"):
            await keep(memory, name)
            await memory.forget(SightingFilter(frame_sha256=name.encode().ljust(32, b".")))
        await asyncio.wait_for(compacted.wait(), 60)


async def test_files_of_a_repair_do_not_have_the_memory_compacted_again_and_again(tmp_path, monkeypatch, caplog):
    shrink, shrunk, looks, enough = DatabaseWriter.shrink, [], [], asyncio.Event()
    monkeypatch.setattr(DatabaseWriter, "shrink", lambda writer: shrunk.append(1) or shrink(writer))
    monkeypatch.setattr(memories, "_TIDY_S", 0.001)
    async with opened(tmp_path) as memory:
        forget_old = memory._forget_old

        async def looked():
            await forget_old()
            looks.append(1)
            if len(looks) == 4:
                enough.set()

        (tmp_path / "before-repair-1").mkdir()
        (tmp_path / "before-repair-1" / FILE).write_bytes(b"as it was")
        monkeypatch.setattr(memory, "_forget_old", looked)
        await asyncio.wait_for(enough.wait(), 60)
        assert (len(shrunk), caplog.messages.count("what was forgotten is still in the files")) == (1, 1)
        await keep(memory, "a")
        await memory.forget(SightingFilter(frame_sha256=b"a".ljust(32, b".")))
        with pytest.raises(KnowledgeFailed, match="before-repair-1"):
            await memory.compact()


async def test_writing_rests_while_turns_run_and_goes_on_after_them(tmp_path):
    looked, running = asyncio.Event(), [True]

    def busy():
        looked.set()
        return running[0]

    async with opened(tmp_path, busy=busy) as memory:
        memory.remember(seen("a"))
        await looked.wait()
        assert (await memory.stats()).waiting == 1
        running[0] = False
        await memory.settle()
        running[0] = True
        memory.remember(seen("b"))
        assert (await memory.forget(SightingFilter(frame_sha256=b"b".ljust(32, b"."))))[0] == 1, (
            "whoever waits, is served"
        )
        assert await ids(memory) == ["a"]


async def test_a_forgotten_frame_leaves_its_twins(tmp_path):
    async with opened(tmp_path) as memory:
        await keep(memory, "a", "b")
        await keep(memory, "c", pixels=BLUE)
        assert (await memory.forget(SightingFilter(frame_sha256=b"a".ljust(32, b"."))))[0] == 1
        assert await ids(memory, RED) == ["b"]
        assert (await memory.thumbnail("b"))[:2] == b"\xff\xd8"


@contextmanager
def process(task, directory):
    command = [sys.executable, "-m", "tests.support.knowledge.memory_process", task, str(directory)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


async def test_a_kill_brings_nothing_forgotten_back_and_a_second_server_is_refused(tmp_path):
    with process("forget", tmp_path) as child:
        lines = [await asyncio.to_thread(child.stdout.readline) for _ in range(9)]
        with pytest.raises(KnowledgeLocked, match=f"process {child.pid}"):
            async with opened(tmp_path):
                pass
        child.kill()
        lines += child.stdout.readlines()
    said = [line.split() for line in lines if line.endswith("\n")]
    kept = {int(number) for word, number in said if word == "kept"}
    forgotten = {int(number) for word, number in said if word == "forgot"}
    assert kept
    assert forgotten
    async with opened(tmp_path) as memory:
        there = {int(name) for name in await ids(memory)}
        assert there.isdisjoint(forgotten)
        assert kept - forgotten - {max(kept)} <= there  # forgetting the last may be done and not yet told


def test_a_full_disk_loses_sightings_and_nothing_else(tmp_path):
    with process("fill", tmp_path) as child:
        output, _ = child.communicate(timeout=60)
    match = re.fullmatch(r"remembered (\d+) failed (\d+) found (\d+)\nafter (\d+)\n", output)
    assert match is not None, output
    remembered, failed, found, after = map(int, match.groups())
    assert remembered == found > 0
    assert failed > 0
    assert after == remembered + 1


async def test_a_directory_that_cannot_be_used_is_named_and_others_may_not_look_into_one(tmp_path):
    (tmp_path / "open").mkdir(mode=0o755)
    async with opened(tmp_path / "open"):
        assert (tmp_path / "open").stat().st_mode & 0o777 == 0o700
    (tmp_path / "file").write_text("")
    with pytest.raises(KnowledgeFailed, match=r"memory directory .*file"):
        async with opened(tmp_path / "file" / "memory"):
            pass


async def test_its_files_are_verified_repaired_and_copied_as_those_of_knowledge(tmp_path):
    async with opened(tmp_path / "memory", memory_thumbnail_side=0) as memory:
        await keep(memory, "bare")
    async with opened(tmp_path / "memory") as memory:
        await keep(memory, "a", "b")
        await asyncio.to_thread(snapshot, tmp_path / "memory", tmp_path / "copy")
    assert inspect(tmp_path / "memory") == inspect(tmp_path / "copy") == []
    done = salvage(tmp_path / "memory")
    assert (done.entries, done.lost, done.doubts) == (3, [], [])
    for folder in (tmp_path / "memory", tmp_path / "copy"):
        async with opened(folder) as memory:
            assert await ids(memory) == ["b", "a", "bare"]
            assert (await memory.thumbnail("a"))[:2] == b"\xff\xd8"


@pytest.mark.parametrize("damaged", [False, True])
async def test_a_repair_keeps_every_sound_view_of_a_sighting(tmp_path, damaged):
    views = [RED, BLUE, np.zeros((32, 32, 3), np.uint8)]

    async def embed():
        return await Eyes().embed([frame(view) for view in views])

    async with opened(tmp_path) as memory:
        memory.remember(replace(seen("a"), embed=embed))
    if damaged:
        with closing(sqlite3.connect(tmp_path / FILE)) as connection, connection:
            connection.execute("UPDATE pictures SET look = look + 1 WHERE position = 1")
    assert salvage(tmp_path).lost == (["1 of 3 views of entry a"] if damaged else [])
    async with opened(tmp_path) as memory:
        await memory._store.settle()
        scores = [await memory.by_picture(await Eyes().embed([frame(view)]), ALL) for view in views]
        assert [hits[0].score > 0.99 for hits in scores] == [True, not damaged, True]
        assert (await memory.thumbnail("a"))[:2] == b"\xff\xd8"
    assert inspect(tmp_path) == []


async def test_a_memory_that_cannot_be_opened_leaves_nothing_running(tmp_path, monkeypatch):
    async def full(self, filter_=None, *, keep=0):
        raise KnowledgeFailed("the disk is full")

    before = asyncio.all_tasks()
    with monkeypatch.context() as patch:
        patch.setattr("quizglass_server.knowledge.memory.store.SightingStore.discard", full)
        with pytest.raises(KnowledgeFailed):
            async with opened(tmp_path):
                pass
    assert asyncio.all_tasks() == before
    async with opened(tmp_path) as memory:
        await keep(memory, "a")
