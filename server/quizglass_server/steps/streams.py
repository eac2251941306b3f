"""Streams of the generator: closed for sure, and begun again with less dialogue when the prompt is too long.

An abandoned stream must stop its engine now, not when memory is collected.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeVar

from quizglass_server.domain.turns import GenerationEnd, Token
from quizglass_server.errors import InvalidInput
from quizglass_server.roles.generator import GenerationRequest, Generator

_Item = TypeVar("_Item")


@asynccontextmanager
async def closing(items: AsyncIterator[_Item]) -> AsyncGenerator[AsyncIterator[_Item], None]:
    """Hand out an iterator and close it at the end, where it can be closed."""
    try:
        yield items
    finally:
        if isinstance(items, AsyncGenerator):
            await items.aclose()


async def complete(
    generator: Generator, request: GenerationRequest, shortened: Callable[[int], None] = lambda _: None
) -> AsyncGenerator[Token | GenerationEnd, None]:
    """Stream a completion. A prompt too long for the model loses its older dialogue, never question or evidence.

    Args:
        generator: what completes.
        request: the whole of it.
        shortened: told how many exchanges were left out, before the first token of a prompt without them.

    Raises:
        InvalidInput: it is too long even so.
    """
    refusal: InvalidInput | None = None
    for attempt, left_out in shorter(request):
        begun = False
        try:
            async with closing(generator.generate(attempt)) as pieces:
                async for piece in pieces:
                    if left_out and not begun:
                        shortened(left_out)
                    begun = True
                    yield piece
            return
        except InvalidInput as error:
            if begun:
                raise
            refusal = error
    if refusal is not None:
        raise refusal


def shorter(request: GenerationRequest) -> Iterator[tuple[GenerationRequest, int]]:
    """The request as it is, then with the last exchange only, then without dialogue; with how much is left out."""
    yield request, 0
    history = request.values.get("history")
    if isinstance(history, list):
        for kept in (1, 0):
            if len(history) > kept:
                left_out = len(history) - kept
                yield replace(request, values={**request.values, "history": history[left_out:]}), left_out
