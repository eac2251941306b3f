"""Sockets of clients, found by gRPC's names for peers."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from quizglass_server.rpc.transport.sockets import Sockets, address_of

DESCRIPTORS = Path("/dev/fd")


@pytest.fixture(params=["127.0.0.1", "::1"])
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, socket.socket, str]]:
    """The client's socket, the server's, and what gRPC calls the client."""
    host = request.param
    with ExitStack() as stack:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = stack.enter_context(socket.socket(family))
        try:
            listening.bind((host, 0))
        except OSError:
            pytest.skip(f"there is no {host} here")
        listening.listen()
        client = stack.enter_context(socket.create_connection(listening.getsockname()[:2]))
        accepted = stack.enter_context(listening.accept()[0])
        port = client.getsockname()[1]
        yield client, accepted, f"ipv6:%5B::1%5D:{port}" if ":" in host else f"ipv4:{host}:{port}"


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("ipv4:10.0.0.7:50", ("10.0.0.7", 50)),
        ("ipv6:%5B::1%5D:50", ("::1", 50)),
        ("ipv6:[::ffff:10.0.0.7]:50", ("10.0.0.7", 50)),
        ("ipv6:[fe80::1%25eth0]:50", ("fe80::1%eth0", 50)),
        ("unix:/tmp/socket", None),
        ("ipv4:nowhere:50", None),
        ("", None),
    ],
)
def test_a_peer_is_a_host_and_a_port(peer: str, address: tuple[str, int] | None) -> None:
    assert address_of(peer) == address


@pytest.mark.skipif(not hasattr(socket, "TCP_INFO"), reason="only Linux counts")
def test_bytes_are_counted_for_each_connection(pair: tuple[socket.socket, socket.socket, str]) -> None:
    client, accepted, peer = pair
    sockets = Sockets()
    client.sendall(bytes(1000))
    accepted.recv(1000, socket.MSG_WAITALL)
    assert sockets.received([peer, "ipv4:127.0.0.1:1"]) == {peer: 1000}
    client.sendall(bytes(500))
    accepted.recv(500, socket.MSG_WAITALL)
    assert sockets.received([peer]) == {peer: 1500}


def test_a_connection_is_closed_by_its_name(pair: tuple[socket.socket, socket.socket, str]) -> None:
    client, _, peer = pair
    before = sum(1 for _ in DESCRIPTORS.iterdir())
    assert Sockets().close(peer)
    assert client.recv(1) == b""
    assert sum(1 for _ in DESCRIPTORS.iterdir()) == before


def test_a_connection_that_is_gone_is_not_found(pair: tuple[socket.socket, socket.socket, str]) -> None:
    client, accepted, peer = pair
    sockets = Sockets()
    sockets.received([peer])
    client.close()
    accepted.close()
    assert sockets.received([peer]) == {}
    assert not sockets.close(peer)
