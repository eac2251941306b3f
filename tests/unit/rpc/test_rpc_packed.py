"""Compressed requests: unpacked as far as they are honest."""

import gzip
import os
import zlib

import pytest
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st

from quizglass.v1 import assistant_pb2, knowledge_pb2, memory_pb2, session_pb2
from quizglass_server.errors import InvalidInput
from quizglass_server.rpc.requests.packed import is_packed, most_unpacked, unpacked
from quizglass_server.rpc.requests.unreadable import Unreadable

MOST = 1 << 25
REQUESTS = [
    method.input_type
    for module in (assistant_pb2, knowledge_pb2, memory_pb2, session_pb2)
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
]


def unpack(raw):
    return unpacked(raw, most_unpacked(len(raw), MOST))


@given(st.binary(max_size=2000), st.sampled_from([gzip.compress, zlib.compress]), st.integers(0, 9))
def test_what_was_packed_comes_out_as_it_was(content, pack, level):
    raw = pack(content, level)
    assert is_packed(raw)
    assert unpack(raw) == content


def test_pictures_and_long_texts_come_out():
    for content in (os.urandom(1 << 20), b" ".join(b"%d words" % each for each in range(200_000))):
        assert unpack(gzip.compress(content)) == content


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_what_was_packed_to_a_thousandth_does_not(pack):
    with pytest.raises(InvalidInput, match="compressed bytes hold more") as refused:
        unpack(pack(bytes(8_000_000)))
    assert refused.value.field == "request"


@pytest.mark.parametrize("damage", [lambda raw: raw[:-1], lambda raw: raw + b"x", lambda raw: raw[:2] + b"\xff" * 20])
def test_damaged_bytes_are_no_request(damage):
    with pytest.raises(Unreadable):
        unpack(damage(gzip.compress(b"What is this?" * 50)))


@given(st.sampled_from(REQUESTS), st.data())
def test_no_message_begins_as_packed_bytes_do(kind, data):
    message = GetMessageClass(kind)()
    for field in kind.fields:
        if field.type == field.TYPE_BOOL and not field.is_repeated and data.draw(st.booleans()):
            setattr(message, field.name, True)
        elif field.type in (field.TYPE_INT64, field.TYPE_INT32) and not field.is_repeated:
            setattr(message, field.name, data.draw(st.integers(0, 300)))
    assert not is_packed(message.SerializeToString())
