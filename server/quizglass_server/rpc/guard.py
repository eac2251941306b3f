"""Turns what a handler raises into a status, once, and lets cancellation through."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc

from quizglass_server.errors import QuizglassError
from quizglass_server.rpc.status import to_status, unexpected

Context = grpc.aio.ServicerContext[Any, Any]


@asynccontextmanager
async def guarded(context: Context, method: str) -> AsyncIterator[None]:
    """Run a handler's body; domain errors become their status, anything else INTERNAL without its text.

    CancelledError passes through untouched: a handler that swallows it leaks native memory (grpc#43360).
    """
    try:
        yield
    except QuizglassError as error:
        await context.abort_with_status(to_status(error))
    except (grpc.aio.AbortError, grpc.aio.BaseError):
        raise
    except Exception as error:
        await context.abort_with_status(unexpected(error, method))
