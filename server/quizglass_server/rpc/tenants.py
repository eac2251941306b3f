"""A service for several tenants: each call is answered by the servicer of its caller's tenant."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor

from quizglass_server.assistant.asking import Asking
from quizglass_server.errors import QuizglassError
from quizglass_server.observe import metrics
from quizglass_server.rpc.transport.guard import Context
from quizglass_server.rpc.transport.status import to_status
from quizglass_server.session.directory import SessionDirectory
from quizglass_server.tenants import Tenants


@dataclass(frozen=True, slots=True)
class Answering:
    """What answers the calls of one tenant, over stores that no other tenant reaches."""

    asking: Asking
    sessions: SessionDirectory
    servicers: Mapping[str, Any]
    """By the full names of their services."""


def by_tenant(service: ServiceDescriptor, tenants: Tenants[Answering]) -> Any:
    """A servicer of a service that hands each call to the one of its caller's tenant."""
    methods = {method.name: _handed_on(method, tenants) for method in service.methods}
    return type(f"{service.name}ByTenant", (), {name: staticmethod(method) for name, method in methods.items()})()


@asynccontextmanager
async def _entered(tenants: Tenants[Answering], context: Context) -> AsyncIterator[Answering]:
    """What answers the caller's tenant; the call ends with an error where that cannot be had."""
    async with AsyncExitStack() as stack:
        try:
            answering = await stack.enter_async_context(tenants.entered())
        except QuizglassError as error:
            metrics.REFUSALS.add(error.code)
            await context.abort_with_status(to_status(error))
        yield answering


def _handed_on(method: MethodDescriptor, tenants: Tenants[Answering]) -> Any:
    service, name = method.containing_service.full_name, method.name

    async def one(request: Any, context: Context) -> Any:
        async with _entered(tenants, context) as answering:
            calling = getattr(answering.servicers[service], name)(request, context)
            del request  # it may be large
            return await calling

    async def many(request: Any, context: Context) -> AsyncGenerator[Any, None]:
        async with _entered(tenants, context) as answering, AsyncExitStack() as closing:
            calling = aclosing(getattr(answering.servicers[service], name)(request, context))
            del request
            async for response in await closing.enter_async_context(calling):
                yield response

    return many if method.server_streaming else one
