"""One connection to a Wyoming server, whose events are bounded before they are read."""

from __future__ import annotations

import asyncio
from typing import cast

from wyoming.event import Event, async_read_event, async_write_event

from quizglass.text import plain
from quizglass_server.engines.generator.connection import Address
from quizglass_server.errors import EngineFailed, EngineLost

CONNECT_S = 5.0
"""Seconds that a server may take to accept a connection."""
_MOST_EVENT = 8 << 20
"""Bytes of an event's data or payload: three minutes of sound at 22,050 Hz."""
_MOST_SHOWN = 200


class Link:
    """A connection.

    Args:
        reader: what the server sends.
        writer: what it is sent.
        name: of the server, for errors.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, name: str) -> None:
        self._reader = reader
        self._bounded = cast(asyncio.StreamReader, _BoundedReader(reader))
        self._writer = writer
        self._name = name

    async def send(self, event: Event, patience_s: float) -> None:
        """Send an event. Raises EngineLost: the server is gone, or takes nothing for so long."""
        try:
            async with asyncio.timeout(patience_s):
                await async_write_event(event, self._writer)
        except TimeoutError:
            raise EngineLost(f"{self._name} took nothing for {patience_s:g} s") from None
        except OSError as error:
            raise EngineLost(f"{self._name} closed the connection: {error.strerror or error}") from None

    async def receive(self, patience_s: float | None = None) -> Event:
        """The next event.

        Raises:
            EngineLost: the server is gone, or sends nothing for so long.
            EngineFailed: what it sent is no event, or too large, or tells of a failure.
        """
        try:
            async with asyncio.timeout(patience_s):
                event = await async_read_event(self._bounded)
        except TimeoutError:
            raise self.silence(patience_s or 0.0) from None
        except _TooLarge as error:
            raise EngineFailed(
                f"{self._name} sent an event of {error} bytes; {_MOST_EVENT} at most are taken"
            ) from None
        except (asyncio.IncompleteReadError, OSError):
            raise EngineLost(f"{self._name} closed the connection in the middle of an event") from None
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            event = None
        if event is None:
            if self._reader.at_eof():
                raise EngineLost(f"{self._name} closed the connection")
            raise EngineFailed(f"{self._name} sent what is no event of the Wyoming protocol")
        if not isinstance(event.type, str) or not isinstance(event.data, dict):
            raise EngineFailed(f"{self._name} sent what is no event of the Wyoming protocol")
        if event.type == "error":
            told = plain(str(event.data.get("text", "")))[:_MOST_SHOWN]
            raise EngineFailed(f"{self._name} failed: {told or 'it does not say why'}")
        return event

    def silence(self, patience_s: float) -> EngineLost:
        """What is raised where the server has sent nothing for so long."""
        return EngineLost(f"{self._name} sent nothing for {patience_s:g} s")

    def close(self) -> None:
        """End the connection now."""
        self._writer.transport.abort()


async def opened(address: Address, name: str) -> Link:
    """A connection to a server. Raises EngineLost: it cannot be reached."""
    try:
        async with asyncio.timeout(CONNECT_S):
            return Link(*await address.opened(), name)
    except TimeoutError:
        raise EngineLost(f"{name} does not accept a connection within {CONNECT_S:g} s") from None
    except OSError as error:
        raise EngineLost(f"{name} cannot be reached: {error.strerror or error}") from None


class _TooLarge(Exception):
    """An event announces more than is taken."""


class _BoundedReader:
    """What `async_read_event` needs of a reader. A line is bounded by the reader's own limit."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    async def readline(self) -> bytes:
        """A line; ValueError where it is longer than the reader's limit."""
        return await self._reader.readline()

    async def readexactly(self, size: int) -> bytes:
        """So many bytes, but no more than an event may have."""
        if size > _MOST_EVENT:
            raise _TooLarge(size)
        return await self._reader.readexactly(size)
