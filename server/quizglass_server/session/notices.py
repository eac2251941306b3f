"""Failures as notices: the same reasons, fields and delays that a call would have ended with."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from dataclasses import replace

from quizglass.session import Notice
from quizglass_server.errors import InvalidInput, QuizglassError

log = logging.getLogger(__name__)

UNEXPECTED = "UNEXPECTED"
_INTERNAL = 13
"""google.rpc.Code of a failure that nobody foresaw."""


def described(about: Notice, error: Exception, status: Callable[[QuizglassError], int]) -> Notice:
    """A notice with what is wrong.

    Args:
        about: says what it is about.
        error: what is wrong. Of one that nobody foresaw, only the log has more than a name to find it by.
        status: the google.rpc.Code of an error.
    """
    if not isinstance(error, QuizglassError):
        incident = uuid.uuid4().hex[:12]
        log.error("unexpected failure", extra={"incident": incident, "rpc": about.message}, exc_info=error)
        text = f"internal error; the server's log has it as incident {incident}"
        return replace(about, status=_INTERNAL, reason=UNEXPECTED, text=text, metadata={"incident": incident})
    return replace(
        about,
        status=status(error),
        reason=error.code,
        text=error.message,
        metadata=error.metadata,
        field=error.field if isinstance(error, InvalidInput) else error.metadata.get("field", ""),
        retry_after=getattr(error, "retry_after_s", None) or 0.0,
    )
