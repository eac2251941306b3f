"""What a call can raise.

    ClientError                 base of all; `.reason`, `.metadata`, `.status`
    ├── ServerUnavailable       nothing answers there, or an engine is being restarted: try again soon
    ├── Overloaded              no room; `.retry_after` seconds from now there may be; None: waiting makes none
    ├── DeadlineExceeded        the time ran out before the server could say anything
    ├── Cancelled               the call was cancelled; by closing its client, or session, if `.reason` is CLOSED
    ├── Unauthenticated         the server asks for a token, and no valid one came
    ├── NotPermitted            the token does not allow the call
    ├── InvalidRequest          a field is wrong; `.field` names it
    ├── NotFound                something named does not exist
    ├── NotSupported            the server's bundle lacks what was asked for
    ├── SessionLost             a session could not be resumed, and a question was half answered
    └── ServerError             the server failed; `.metadata["incident"]` finds it in its log

Errors are distinguished by status and google.rpc.ErrorInfo, never by their text; only whether a failed call was begun,
or its channel was closed, is read from gRPC's own words, and words that are not known count as begun.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from quizglass.session import Notice

_STATUS_DETAILS = "grpc-status-details-bin"
_TURN = "quizglass-turn"
"""Key in the metadata that a server sends, before anything else, when it has received a question."""
_STOPPING = "STOPPING"
"""Reason of an UNAVAILABLE call whose work was not begun."""
_UNTAKEN = ("failed to connect to all addresses", "errors resolving ", "Cancelling all calls")
"""How gRPC's text begins for an UNAVAILABLE call that no handler had: no connection carried it, or a server that closes
says so of a call of which it had said nothing before. Where a connection was lost, the server may have had the call,
though its word of that never came; gRPC itself sends again what it knows that no server had."""
_UNREACHED = _UNTAKEN[:2]
"""How its text begins where nothing answers, or something else than gRPC."""
_OF_HTTP = "http1.x server"
"""Part of its text where HTTP answers."""
_DROPPED = "CANCELLED"
"""The whole text of a call that a stopping server dropped."""
_CLOSED = ("Cannot invoke RPC", "Channel is closed")
"""How gRPC's text begins for a call over a channel that was closed here before, blocking and asynchronous."""
_CLOSING = "Channel closed!"
"""Part of gRPC's text for a blocking call whose channel is closed here while it runs."""


