"""HTTP with a server that says what the test wants: kept, lost, garbled, too long."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from quizglass_server.engines.generator.connection import Address, ConnectionLost, HttpConnections, NotHttp
from tests.support.processes import no_descriptors

Answers = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Server:
    """Answers one connection after the other with the given bytes, one for each request."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.answers: list[bytes] = []
        self.connections = 0
        self.left = asyncio.Event()
        self.heads: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while self.answers:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                length = next(
                    int(line.split()[1]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length")
                )
                await reader.readexactly(length)
                answer = self.answers.pop(0)
                writer.write(answer)
                if b"hangs" in answer:
                    await reader.read()
                    self.left.set()
        except (asyncio.IncompleteReadError, ConnectionError):
            self.left.set()
        finally:
            writer.close()


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    found = Server(tmp_path / "x.sock")
    listening = await asyncio.start_unix_server(found.serve, found.path)
    yield found
    listening.close()


async def got(connections: HttpConnections) -> bytes:
    async with connections.request("POST", "/", b"{}") as response:
        return await response.document()


async def test_a_connection_is_kept_and_one_that_the_server_has_closed_is_made_anew(server: Server) -> None:
    connections = HttpConnections(Address(socket=server.path))
    server.answers = [OK, OK]
    assert [await got(connections), await got(connections)] == [b"ok", b"ok"]
    assert server.connections == 1
    await asyncio.sleep(0)
    server.answers = [OK]  # and the one that was kept is closed by now
    assert await got(connections) == b"ok"
    assert server.connections == 2
    connections.close()


async def test_headers_of_the_address_are_sent_with_every_request(server: Server) -> None:
    server.answers = [OK]
    assert await got(HttpConnections(Address(socket=server.path, headers={"Authorization": "Bearer x"}))) == b"ok"
    assert b"Authorization: Bearer x\r\n" in server.heads[0]


async def test_the_path_of_the_address_stands_in_front_of_that_of_every_request(server: Server) -> None:
    server.answers = [OK]
    assert await got(HttpConnections(Address(socket=server.path, path="/llm"))) == b"ok"
    assert server.heads[0].startswith(b"POST /llm/ HTTP/1.1\r\n")


@pytest.mark.parametrize(
    ("address", "authority"),
    [
        (Address(host="example.org", port=8080), "example.org:8080"),
        (Address(host="example.org", port=80), "example.org"),
        (Address(host="example.org", port=80, tls=ssl.create_default_context()), "example.org:80"),
        (Address(host="example.org", port=443, tls=ssl.create_default_context()), "example.org"),
        (Address(host="::1", port=8080), "[::1]:8080"),
        (Address(socket=Path("x.sock")), "localhost"),
    ],
)
def test_the_host_is_named_with_its_port_unless_that_is_the_usual_one(address: Address, authority: str) -> None:
    assert address.authority == authority


async def test_leaving_a_response_closes_its_connection(server: Server) -> None:
    server.answers = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhangs\r\n"]
    connections = HttpConnections(Address(socket=server.path))
    async with connections.request("POST", "/", b"{}") as response:
        assert await anext(response.chunks()) == b"hangs"
    async with asyncio.timeout(30):
        await server.left.wait()


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", ConnectionLost),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", ConnectionLost),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", ConnectionLost),
        (b"SSH-2.0-OpenSSH\r\n\r\n", NotHttp),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n", NotHttp),
        (b"HTTP/1.1 200 OK\r\nA: " + b"a" * (1 << 17) + b"\r\n\r\n", NotHttp),
    ],
    ids=["nothing", "half", "half a chunk", "another protocol", "no chunk", "long head"],
)
async def test_what_is_no_response_has_a_name_and_the_next_request_works(
    server: Server, answer: bytes, error: type[Exception]
) -> None:
    connections = HttpConnections(Address(socket=server.path))
    server.answers = [answer]
    with pytest.raises(error):
        await got(connections)
    server.answers = [OK]
    assert await got(connections) == b"ok"


async def test_lines_are_read_whatever_the_pieces_they_come_in_and_none_without_end(server: Server) -> None:
    connections = HttpConnections(Address(socket=server.path))
    body = b"data: a\r\n\ndata: \xc3\xa9\nlast"
    for size in (1, 3, 100):
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
        server.answers = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"]
        async with connections.request("GET", "/") as response:
            assert [line async for line in response.lines()] == [b"data: a", b"", "data: é".encode(), b"last"]
    endless = b"a" * (5 << 20)
    server.answers = [b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(endless), endless)]
    async with connections.request("GET", "/") as response:
        with pytest.raises(NotHttp, match="a line of the response"):
            await anext(response.lines())


async def test_who_can_open_nothing_more_does_not_blame_the_server(server: Server) -> None:
    connections = HttpConnections(Address(socket=server.path))
    lost = None
    with no_descriptors():
        try:
            await got(connections)
        except ConnectionLost as error:
            lost = error
    assert lost is not None
    assert lost.ours
    server.answers = [OK]
    assert await got(connections) == b"ok"


async def test_an_address_without_a_listener_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConnectionLost, match=r"gone\.sock cannot be reached"):
        await got(HttpConnections(Address(socket=tmp_path / "gone.sock")))
