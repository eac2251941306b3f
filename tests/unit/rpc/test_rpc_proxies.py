"""Who asks, by the address of a connection and what a proxy says of it."""

import pytest

from quizglass_server.rpc.transport.proxies import Proxies
from quizglass_server.scheduling.clients import Client

TRUSTED = ("10.0.0.0/8", "127.0.0.1/32", "::1/128")


@pytest.mark.parametrize(
    ("host", "forwarded", "address"),
    [
        ("192.0.2.7", ["203.0.113.1"], "192.0.2.7"),  # no proxy
        ("127.0.0.1", ["203.0.113.1"], "203.0.113.1"),
        ("127.0.0.1", ["198.51.100.1, 203.0.113.1"], "203.0.113.1"),  # the first is the client's own word
        ("127.0.0.1", ["198.51.100.1", "203.0.113.1"], "203.0.113.1"),  # in headers of their own
        ("127.0.0.1", ["203.0.113.1, 10.0.0.5"], "203.0.113.1"),  # two proxies
        ("127.0.0.1", ["10.0.0.9, 203.0.113.1, 10.0.0.5"], "203.0.113.1"),
        ("127.0.0.1", ["10.0.0.9"], "10.0.0.9"),
        ("127.0.0.1", ["203.0.113.1:4711"], "203.0.113.1"),
        ("::1", ["[2001:db8::1]:4711"], "2001:db8::/64"),
        ("::1", ["2001:db8::1"], "2001:db8::/64"),
        ("127.0.0.1", ["203.0.113.1, unknown"], "127.0.0.1"),
        ("127.0.0.1", ["unknown, 10.0.0.5"], "10.0.0.5"),
        ("127.0.0.1", [""], "127.0.0.1"),
        ("127.0.0.1", [], "127.0.0.1"),
        ("unix", ["203.0.113.1"], "unix"),
    ],
)
def test_a_client_is_whom_the_last_trusted_proxy_was_asked_by(host, forwarded, address):
    assert Proxies(TRUSTED).client(host, "c", forwarded) == Client(address, "c")


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("ipv4:192.0.2.7:50", "192.0.2.7"),
        ("ipv6:%5B2001:db8::1%5D:50", "2001:db8::/64"),
        ("unix:/run/socket", "unix"),
        ("", "unknown"),
    ],
)
def test_a_peer_of_grpc_has_the_address_of_its_host(peer, address):
    assert Proxies().of_peer(peer, ["203.0.113.1"]) == Client(address, peer)
