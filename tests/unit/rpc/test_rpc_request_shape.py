"""Requests counted in their bytes: what is honest passes, and what passes is no more than it may be."""

import pytest
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st

from quizglass.v1 import assistant_pb2, knowledge_pb2, memory_pb2, session_pb2
from quizglass_server.errors import InvalidInput
from quizglass_server.rpc.limits import count_limits
from quizglass_server.rpc.requests.shape import MOST_FIELDS, CountLimits, RequestShape
from quizglass_server.rpc.requests.unreadable import Unreadable

LIMITS = count_limits(max_history=8)
REQUESTS = [
    method.input_type
    for module in (assistant_pb2, knowledge_pb2, memory_pb2, session_pb2)
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
]
SHAPES = {message: RequestShape(message, LIMITS) for message in REQUESTS}
MIB = 1 << 20
ASK, ADD, SEND = assistant_pb2.AskRequest, knowledge_pb2.AddEntriesRequest, session_pb2.SendRequest


def check(raw, kind, beside=MIB):
    SHAPES[kind.DESCRIPTOR].check(raw, beside)


def varint(number):
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    return bytes([*encoded, number])


def piece(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


# Bytes that are nearly messages: fields of small numbers, of every wire type, in each other.
PIECES = st.recursive(
    st.one_of(
        st.builds(lambda number, value: varint(number << 3) + varint(value), st.integers(1, 20), st.integers(0, 2**64)),
        st.builds(
            lambda number, value: varint(number << 3 | 5) + value, st.integers(1, 20), st.binary(min_size=4, max_size=4)
        ),
        st.builds(piece, st.integers(1, 20), st.binary(max_size=40)),
        st.binary(max_size=3),
    ),
    lambda inner: st.builds(
        lambda number, parts, times: piece(number, b"".join(parts)) * times,
        st.integers(1, 16),
        st.lists(inner, max_size=5),
        st.integers(1, 30),
    ),
    max_leaves=12,
)


def parsed(kind, raw):
    """The message, or None where there is none."""
    try:
        return GetMessageClass(kind).FromString(raw)
    except DecodeError:
        return None


def items(message):
    """Names and lengths of the repeated fields of a message and of the messages in it."""
    for field, value in message.ListFields():
        inner = [value]
        if field.is_repeated:
            yield f"{message.DESCRIPTOR.name}.{field.name}", len(value)
            is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
            inner = [] if is_map else value
        if field.message_type is not None:
            for each in inner:
                yield from items(each)


@given(st.sampled_from(REQUESTS), st.lists(PIECES, max_size=8))
def test_what_passes_has_no_more_than_it_may(kind, pieces):
    raw = b"".join(pieces)
    try:
        SHAPES[kind].check(raw, MIB)
    except Unreadable:
        assert parsed(kind, raw) is None
        return
    except InvalidInput:
        return
    for name, count in items(parsed(kind, raw) or GetMessageClass(kind)()):
        assert count <= LIMITS.converted(name)


@given(
    st.integers(0, 8),
    st.text(max_size=50),
    st.binary(max_size=300),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=60),
)
def test_what_is_allowed_passes(count, text, picture, pairs):
    past = assistant_pb2.Exchange(question=text, answer=text)
    ask = ASK(question=text, frames=[{"encoded": picture}], history=[past] * count, memory={"recall": True})
    check(ask.SerializeToString(), ASK)
    entry = knowledge_pb2.Entry(id=text, text=text, attributes=pairs, pictures=[picture] * count)
    check(ADD(entry=entry).SerializeToString(), ADD)
    said = session_pb2.ClientMessage(id=count, ask={"id": text, "request": ask})
    check(SEND(messages=[said] * 64).SerializeToString(), SEND)


@pytest.mark.parametrize(
    ("kind", "raw", "field"),
    [
        (ASK, b"\x1a\x00" * 100, "history"),
        (ASK, b"\x12\x00" * 100, "frames"),
        (ADD, piece(1, piece(6, b"\x0a\x01a") * 1000), "entry.attributes"),
        (ADD, piece(1, piece(6, b"\x0a\x01a")) * 1000, "entry.attributes"),  # an entry in pieces is one entry
        (knowledge_pb2.SearchEntriesRequest, piece(4, b"\x12\x00" * 1000), "filter.kinds"),
        (SEND, piece(3, b"") * 1000, "messages"),
        (SEND, piece(3, piece(6, piece(3, b"\x1a\x00" * 100))), "messages.ask.request.history"),
        (ASK, b"\xfa\x07\x00" * (MOST_FIELDS + 1), "request"),
        (ASK, piece(16, b"\x08\x01" * MOST_FIELDS), "request"),
        (ADD, piece(1, piece(6, b"\x0a\x01a" * MOST_FIELDS)), "request"),
        (ASK, b"\x08" + b"\x80" * 9 + b"\x01" + piece(1, bytes(MIB)), "request"),
    ],
)
def test_the_first_too_many_is_the_last_that_is_looked_at(kind, raw, field):
    with pytest.raises(InvalidInput) as refused:
        check(raw + b"\xff" * 20, kind)
    assert (type(refused.value), refused.value.field) == (
        (Unreadable, "request") if kind is ASK and raw[0] == 8 else (InvalidInput, field)
    )


def test_a_picture_may_be_larger_than_all_the_rest():
    large = bytes(2 * MIB)
    check(ASK(question="?", frames=[{"encoded": large}]).SerializeToString(), ASK)
    with pytest.raises(InvalidInput, match="beside its pictures"):
        check(ASK(question="?", session=large).SerializeToString(), ASK)


@pytest.mark.parametrize(
    "raw",
    [
        b"\x0a",
        b"\x0a\x05ab",
        b"\x0b\x0c",  # a group
        b"\x0e\x00",
        b"\x09\x00",
        b"\x28" + b"\xff" * 11,
        b"\x12\x03\x1a\x05a",  # a field that is longer than the message it is in
        b"\x80",
    ],
)
def test_what_is_no_message_is_said_so(raw):
    with pytest.raises(Unreadable):
        check(raw, ASK)
    assert parsed(ASK.DESCRIPTOR, raw) is None or raw[0] == 0x0B


def test_messages_that_cannot_be_bounded_are_refused_when_the_server_starts():
    from google.protobuf import descriptor_pb2, struct_pb2

    with pytest.raises(ValueError, match="may hold itself"):
        RequestShape(struct_pb2.Struct.DESCRIPTOR, CountLimits({}, ()))
    with pytest.raises(ValueError, match="repeated numbers"):
        RequestShape(descriptor_pb2.FileDescriptorProto.DESCRIPTOR, CountLimits({}, ()))
