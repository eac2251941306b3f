"""Streams that run before anybody asks for their first item."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from quizglass_server.steps.streams import under_way


class Source:
    """Two items; knows how far it has come."""

    def __init__(self, error: Exception | None = None) -> None:
        self.told: list[str] = []
        self._error = error

    async def items(self) -> AsyncGenerator[int, None]:
        self.told.append("begun")
        try:
            if self._error is not None:
                raise self._error
            yield 1
            await asyncio.sleep(0)
            yield 2
            self.told.append("through")
        finally:
            self.told.append("closed")


async def test_a_stream_is_under_way_before_its_first_item_is_asked_for() -> None:
    source = Source()
    async with under_way(source.items()) as items:
        await asyncio.sleep(0)
        assert source.told == ["begun"]
        assert [item async for item in items] == [1, 2]
    assert source.told == ["begun", "through", "closed"]


async def test_a_stream_that_nobody_reads_is_closed() -> None:
    source = Source()
    async with under_way(source.items()):
        await asyncio.sleep(0)
    assert source.told == ["begun", "closed"]
    early = Source()
    async with under_way(early.items()):
        pass
    assert "through" not in early.told


async def test_an_error_comes_with_the_first_item() -> None:
    async with under_way(Source(ValueError("no")).items()) as items:
        with pytest.raises(ValueError, match="no"):
            await anext(items)
