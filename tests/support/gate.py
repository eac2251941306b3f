"""Something that a test holds shut."""

from __future__ import annotations

import asyncio


class Gate:
    """Something to wait for, and to know that it is being waited for."""

    def __init__(self) -> None:
        self.reached, self.open = asyncio.Event(), asyncio.Event()

    async def __call__(self) -> None:
        self.reached.set()
        await self.open.wait()
