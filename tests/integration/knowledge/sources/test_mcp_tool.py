"""Tools of a real MCP server, in a process of its own."""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from quizglass_server.errors import BudgetExceeded, SourceFailed
from quizglass_server.knowledge.sources.guarded import GuardedSource, Terms
from quizglass_server.knowledge.sources.mcp_tool import bounded_client, opened
from quizglass_server.knowledge.sources.protocol import Passage, TextQuery

pytest.importorskip("mcp", reason="the extra mcp is not installed")
httpx2 = pytest.importorskip("httpx2", reason="the extra mcp is not installed")
ROOT = Path(__file__).parents[4]
QUERY = TextQuery("the price of the Velmora")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.support.knowledge.mcp_server"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/mcp"
        server.kill()


def asked(url: str, tool: str, *, budget_s: float = 20.0, **keys: object) -> GuardedSource:
    return GuardedSource("wiki", "mcp", opened({"url": url, "tool": tool, **keys}), Terms(budget_s=budget_s))


async def test_results_are_passages_with_their_titles_and_addresses(url: str) -> None:
    found = await asked(url, "search", arguments={"language": "de"}).texts(QUERY)
    address = "https://cars.example/velmora"
    assert found[0] == Passage(address, "Velmora", "The Velmora costs 45 crowns.", address)
    assert (found[1].title, found[1].text, found[1].address) == ("Tagrin", "The Tagrin lies in Brenn.", "")
    assert found[2].text == "the price of the Velmora in de"
    assert len({passage.id for passage in found}) == 3


@pytest.mark.parametrize("tool", ["written", "wrapped"])
async def test_json_is_read_however_the_server_wraps_it(url: str, tool: str) -> None:
    first, second = await asked(url, tool).texts(QUERY)
    address = "https://cars.example/velmora"
    assert first == Passage(address, "Velmora", "The Velmora costs 45 crowns.", address)
    assert (second.title, second.text) == ("Tagrin", "The Tagrin lies in Brenn.")


async def test_a_text_is_one_passage_under_the_tools_name(url: str) -> None:
    (passage,) = await asked(url, "tell").texts(QUERY)
    assert (passage.title, passage.text) == ("tell", "The answer to the price of the Velmora is 45 crowns.")


@pytest.mark.parametrize("tool", ["wrong", "missing"])
async def test_a_tool_that_fails_is_named_without_the_query(url: str, tool: str) -> None:
    source = asked(url, tool)
    with pytest.raises(SourceFailed, match="wiki"):
        await source.texts(QUERY)
    assert "Velmora" not in source.status.notice


async def test_one_that_hangs_is_given_its_time(url: str) -> None:
    with pytest.raises(BudgetExceeded):
        await asked(url, "hang", budget_s=0.5).texts(QUERY)
    assert await asked(url, "tell").texts(QUERY)


async def test_megabytes_are_not_read(url: str) -> None:
    with pytest.raises((SourceFailed, BudgetExceeded)):
        await asked(url, "flood", budget_s=5).texts(QUERY)


async def test_a_compressed_answer_is_not_unpacked() -> None:
    heads = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).lower())
        packed = gzip.compress(bytes(8 << 20))
        head = f"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {len(packed)}\r\n\r\n"
        writer.write(head.encode() + packed)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server, bounded_client({}, False) as http:
        with pytest.raises(httpx2.ReadError):
            await http.get(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp")
    assert b"accept-encoding: identity\r\n" in heads[0]


async def test_a_server_that_is_not_there_is_a_failure() -> None:
    with pytest.raises((SourceFailed, BudgetExceeded)):
        await asked("http://127.0.0.1:9/mcp", "search", budget_s=5).texts(QUERY)


def test_it_is_remote_whatever_its_address() -> None:
    source = asked("http://127.0.0.1:9/mcp", "search")
    assert (source.remote, source.finds) == (True, ("text",))
