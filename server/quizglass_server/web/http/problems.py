"""Errors as OpenAI's clients read them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from quizglass_server.errors import InvalidInput, QuizglassError, RoleMissing
from quizglass_server.rpc.transport.status import http_status
from quizglass_server.web.http.asgi import Send, respond_json

_USUAL_WAIT_S = 1.0
"""Retry delay for what is temporarily unavailable, where no better estimate is known."""
_KINDS = {HTTPStatus.TOO_MANY_REQUESTS: "rate_limit_error"}


def problem(error: QuizglassError, places: Mapping[str, str]) -> dict[str, Any]:
    """An error in OpenAI's form.

    Args:
        error: what went wrong.
        places: where fields of a question came from in the body, for `param`.
    """
    message, param, code, status = error.message, None, error.code.lower(), http_status(error)
    if isinstance(error, InvalidInput):
        param = places.get(error.field, error.field)
        message = f"{param}: {error.description}"
        code = "model_not_found" if error.field == "policy" else code
    elif isinstance(error, RoleMissing) and error.field:
        param = places.get(error.field, error.field)
        message = f"{param}: {message}"
    return {"error": {"message": message, "type": kind_of(status), "param": param, "code": code}}


def kind_of(status: int) -> str:
    """What OpenAI's API calls errors of a status."""
    server = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return _KINDS.get(HTTPStatus(status), "server_error" if server else "invalid_request_error")


async def respond_problem(send: Send, error: QuizglassError, places: Mapping[str, str]) -> None:
    """Tell a client of an error before anything else was sent."""
    content = problem(error, places)
    missing = content["error"]["code"] == "model_not_found"
    status = 404 if missing else http_status(error)
    wait = error.retry_after_s
    if wait is None and status == HTTPStatus.SERVICE_UNAVAILABLE:
        wait = _USUAL_WAIT_S
    headers = [] if wait is None else [(b"retry-after", str(math.ceil(wait)).encode())]
    await respond_json(send, status, content, headers)
