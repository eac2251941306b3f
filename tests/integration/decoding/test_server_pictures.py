"""A whole server and pictures that mean harm: it refuses them, lives on, and stops on request."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bench.hostile import inputs
from bench.hostile.pictures import Sent, stub
from quizglass.picture_files.structure import MOST_SCANS
from quizglass_client import AsyncClient, Entry
from quizglass_client.local import LocalServer
from tests.support.bundles.tiny_bundle import write_bundle
from tests.support.processes import decoders_of, decoding

GRACE_S, PATIENCE_S = 1.0, 120.0


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(tmp_path_factory.mktemp("tiny") / "bundle")


@pytest.fixture
def server(bundle: Path, tmp_path: Path) -> Iterator[LocalServer]:
    with LocalServer(bundle, tmp_path / "knowledge", flags=["--grace-s", f"{GRACE_S}"]) as served:
        yield served


@asynccontextmanager
async def asked_again_and_again(server: LocalServer, at_once: int) -> AsyncIterator[Sent]:
    """Turns about the dearest picture, so many at once, until the block ends and what is under way is answered."""
    sent, over = Sent(), asyncio.Event()
    dearest = inputs.scan_bomb(inputs.SIDE, MOST_SCANS)  # of those that are accepted

    async def ask() -> None:
        while not over.is_set():
            await sent.one(assistant, dearest)

    async with stub(server.target) as assistant:
        asking = [asyncio.create_task(ask()) for _ in range(at_once)]
        try:
            yield sent
        finally:
            over.set()
            await asyncio.gather(*asking)


async def test_a_server_that_decodes_ends_when_it_is_told_to_and_leaves_nothing_behind(server: LocalServer) -> None:
    assert len(decoders_of(server.pid)) == 2
    async with asked_again_and_again(server, 4) as sent:
        await decoding(server.pid)
        workers = decoders_of(server.pid)
        os.kill(server.pid, signal.SIGTERM)
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.to_thread(os.waitid, os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)
    # A fast machine answers some before the end, within the grace.
    assert set(sent.became) <= {"OK", "UNAVAILABLE", "CANCELLED", "DEADLINE_EXCEEDED"}
    async with asyncio.timeout(PATIENCE_S):
        await _gone(workers)


async def test_a_server_that_is_killed_takes_its_decoders_along(server: LocalServer) -> None:
    async with asked_again_and_again(server, 1):
        await decoding(server.pid)
        workers = decoders_of(server.pid)
        os.kill(server.pid, signal.SIGKILL)
        async with asyncio.timeout(PATIENCE_S):
            await _gone(workers)


async def test_bombs_are_refused_by_their_field_wherever_pictures_are_taken(server: LocalServer) -> None:
    bomb = inputs.scan_bomb(500, 5000)
    async with stub(server.target) as assistant:
        sent = Sent()
        await sent.one(assistant, bomb)
        assert sent.became == {"INVALID_ARGUMENT": 1}
    async with AsyncClient(server.target) as client:
        good = inputs.png(64, 2, 8)
        report = await client.add_entries([Entry("a", "A", pictures=(good, bomb)), Entry("b", "B", pictures=(good,))])
    assert report.added == 1
    assert [(each.id, each.field) for each in report.refused] == [("a", "pictures[1]")]


async def _gone(pids: list[int]) -> None:
    while any(map(_there, pids)):  # noqa: ASYNC110  # nothing tells
        await asyncio.sleep(0.05)


def _there(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()
