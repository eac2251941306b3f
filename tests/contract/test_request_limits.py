"""Every field of a request that may come more than once, or be large, has a limit."""

from pathlib import Path

import pytest
from google.protobuf.descriptor import FieldDescriptor

from quizglass.v1 import assistant_pb2, knowledge_pb2, memory_pb2, pairing_pb2, session_pb2
from quizglass_server.config.load import Settings
from quizglass_server.rpc.limits import count_limits, request_limits
from quizglass_server.scheduling.memory import WorkMemory

METHODS = [
    method
    for module in (assistant_pb2, knowledge_pb2, memory_pb2, pairing_pb2, session_pb2)
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
]
LIMITS = count_limits(max_history=8)


def fields(message, seen=()):
    """Every field of a message and of the messages in it, as "Message.field"."""
    for field in message.fields:
        yield f"{message.name}.{field.name}", field
        if field.message_type is not None and field.message_type not in seen:
            yield from fields(field.message_type, (*seen, message))


def fields_of_requests():
    return {name: field for method in METHODS for name, field in fields(method.input_type)}


def test_every_repeated_field_of_a_request_has_a_limit_and_nothing_else_has():
    repeated = {name for name, field in fields_of_requests().items() if field.is_repeated}
    assert repeated == set(LIMITS.most)


def test_only_bytes_of_requests_are_pictures():
    kinds = {name: field.type for name, field in fields_of_requests().items()}
    assert {kinds[name] for name in LIMITS.pictures} == {FieldDescriptor.TYPE_BYTES}


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.full_name)
def test_requests_of_every_method_can_be_bounded(method):
    limits = request_limits(Settings(bundle=Path(), knowledge=Path()), lambda: None, WorkMemory(1 << 30))
    assert 0 < limits.reader(method).bound.most_beside <= limits.of(method.name).most_bytes
