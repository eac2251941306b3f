"""Closes streams of models for sure: an abandoned stream must stop its engine now, not when memory is collected."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

_Item = TypeVar("_Item")


@asynccontextmanager
async def closing(items: AsyncIterator[_Item]) -> AsyncGenerator[AsyncIterator[_Item], None]:
    """Hand out an iterator and close it at the end, where it can be closed."""
    try:
        yield items
    finally:
        if isinstance(items, AsyncGenerator):
            await items.aclose()
