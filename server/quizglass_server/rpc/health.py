"""Says in the standard health service what a server can do right now.

The server as a whole (the empty name) and its public services are SERVING while requests are welcome, whatever
happens to a model: lookups and everything else that needs no generator go on without one. Each role of the bundle has
a name of its own, `quizglass.<role>`, that follows its model, and so has the knowledge: `quizglass.knowledge` for
lookups, and `quizglass.knowledge.writes` for imports and deletions. `quizglass.ready` is SERVING while requests are
welcome and every role and the knowledge can answer them; `quizglass.live` as long as the process answers at all, also
while it stops.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from grpc_health.v1 import health, health_pb2

from quizglass_server.knowledge.interface import KnowledgeStore

if TYPE_CHECKING:
    from quizglass_server.roles.load import LoadedModels  # would load every engine

LIVE, READY = "quizglass.live", "quizglass.ready"


class Health:
    """Keeps the health service's word up to date.

    Args:
        servicer: the standard service.
        services: full names of the public services.
        models: whose roles are followed.
        knowledge: followed as well.
    """

    def __init__(
        self,
        servicer: health.aio.HealthServicer,
        services: Sequence[str],
        models: LoadedModels,
        knowledge: KnowledgeStore,
    ) -> None:
        self._servicer = servicer
        self._services = ("", *services)
        self._models = models
        self._knowledge = knowledge
        self._welcome = False
        self._changed = asyncio.Event()
        self._following: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Say how everything is, and follow it."""
        self._models.on_change(self._changed.set)
        self._knowledge.on_change(self._changed.set)
        await self._set(LIVE, serving=True)
        await self._tell_roles()
        self._following = asyncio.create_task(self._follow(), name="health of the roles")

    async def set_serving(self, serving: bool) -> None:
        """Say whether requests are welcome."""
        self._welcome = serving
        for name in self._services:
            await self._set(name, serving)
        await self._set(READY, self._welcome and all(self.ready().values()))

    async def withdraw(self) -> None:
        """Say NOT_SERVING for good, under every name but that of the process."""
        self._models.on_change(lambda: None)
        self._knowledge.on_change(lambda: None)
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait({self._following})
        await self.set_serving(False)
        for role in self._roles():
            await self._set(role, serving=False)

    def ready(self) -> dict[str, bool]:
        """Whether each role, the knowledge among them, can answer right now."""
        roles = {each.role: each.ready for each in self._models.statuses()}
        return roles | {"knowledge": self._knowledge.ready}

    async def _follow(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            await self._tell_roles()

    async def _tell_roles(self) -> None:
        for role, ready in self._roles().items():
            await self._set(role, ready)
        await self._set(READY, self._welcome and all(self.ready().values()))

    def _roles(self) -> dict[str, bool]:
        every = self.ready() | {"knowledge.writes": self._knowledge.writable}
        return {f"quizglass.{role}": ready for role, ready in every.items()}

    async def _set(self, name: str, serving: bool) -> None:
        status = health_pb2.HealthCheckResponse
        await self._servicer.set(name, status.SERVING if serving else status.NOT_SERVING)
