"""From domain errors to statuses that a program can read."""

import inspect
import logging

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from quizglass_bundle import errors as bundle_errors
from quizglass_server import errors
from quizglass_server.rpc.transport.status import STATUS, status_code, to_status

_MODULES = errors.__name__, bundle_errors.__name__
"""Those of a bundle are raised without a server, too."""


def every_error() -> list[type[errors.QuizglassError]]:
    found, waiting = set(), [errors.QuizglassError]
    while waiting:
        found.add(cls := waiting.pop())
        waiting += cls.__subclasses__()
    return sorted((cls for cls in found if cls.__module__ in _MODULES), key=lambda cls: cls.__name__)


def details(status: grpc.Status) -> dict[str, object]:
    """The details of a status by the name of their message."""
    packed = status_pb2.Status.FromString(dict(status.trailing_metadata)["grpc-status-details-bin"])
    assert packed.code == status.code.value[0]
    found = {}
    for any_message in packed.details:
        name = any_message.TypeName().rpartition(".")[2]
        found[name] = getattr(error_details_pb2, name)()
        any_message.Unpack(found[name])
    return found


def test_every_error_of_the_module_is_in_the_table():
    declared = [cls for _, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, errors.QuizglassError)]
    assert set(declared) == set(every_error())
    assert set(STATUS) == set(declared)


def test_every_error_has_a_reason_of_its_own():
    reasons = [cls.code for cls in every_error()]
    assert len(set(reasons)) == len(reasons)


def test_a_subclass_from_elsewhere_has_the_status_of_its_parent():
    class Special(errors.EngineLost):
        pass

    assert status_code(Special("gone")) is grpc.StatusCode.UNAVAILABLE


def test_a_wrong_field_is_named():
    status = to_status(errors.InvalidPicture("frames[0].encoded", "the picture has 0 bytes"))
    assert status.code is grpc.StatusCode.INVALID_ARGUMENT
    assert status.details == "frames[0].encoded: the picture has 0 bytes"
    found = details(status)
    assert found["ErrorInfo"].reason == "INVALID_PICTURE"
    assert found["ErrorInfo"].domain == "quizglass"
    violation = found["BadRequest"].field_violations[0]
    assert (violation.field, violation.description) == ("frames[0].encoded", "the picture has 0 bytes")


def test_a_missing_role_is_named():
    status = to_status(errors.RoleMissing("planner", "policy 'planning-agent+'"))
    assert status.code is grpc.StatusCode.FAILED_PRECONDITION
    assert dict(details(status)["ErrorInfo"].metadata) == {"role": "planner"}


@pytest.mark.parametrize("seconds", [0, 0.25, 7])
def test_overload_says_when_to_come_back_even_at_once(seconds):
    status = to_status(errors.Overloaded("full", retry_after_s=seconds))
    assert status.code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert details(status)["RetryInfo"].retry_delay.ToMicroseconds() == seconds * 1e6


def test_a_bug_is_an_incident_in_the_log_and_no_text_for_the_client(caplog):
    with caplog.at_level(logging.ERROR):
        status = to_status(errors.reported(ValueError("secret /etc/path"), "Ask"))
    assert status.code is grpc.StatusCode.INTERNAL
    assert "secret" not in str(status)
    incident = details(status)["ErrorInfo"].metadata["incident"]
    assert incident in status.details
    record = caplog.records[0]
    assert (record.incident, record.rpc) == (incident, "Ask")
    assert "secret" in str(record.exc_info[1])


def test_stopping_asks_to_try_again():
    assert to_status(errors.Stopping()).code is grpc.StatusCode.UNAVAILABLE
    assert details(to_status(errors.Stopping()))["ErrorInfo"].reason == "STOPPING"
