"""Says in the standard health service which roles can do their work right now.

The server as a whole (the empty name) and its public services are SERVING while requests are welcome, whatever
happens to a model: lookups and everything else that needs no generator go on without one. Each role of the bundle has
a name of its own, `quizglass.<role>`, that follows its model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

from grpc_health.v1 import health, health_pb2


class Role(Protocol):
    """A role and whether its model is ready."""

    @property
    def role(self) -> str:
        """As in the manifest."""
        ...

    @property
    def ready(self) -> bool:
        """Right now."""
        ...


class Roles(Protocol):
    """The roles of a bundle."""

    def statuses(self) -> Iterable[Role]:
        """Every role that the bundle fills."""
        ...

    def on_change(self, told: Callable[[], None]) -> None:
        """Have `told` called whenever a role may have become ready or not."""
        ...


def service_name(role: str) -> str:
    """Of a role in the health service."""
    return f"quizglass.{role}"


class RoleHealth:
    """Keeps the health service's word on each role up to date."""

    def __init__(self, servicer: health.aio.HealthServicer, roles: Roles) -> None:
        self._servicer = servicer
        self._roles = roles
        self._changed = asyncio.Event()
        self._following: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Say how the roles are, and follow them."""
        self._roles.on_change(self._changed.set)
        await self._tell()
        self._following = asyncio.create_task(self._follow(), name="health of the roles")

    async def stop(self) -> None:
        """Follow no longer."""
        self._roles.on_change(lambda: None)
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
        for each in self._roles.statuses():
            serving = status.SERVING if each.ready else status.NOT_SERVING
            await self._servicer.set(service_name(each.role), serving)
