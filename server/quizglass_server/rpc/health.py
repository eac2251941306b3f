"""Says in the standard health service which roles can do their work right now.

The server as a whole (the empty name) and its public services are SERVING while requests are welcome, whatever
happens to a model: lookups and everything else that needs no generator go on without one. Each role of the bundle has
a name of its own, `quizglass.<role>`, that follows its model, and so has the knowledge: `quizglass.knowledge` for
lookups, and `quizglass.knowledge.writes` for imports and deletions.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from grpc_health.v1 import health, health_pb2

from quizglass_server.knowledge.interface import KnowledgeStore

if TYPE_CHECKING:
    from quizglass_server.roles.load import LoadedModels  # would load every engine


class RoleHealth:
    """Keeps the health service's word on each role and on the knowledge up to date."""

    def __init__(self, servicer: health.aio.HealthServicer, models: LoadedModels, knowledge: KnowledgeStore) -> None:
        self._servicer = servicer
        self._models = models
        self._knowledge = knowledge
        self._changed = asyncio.Event()
        self._following: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Say how the roles are, and follow them."""
        self._models.on_change(self._changed.set)
        self._knowledge.on_change(self._changed.set)
        await self._tell()
        self._following = asyncio.create_task(self._follow(), name="health of the roles")

    async def stop(self) -> None:
        """Follow no longer."""
        self._models.on_change(lambda: None)
        self._knowledge.on_change(lambda: None)
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait({self._following})

    async def _follow(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            await self._tell()

    async def _tell(self) -> None:
        status = health_pb2.HealthCheckResponse
        writes = {"knowledge.writes": self._knowledge.writable}
        for role, ready in (self.ready() | writes).items():
            await self._servicer.set(f"quizglass.{role}", status.SERVING if ready else status.NOT_SERVING)

    def ready(self) -> dict[str, bool]:
        """Whether each role, the knowledge among them, can answer right now."""
        roles = {each.role: each.ready for each in self._models.statuses()}
        return roles | {"knowledge": self._knowledge.ready}
