"""Who asks: the address of a connection, or the one for which a trusted proxy says that it asks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address, ip_network

from quizglass_server.rpc.transport.sockets import address_of
from quizglass_server.scheduling.clients import Client, address_group

FORWARDED = "x-forwarded-for"
"""The header, or key of metadata, to which every proxy on the way adds whom it was asked by. `Forwarded` is not read:
where a proxy writes one of the two, the other is whatever its client sent."""


class Proxies:
    """Tells clients apart.

    Args:
        trusted: addresses and networks of proxies that are believed.
    """

    def __init__(self, trusted: Iterable[str] = ()) -> None:
        self._trusted = [ip_network(each) for each in trusted]

    def of_peer(self, peer: str, forwarded: Iterable[str] = ()) -> Client:
        """The client of a call, by its peer as gRPC names it ("ipv4:127.0.0.1:50123") and the header's values."""
        return self.client(_host(peer), peer, forwarded)

    def client(self, host: str, connection: str, forwarded: Iterable[str] = ()) -> Client:
        """The client of a request.

        Args:
            host: that its connection comes from.
            connection: name of that connection.
            forwarded: values of the header, in their order. Read only where `host` is trusted.
        """
        asking = host
        if self.trusts(host):
            # Each proxy adds at the end: what stands before the first address that is no proxy's may be invented.
            for named in reversed(",".join(forwarded).split(",")):
                said = _address(named.strip())
                if said is None:
                    break
                asking = said
                if not self.trusts(said):
                    break
        return Client(address_group(asking), connection)

    def trusts(self, host: str) -> bool:
        """Whether a host is a proxy that is believed."""
        if not self._trusted or (address := _address(host)) is None:
            return False
        parsed = ip_address(address)
        return any(parsed in network for network in self._trusted)


@lru_cache(4096)
def _host(peer: str) -> str:
    address = address_of(peer)
    return address[0] if address else peer.partition(":")[0] or "unknown"


def _address(named: str) -> str | None:
    """The address in a part of the header, which may have a port: 192.0.2.7:80, [2001:db8::1]:80. None: it is none."""
    if named.startswith("["):
        named = named[1:].partition("]")[0]
    elif named.count(":") == 1:
        named = named.partition(":")[0]
    try:
        address = ip_address(named)
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)
