"""Who calls, and whether there is room for one more call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from quizglass_server.rpc.transport.connections import Connections
from quizglass_server.rpc.transport.guard import Context
from quizglass_server.rpc.transport.proxies import FORWARDED, Proxies
from quizglass_server.scheduling.clients import asked_by
from quizglass_server.scheduling.places import Places

MAX_CALLS = 2048
"""Under way at once, over all connections."""


class Callers:
    """Tells calls' clients apart and counts them.

    Args:
        proxies: says who they are.
        connections: counts what calls come over.
    """

    def __init__(self, proxies: Proxies, connections: Connections) -> None:
        self._proxies = proxies
        self._connections = connections
        self._places = Places(MAX_CALLS, "calls")

    @contextmanager
    def calling(self, context: Context) -> Iterator[None]:
        """Do the block's work for the client of a call.

        Raises:
            Overloaded: its address, or all together, have too many calls or connections.
        """
        peer = context.peer()
        told = (str(value) for key, value in context.invocation_metadata() or () if key == FORWARDED)
        client = self._proxies.of_peer(peer, told)
        with asked_by(client), self._connections.used(peer):
            place = self._places.take(client)
            try:
                yield
            finally:
                place.release()
