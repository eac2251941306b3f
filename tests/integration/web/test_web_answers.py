"""Large answers over HTTP: what is not read is not made, and holds up no one else."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from quizglass.values import Entry
from quizglass_server.web.http import answers
from tests.support.web import CAPABILITIES, JSON, WebStage, Wire, ask, web_serving

LIST = "/quizglass.v1.KnowledgeService/ListEntries"
TEXT = "x" * (4 << 20)
REQUEST = {**JSON, "content-length": "2"}


class Pages:
    """A server with one large entry, and how many pages of it were made."""

    def __init__(self, served: WebStage) -> None:
        self.served = served
        self.count = 0
        self._made = asyncio.Event()
        served.stage.knowledge.list = self._list

    async def _list(self, after: str, limit: int) -> list[Entry]:
        self.count += 1
        self._made.set()
        return [Entry("e", "E", text=TEXT)]

    async def made(self, count: int) -> None:
        """Wait until so many were made."""
        while self.count < count:
            self._made.clear()
            await self._made.wait()

    @asynccontextmanager
    async def asked(self, times: int = 1) -> AsyncIterator[Wire]:
        """A connection whose client asks for a page and reads nothing yet."""
        with socket.socket() as raw:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            raw.setblocking(False)
            await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", self.served.web.port))
            reader, writer = await asyncio.open_connection(sock=raw)
            async with Wire(reader, writer, self.served.host) as wire:
                for _ in range(times):
                    await wire.begin("POST", LIST, REQUEST)
                    await wire.say(b"{}")
                yield wire


@pytest.fixture
async def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Pages]:
    monkeypatch.setattr(answers, "MOST", 2)
    monkeypatch.setattr(answers, "UNREAD_S", 3600)
    async with web_serving(tmp_path) as served, asyncio.timeout(120):
        yield Pages(served)


async def others_are_answered(pages: Pages) -> None:
    assert (await ask(pages.served, "POST", CAPABILITIES, b"{}", JSON)).status == 200


async def page(wire: Wire) -> str:
    """The text of a page that a client reads at last."""
    answer = await wire.answer()
    assert answer.status == 200
    return json.loads(answer.body)["entries"][0]["text"]


async def test_a_page_is_made_once_one_before_it_is_read(pages: Pages) -> None:
    async with pages.asked() as first, pages.asked():
        await pages.made(2)
        async with pages.asked() as third:
            await others_are_answered(pages)
            assert pages.count == 2
            assert await page(first) == TEXT
            await pages.made(3)
            assert await page(third) == TEXT


async def test_a_page_that_is_not_read_makes_room_for_one_that_is(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "UNREAD_S", 0.01)
    async with pages.asked() as first, pages.asked():
        await pages.made(2)
        async with pages.asked() as third:
            assert await page(third) == TEXT
            assert await first.closed()


async def test_requests_that_came_together_are_answered_as_their_answers_are_read(pages: Pages) -> None:
    async with pages.asked(times=5) as wire:
        await pages.made(1)
        await others_are_answered(pages)
        assert pages.count == 1
        for _ in range(5):
            assert await page(wire) == TEXT
        assert pages.count == 5


async def test_a_client_that_leaves_while_it_waits_takes_no_place(pages: Pages) -> None:
    async with pages.asked() as first, pages.asked():
        await pages.made(2)
        async with pages.asked():
            await others_are_answered(pages)
        assert await page(first) == TEXT
        async with pages.asked() as last:
            assert await page(last) == TEXT
        assert pages.count == 3


async def test_a_request_without_a_place_is_refused_in_time(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "WAIT_S", 0.01)
    async with pages.asked(), pages.asked():
        await pages.made(2)
        answer = await ask(pages.served, "POST", LIST, b"{}", JSON)
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert "large answers" in answer.json["message"]
