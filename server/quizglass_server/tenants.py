"""What is open for each tenant: opened by the first call that needs it, closed when idle and others need its place."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import Context
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import Generic, TypeVar

from quizglass_server.errors import KnowledgeFailed, Overloaded, QuizglassError, Stopping
from quizglass_server.network.login import current_login

Opened = TypeVar("Opened")
_STAY_TIMES = 10
"""A tenant stays open for so many times as long as opening it took: stores that are opened and closed at every call
would keep the machine busy and serve none of those who take turns."""
_PATIENCE_S, _LEAST_RETRY_S = 5.0, 1.0
logger = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class _Tenant(Generic[Opened]):
    opened: asyncio.Future[Opened]
    leave: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it is to be closed."""
    uses: int = 0
    """Calls that use it or wait for it."""
    task: asyncio.Task[None] = field(init=False)
    """Opens it, holds it open, and closes it."""
    stays_until: float = inf
    """Monotonic seconds until when it makes no room for another."""


class Tenants(Generic[Opened]):
    """What calls find for their tenants. Two tenants never get the same, and none gets the server's own.

    Args:
        own: what the server's own tenant has, which is always open.
        opening: opens a tenant's; None: there are no tenants.
        most: how many are open at once, beside the server's own.
        in_use: whether a tenant's is in use although no call is.
    """

    def __init__(
        self,
        own: Opened,
        opening: Callable[[str], AbstractAsyncContextManager[Opened]] | None = None,
        most: int = 1,
        in_use: Callable[[Opened], bool] = lambda _: False,
    ) -> None:
        self.own = own
        self._opening = opening
        self._most = most
        self._in_use = in_use
        self._tenants: OrderedDict[str, _Tenant[Opened]] = OrderedDict()
        """The one that was used least lately first."""
        self._closed = False

    @asynccontextmanager
    async def entered(self) -> AsyncIterator[Opened]:
        """What the tenant of the current caller has, which stays open for the block.

        Raises:
            Overloaded: too many tenants are in use, or were opened a moment ago.
            KnowledgeFailed: it cannot be opened.
            Stopping: nothing more is opened.
        """
        name = current_login().tenant
        if not name:
            yield self.own
            return
        tenant = await self._tenant(name)
        tenant.uses += 1
        try:
            yield await asyncio.shield(tenant.opened)
        finally:
            tenant.uses -= 1

    def every(self) -> Iterator[Opened]:
        """All that is open, the server's own first."""
        yield self.own
        for tenant in tuple(self._tenants.values()):
            if tenant.opened.done() and not tenant.opened.cancelled() and tenant.opened.exception() is None:
                yield tenant.opened.result()

    async def close(self) -> None:
        """Close all tenants, and open no more."""
        self._closed = True
        for tenant in self._tenants.values():
            tenant.leave.set()
        if tasks := [tenant.task for tenant in self._tenants.values()]:
            await asyncio.wait(tasks)

    async def _tenant(self, name: str) -> _Tenant[Opened]:
        """A tenant that is open, or being opened."""
        patient_until = monotonic() + _PATIENCE_S
        while True:
            if self._closed:
                raise Stopping
            tenant = self._tenants.get(name)
            if tenant is not None and not tenant.leave.is_set():
                self._tenants.move_to_end(name)
                return tenant
            if tenant is None and len(self._tenants) < self._most:
                return self._begin(name)
            leaving = tenant or self._leaving()
            if leaving is None:
                raise _too_many(_LEAST_RETRY_S)
            wait_s = 0.0 if leaving.leave.is_set() else leaving.stays_until - monotonic()
            if monotonic() + wait_s > patient_until:
                raise _too_many(wait_s)
            if wait_s > 0:
                await asyncio.sleep(wait_s)
            else:
                leaving.leave.set()
                await asyncio.wait({leaving.task})

    def _leaving(self) -> _Tenant[Opened] | None:
        """The tenant that makes room for another, now or soon: the one that was used least lately of those that may,
        or else the one that may first. None: all are in use.
        """
        for tenant in self._tenants.values():
            if tenant.leave.is_set():
                return tenant
        now = monotonic()
        idle = (tenant for tenant in self._tenants.values() if self._is_idle(tenant))
        return min(idle, key=lambda tenant: max(tenant.stays_until, now), default=None)

    def _is_idle(self, tenant: _Tenant[Opened]) -> bool:
        return not tenant.uses and tenant.opened.done() and not self._in_use(tenant.opened.result())

    def _begin(self, name: str) -> _Tenant[Opened]:
        tenant = self._tenants[name] = _Tenant[Opened](asyncio.get_running_loop().create_future())
        # In a context of its own: what it does later is nothing of the call that came first.
        tenant.task = asyncio.create_task(self._hold(name, tenant), name=f"tenant {name}", context=Context())
        return tenant

    async def _hold(self, name: str, tenant: _Tenant[Opened]) -> None:
        assert self._opening is not None, "no token names a tenant where there are none"
        began = monotonic()
        try:
            async with self._opening(name) as opened:
                tenant.stays_until = monotonic() + _STAY_TIMES * (monotonic() - began)
                tenant.opened.set_result(opened)
                await tenant.leave.wait()
        except Exception as error:
            why = error.message if isinstance(error, QuizglassError) else ""
            logger.error("a tenant's stores failed", extra={"tenant": name, "why": why}, exc_info=not why)
            if not tenant.opened.done():
                told = "the stores of this token's tenant cannot be opened; the server's log says why"
                tenant.opened.set_exception(KnowledgeFailed(told))
                tenant.opened.exception()  # seen, be it that no call waits any more
        finally:
            del self._tenants[name]


def _too_many(wait_s: float) -> Overloaded:
    told = "too many tenants are in use at once for the server's setting max_tenants; try again later"
    refusal = Overloaded(told, max(wait_s, _LEAST_RETRY_S))
    refusal.metadata = {"setting": "max_tenants"}
    return refusal
