"""Connections that are held back before they are accepted."""

import socket
import sys

import pytest

from quizglass_server.rpc.transport.listeners import MOST, Listeners

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds connections back")


@pytest.fixture
def listening():
    """A socket that listens for IPv4 and IPv6 alike, as gRPC's does on ::."""
    with socket.socket(socket.AF_INET6) as made:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        try:
            made.bind(("::", 0))
        except OSError:
            pytest.skip("there is no IPv6 here")
        made.listen()
        yield made


def comes_in(listening, source):
    """Whether a connection from an address is accepted."""
    family, target = (socket.AF_INET6, "::1") if ":" in source else (socket.AF_INET, "127.0.0.1")
    with socket.socket(family) as client:
        client.settimeout(0.2)
        client.bind((source, 0))
        try:
            client.connect((target, listening.getsockname()[1]))
        except TimeoutError:
            return False
    listening.accept()[0].close()
    return True


@pytest.mark.parametrize(
    ("held", "out"),
    [
        (["127.0.0.2"], {"127.0.0.2"}),
        (["127.0.0.3", "2001:db8::/64", "127.0.0.2"], {"127.0.0.2", "127.0.0.3"}),
        (["2001:db8::/64", "::/64"], {"::1"}),
        (["127.0.0.4", "::/64"], {"::1"}),
        ([f"10.0.0.{last}" for last in range(MOST - 1)] + ["127.0.0.2"], {"127.0.0.2"}),
        ([f"2001:db8:{last:x}::/64" for last in range(MOST - 2)] + ["::/64", "127.0.0.2"], {"127.0.0.2", "::1"}),
        ([f"10.0.0.{last}" for last in range(MOST)] + ["127.0.0.2"], set()),
        ([], set()),
    ],
)
def test_addresses_that_are_held_back_do_not_come_in_and_all_others_do(listening, held, out):
    listeners = Listeners(listening.getsockname()[1])
    listeners.hold_back(held)
    sources = {"127.0.0.1", "127.0.0.2", "127.0.0.3", "::1"}
    assert {source for source in sources if not comes_in(listening, source)} == out
    listeners.hold_back([])
    assert all(comes_in(listening, source) for source in sources)


def test_a_connection_that_is_open_goes_on(listening):
    port = listening.getsockname()[1]
    with socket.create_connection(("127.0.0.1", port)) as client, listening.accept()[0] as accepted:
        listeners = Listeners(port)
        listeners.hold_back(["127.0.0.1"])
        client.sendall(b"x")
        assert accepted.recv(1) == b"x"
        listeners.hold_back([])


def test_another_port_is_left_alone(listening):
    with socket.create_server(("127.0.0.1", 0)) as other:
        listeners = Listeners(other.getsockname()[1])
        listeners.hold_back(["127.0.0.1"])
        assert comes_in(listening, "127.0.0.1")
        assert not comes_in(other, "127.0.0.1")
