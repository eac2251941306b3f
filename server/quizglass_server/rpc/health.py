"""Says in the standard health service which roles can do their work right now.

The server as a whole (the empty name) and its public services are SERVING while requests are welcome, whatever
happens to a model: lookups and everything else that needs no generator go on without one. Each role of the bundle has
a name of its own, `quizglass.<role>`, that follows its model, and so has the knowledge: `quizglass.knowledge` for
lookups, and `quizglass.knowledge.writes` for imports and deletions.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable
from typing import Protocol

from grpc_health.v1 import health, health_pb2

from quizglass_server.knowledge.interface import KnowledgeStore


class Role(Protocol):
    """A role and whether what fills it is ready."""

    @property
    def role(self) -> str:
        """The role's name, as in the manifest."""
        ...

    @property
    def ready(self) -> bool:
        """Right now."""
        ...


class RoleStatuses(Protocol):
    """The roles of a bundle."""

    def statuses(self) -> Iterable[Role]:
        """Every role that the bundle fills."""
        ...

    def on_change(self, told: Callable[[], None]) -> None:
        """Have `told` called whenever a role may have become ready or not."""
        ...


class KnowledgeRole:
    """The knowledge store, as a role."""

    role = "knowledge"

    def __init__(self, store: KnowledgeStore) -> None:
        self._store = store

    @property
    def ready(self) -> bool:
        """Whether the store answers."""
        return self._store.ready

    def statuses(self) -> Iterable[Role]:
        """Itself, and that it can be written."""
        return (self, _Writes(self._store))

    def on_change(self, told: Callable[[], None]) -> None:
        """Have `told` called when the store may answer again or no longer."""
        self._store.on_change(told)


class _Writes:
    """That the knowledge store can be written, as a role."""

    role = "knowledge.writes"

    def __init__(self, store: KnowledgeStore) -> None:
        self._store = store

    @property
    def ready(self) -> bool:
        """Whether it can be written."""
        return self._store.writable


def service_name(role: str) -> str:
    """The name under which the health service reports a role."""
    return f"quizglass.{role}"


class RoleHealth:
    """Keeps the health service's word on each role up to date."""

    def __init__(self, servicer: health.aio.HealthServicer, *roles: RoleStatuses) -> None:
        self._servicer = servicer
        self._roles = roles
        self._changed = asyncio.Event()
        self._following: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Say how the roles are, and follow them."""
        for roles in self._roles:
            roles.on_change(self._changed.set)
        await self._tell()
        self._following = asyncio.create_task(self._follow(), name="health of the roles")

    async def stop(self) -> None:
        """Follow no longer."""
        for roles in self._roles:
            roles.on_change(lambda: None)
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
        for each in itertools.chain.from_iterable(roles.statuses() for roles in self._roles):
            serving = status.SERVING if each.ready else status.NOT_SERVING
            await self._servicer.set(service_name(each.role), serving)
