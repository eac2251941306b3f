"""The one table from domain errors to gRPC statuses, with details a program can read."""

from __future__ import annotations

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from quizglass_server import errors

DOMAIN = "quizglass"

STATUS: dict[type[errors.QuizglassError], grpc.StatusCode] = {
    errors.InvalidInput: grpc.StatusCode.INVALID_ARGUMENT,
    errors.InvalidPicture: grpc.StatusCode.INVALID_ARGUMENT,
    errors.SessionForged: grpc.StatusCode.INVALID_ARGUMENT,
    errors.SessionUnknownKey: grpc.StatusCode.INVALID_ARGUMENT,
    errors.SessionExpired: grpc.StatusCode.INVALID_ARGUMENT,
    errors.SessionForeign: grpc.StatusCode.INVALID_ARGUMENT,
    errors.NotFound: grpc.StatusCode.NOT_FOUND,
    errors.SessionUnknown: grpc.StatusCode.NOT_FOUND,
    errors.Superseded: grpc.StatusCode.ABORTED,
    errors.TurnRunning: grpc.StatusCode.FAILED_PRECONDITION,
    errors.SpeechRunning: grpc.StatusCode.FAILED_PRECONDITION,
    errors.Stopping: grpc.StatusCode.UNAVAILABLE,
    errors.RoleMissing: grpc.StatusCode.FAILED_PRECONDITION,
    errors.MemoryOff: grpc.StatusCode.FAILED_PRECONDITION,
    errors.NotLocal: grpc.StatusCode.FAILED_PRECONDITION,
    errors.Unauthenticated: grpc.StatusCode.UNAUTHENTICATED,
    errors.NotPermitted: grpc.StatusCode.PERMISSION_DENIED,
    errors.FilterFailed: grpc.StatusCode.INTERNAL,
    errors.Overloaded: grpc.StatusCode.RESOURCE_EXHAUSTED,
    errors.QuotaExceeded: grpc.StatusCode.RESOURCE_EXHAUSTED,
    errors.BudgetExceeded: grpc.StatusCode.DEADLINE_EXCEEDED,
    errors.Unfinished: grpc.StatusCode.DEADLINE_EXCEEDED,
    errors.EngineLost: grpc.StatusCode.UNAVAILABLE,
    errors.EngineFailed: grpc.StatusCode.INTERNAL,
    errors.KnowledgeLocked: grpc.StatusCode.FAILED_PRECONDITION,
    errors.KnowledgeFailed: grpc.StatusCode.UNAVAILABLE,
    errors.DiskFull: grpc.StatusCode.RESOURCE_EXHAUSTED,
    errors.KnowledgeLost: grpc.StatusCode.UNAVAILABLE,
    errors.SourceFailed: grpc.StatusCode.UNAVAILABLE,
    errors.CopiesLeft: grpc.StatusCode.FAILED_PRECONDITION,
    errors.NotSupported: grpc.StatusCode.UNIMPLEMENTED,
    errors.BundleError: grpc.StatusCode.FAILED_PRECONDITION,
    errors.SettingsError: grpc.StatusCode.FAILED_PRECONDITION,
    errors.SettingMissing: grpc.StatusCode.FAILED_PRECONDITION,
    errors.Unexpected: grpc.StatusCode.INTERNAL,
    errors.QuizglassError: grpc.StatusCode.INTERNAL,
}

_HTTP: dict[grpc.StatusCode, int] = {
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ABORTED: 409,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.INTERNAL: 500,
    grpc.StatusCode.UNIMPLEMENTED: 501,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
}


def status_code(error: errors.QuizglassError) -> grpc.StatusCode:
    """Status of an error: that of its nearest class in the table."""
    return next(STATUS[cls] for cls in type(error).__mro__ if cls in STATUS)


def http_status(error: errors.QuizglassError) -> int:
    """The same for HTTP, as Connect and gRPC's gateways have it."""
    return _HTTP[status_code(error)]


def to_status(error: errors.QuizglassError) -> grpc.Status:
    """Status with ErrorInfo, and BadRequest or RetryInfo where they apply."""
    code = status_code(error)
    details = [_pack(error_details_pb2.ErrorInfo(reason=error.code, domain=DOMAIN, metadata=error.metadata))]
    if isinstance(error, errors.InvalidInput):
        violation = error_details_pb2.BadRequest.FieldViolation(field=error.field, description=error.description)
        details.append(_pack(error_details_pb2.BadRequest(field_violations=[violation])))
    if error.retry_after_s is not None:
        delay = duration_pb2.Duration()
        delay.FromMicroseconds(round(error.retry_after_s * 1e6))
        details.append(_pack(error_details_pb2.RetryInfo(retry_delay=delay)))
    return rpc_status.to_status(status_pb2.Status(code=code.value[0], message=error.message, details=details))


def _pack(message: object) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)  # type: ignore[arg-type]  # error_details is untyped
    return packed
