"""What llama-server sends back, checked and as this project's types: tokens, costs and failures.

The shapes are those of its `/completion` (llama.cpp, tools/server/README.md).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NoReturn

from quizglass_server.engines.generator.prompt import ConstraintUnusable, Piece, PromptRefused, Usage
from quizglass_server.errors import EngineFailed, EngineLost

GARBAGE = "the generator failed: what it sends is no answer"
_MOST_MESSAGE = 500
_FULL = "Context size has been exceeded"
"""What llama-server ends all requests with when they need more cells together than its cache has."""
Json = Mapping[str, Any]


class MemoryFull(EngineFailed):
    """Requests needed more of the cache together than there is; all of them were ended."""


def piece_of(event: Json) -> Piece | None:
    """The token that an event brings; None: it brings none."""
    try:
        for token in event.get("completion_probabilities") or ():
            return Piece(str(event.get("content", "")), min(1.0, math.exp(float(token["logprob"]))))
    except (TypeError, ValueError, LookupError):
        raise EngineFailed(GARBAGE) from None
    return None


def log_probabilities(event: Json) -> dict[int, float]:
    """Logarithms of the probabilities of the likeliest tokens that an event brings, by token."""
    try:
        for token in event.get("completion_probabilities") or ():
            return {int(each["id"]): float(each["logprob"]) for each in token["top_logprobs"]}
    except (TypeError, ValueError, LookupError):
        raise EngineFailed(GARBAGE) from None
    return {}


def usage_of(event: Json) -> Usage:
    """What a request cost, as its last event says."""
    try:
        timings = event.get("timings") or {}
        spent_ms = float(timings.get("prompt_ms", 0)) + float(timings.get("predicted_ms", 0))
        reused = int(timings.get("cache_n", 0))
        # The token that ends an answer is none of it.
        written = int(event.get("tokens_predicted", 0)) - (event.get("stop_type") != "limit")
        return Usage(int(event.get("tokens_evaluated", 0)), reused, max(0, written), round(1e3 * spent_ms))
    except (TypeError, ValueError, AttributeError):
        raise EngineFailed(GARBAGE) from None


def parsed(text: bytes) -> Json:
    """A document or an event; raises EngineFailed where it is no JSON object."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise EngineFailed(GARBAGE)
    return found


def raise_failure(event: Json, status: int, *, constrained: bool) -> NoReturn:
    """Raise what llama-server reports as a failure.

    Args:
        event: with its `error`.
        status: of the response.
        constrained: whether the request had a grammar.
    """
    error = event.get("error")
    error = error if isinstance(error, dict) else {}
    message = str(error.get("message", f"status {status}"))[:_MOST_MESSAGE]
    code = error.get("code", status)
    if message.startswith(_FULL):
        raise MemoryFull("requests at once needed more memory than the generator has; ask again")
    if constrained and any(word in message for word in ("grammar", "sampler", "parse")):
        raise ConstraintUnusable(f"the grammar cannot be used: {message}")
    if code == HTTPStatus.BAD_REQUEST:
        raise PromptRefused(message)
    if code == HTTPStatus.SERVICE_UNAVAILABLE:
        raise EngineLost(f"the generator process is not ready: {message}")
    raise EngineFailed(f"the generator failed: {message}")