class ClientError(Exception):
    """Base of everything a call raises."""

    def __init__(
        self, message: str, *, status: str = "", reason: str = "", metadata: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        """Name of the gRPC status."""
        self.reason = reason
        """Reason code of the server, e.g. INVALID_PICTURE; empty when the server sent none."""
        self.metadata = dict(metadata or {})
        self.begun = True
        """Whether the server may have begun to do what was asked."""


class ServerUnavailable(ClientError):
    """Nothing answers there, or an engine is being restarted or paused."""

    retry_after: float | None = None
    """Seconds after which the server tries a paused engine again; None when it did not say."""


class Overloaded(ClientError):
    """The server has no room now, or never has for this."""

    retry_after: float | None = None
    """Seconds after which there may be room; None when the server did not say, as for a request that is too large at
    any time, and for a full disk (reason DISK_FULL)."""


class DeadlineExceeded(ClientError):
    """The time ran out before the server could say anything."""


class Cancelled(ClientError):
    """The call was cancelled."""


class Unauthenticated(ClientError):
    """The server asks for a token, and none came or it is not valid (any more); `.metadata["why"]` says which."""


class NotPermitted(ClientError):
    """The token does not allow the call; `.metadata["needs"]` says what would."""


class InvalidRequest(ClientError):
    """A field of the request is wrong."""

    field: str = ""
    """Path of the field in the request, e.g. "frames[0].encoded"."""

    @classmethod
    def of(cls, field: str, message: str, reason: str = "INVALID_FIELD") -> InvalidRequest:
        """What the client itself refuses, in the same form as the server would."""
        made = cls(f"{field}: {message}", status=grpc.StatusCode.INVALID_ARGUMENT.name, reason=reason)
        made.field = field
        return made


class NotFound(ClientError):
    """Something named in the request does not exist."""


class NotSupported(ClientError):
    """The server's bundle lacks what was asked for."""


class SessionLost(ClientError):
    """A session could not be resumed, and a question was half answered, or its sound is gone (SOUND_LOST).

    Ask it again; `reason` says why.
    """


class ServerError(ClientError):
    """The server failed."""


_CLASSES: dict[grpc.StatusCode, type[ClientError]] = {
    grpc.StatusCode.UNAVAILABLE: ServerUnavailable,
    grpc.StatusCode.RESOURCE_EXHAUSTED: Overloaded,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.CANCELLED: Cancelled,
    grpc.StatusCode.UNAUTHENTICATED: Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: NotPermitted,
    grpc.StatusCode.INVALID_ARGUMENT: InvalidRequest,
    grpc.StatusCode.NOT_FOUND: NotFound,
    grpc.StatusCode.FAILED_PRECONDITION: NotSupported,
    grpc.StatusCode.UNIMPLEMENTED: NotSupported,
}


_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


def refuses_session(error: ClientError) -> bool:
    """Whether a session cannot be used any more; the question can be asked without it."""
    return error.reason.startswith("SESSION_")


def misses_picture(error: ClientError) -> bool:
    """Whether a session's picture is needed and the server does not hold it any more; it can be sent again."""
    return isinstance(error, NotFound) and error.metadata.get("field") == "session"


@contextmanager
def translated() -> Iterator[None]:
    """Run calls; what gRPC raises becomes a ClientError.

    Raises:
        ClientError: a call failed.
    """
    try:
        yield
    except grpc.RpcError as error:
        raise from_rpc(error) from error
    except (ValueError, grpc.aio.UsageError) as error:
        if not str(error).startswith(_CLOSED):
            raise
        raise closed("client") from error
    except asyncio.CancelledError as error:
        # So gRPC ends asynchronous calls whose channel is closed: the waiting task was not cancelled.
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise closed("client") from error


def closed(what: str) -> Cancelled:
    """The error for something that was closed here: a client, or a session."""
    return Cancelled(f"the {what} was closed", status=grpc.StatusCode.CANCELLED.name, reason="CLOSED")


def from_rpc(error: grpc.RpcError) -> ClientError:
    """The client's error for a failed call."""
    code: grpc.StatusCode = error.code()
    info, violation, retry = _details(error)
    dropped = _was_dropped(error)
    if code is grpc.StatusCode.CANCELLED and _CLOSING in (error.details() or ""):
        return closed("client")
    cls = ServerUnavailable if dropped else _CLASSES.get(code, ServerError)
    made = cls(_message(error, info.reason), status=code.name, reason=info.reason, metadata=dict(info.metadata))
    if isinstance(made, InvalidRequest) and violation is not None:
        made.field = violation.field
    if isinstance(made, (Overloaded, ServerUnavailable)) and retry is not None:
        made.retry_after = retry.retry_delay.ToMicroseconds() / 1e6
    made.begun = not (dropped or _was_refused(error, info.reason)) or _has_turn(error)
    return made


def _message(error: grpc.RpcError, reason: str) -> str:
    """What went wrong: the server's words, or gRPC's with what to do where no server was reached."""
    code: grpc.StatusCode = error.code()
    told: str = error.details() or code.name
    if code is not grpc.StatusCode.UNAVAILABLE or reason or not told.startswith(_UNREACHED):
        return told
    if _OF_HTTP in told:
        return f"what answers there speaks HTTP, not gRPC; give the server's gRPC port ({told})"
    return f"no server was reached; start it, or give the address of its gRPC port ({told})"


def _was_dropped(error: grpc.RpcError) -> bool:
    """Whether a server dropped the call while it stopped, before any handler had it: gRPC's core says CANCELLED
    then, in these words (grpc#41785)."""
    return error.code() is grpc.StatusCode.CANCELLED and error.details() == _DROPPED and not _has_turn(error)


def _was_refused(error: grpc.RpcError, reason: str) -> bool:
    """Whether the call was not taken: the server was stopping, or no connection carried it."""
    untaken = not reason and (error.details() or "").startswith(_UNTAKEN)
    return error.code() is grpc.StatusCode.UNAVAILABLE and (untaken or reason == _STOPPING)


def _has_turn(error: grpc.RpcError) -> bool:
    call: Any = error  # its stub knows no metadata
    return any(key == _TURN for key, _ in call.initial_metadata() or ())


def from_notice(notice: Notice) -> ClientError:
    """The client's error for a failure within a session: that of a call that failed so."""
    code = _CODES.get(notice.status, grpc.StatusCode.UNKNOWN)
    cls = _CLASSES.get(code, ServerError)
    error = cls(notice.text, status=code.name, reason=notice.reason, metadata=notice.metadata)
    if isinstance(error, InvalidRequest):
        error.field = notice.field
    if isinstance(error, (Overloaded, ServerUnavailable)) and notice.retry_after:
        error.retry_after = notice.retry_after
    return error


def _details(
    error: grpc.RpcError,
) -> tuple[
    error_details_pb2.ErrorInfo,
    error_details_pb2.BadRequest.FieldViolation | None,
    error_details_pb2.RetryInfo | None,
]:
    info, bad, retry = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
    has_retry = False
    with suppress(DecodeError):  # of a proxy that has something else there: the status says enough
        for packed in _status(error).details:
            if packed.Is(info.DESCRIPTOR):
                packed.Unpack(info)
            elif packed.Is(bad.DESCRIPTOR):
                packed.Unpack(bad)
            elif packed.Is(retry.DESCRIPTOR):
                has_retry = packed.Unpack(retry)
    return info, next(iter(bad.field_violations), None), retry if has_retry else None


def _status(error: grpc.RpcError) -> status_pb2.Status:
    metadata: Any = error.trailing_metadata() or ()  # pairs, whatever the stubs say
    for key, value in metadata:
        if key == _STATUS_DETAILS and isinstance(value, bytes):
            return status_pb2.Status.FromString(value)
    return status_pb2.Status()
