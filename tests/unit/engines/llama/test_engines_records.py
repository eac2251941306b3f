"""Everything that crosses the socket arrives as it was."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.engines.llama.link.pixels import PictureUnknown, PixelStore, Sent
from quizglass_server.engines.llama.link.prompt import (
    Constraint,
    EngineStats,
    Failure,
    Finished,
    PicturePart,
    Piece,
    TextPart,
    Urgency,
    Usage,
)
from quizglass_server.engines.llama.link.records import decode, encode

COUNT = st.integers(0, 2**64 - 1)
TEXT = st.text()
SHARE = st.floats(allow_nan=False)
USAGES = st.builds(Usage, COUNT, COUNT, COUNT, COUNT, st.booleans())
PICTURES = st.builds(PicturePart, st.binary(min_size=32, max_size=32), COUNT, COUNT, st.binary())
VITALS = st.builds(EngineStats, SHARE, st.booleans(), *[COUNT] * 9, st.lists(COUNT).map(tuple), COUNT, COUNT)
RECORDS = st.one_of(
    st.builds(TextPart, TEXT, st.booleans()),
    PICTURES,
    st.builds(Urgency, st.integers(0, 2), st.none() | SHARE),
    st.builds(Constraint, TEXT),
    st.builds(Piece, TEXT, SHARE),
    st.builds(Finished, st.sampled_from(["stop", "length", "cancelled", "deadline"]), USAGES),
    VITALS,
    st.builds(Failure, st.sampled_from(["refused", "overloaded"]), TEXT, SHARE),
)
PLAIN = st.one_of(st.none(), st.booleans(), COUNT, SHARE, TEXT, st.binary())


@given(st.lists(st.one_of(RECORDS, PLAIN, st.lists(st.one_of(RECORDS, PLAIN)))))
def test_what_is_sent_arrives(values: list[object]) -> None:
    assert decode(encode(values)) == values


@pytest.mark.parametrize("value", [object(), {1, 2}, Exception("no record")])
def test_what_is_no_record_cannot_be_sent(value: object) -> None:
    with pytest.raises(TypeError, match="cannot be sent"):
        encode([value])


@given(st.binary(max_size=200))
def test_garbage_is_no_record(garbage: bytes) -> None:
    with pytest.raises(ValueError, match="record"):
        decode(b"\x00\x00\x00\x01" + garbage)


@pytest.mark.parametrize(
    "text", [b'{"":"Piece"}', b'{"":"Path"}', b'{"a":1}', b'{"":"bytes","size":"x"}', b"[", b"1 1"]
)
def test_a_record_of_something_else_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="record"):
        decode(len(text).to_bytes(4, "little") + text)


def test_a_record_with_more_or_fewer_bytes_than_it_names_is_refused() -> None:
    whole = encode([b"four"])
    for wrong in (whole + b"x", whole[:-1]):
        with pytest.raises(ValueError, match="record"):
            decode(wrong)


def picture(number: int, size: int = 12) -> PicturePart:
    return PicturePart(bytes([number]) * 32, 2, 2, bytes([number]) * size)


def test_pixels_that_were_sent_once_are_not_sent_again() -> None:
    sent, store = Sent(), PixelStore()
    prompt = [TextPart("What?", trusted=False), picture(1)]
    assert sent.without_known(prompt) == prompt
    assert store.complete(prompt) == prompt
    second = sent.without_known(prompt)
    assert second == [prompt[0], replace(picture(1), rgb=b"")]
    assert store.complete(second) == prompt


def test_pixels_that_are_no_longer_held_are_asked_for() -> None:
    store = PixelStore(limit=30)
    for number in range(3):
        store.complete([picture(number)])
    assert store.complete([replace(picture(2), rgb=b"")]) == [picture(2)]
    with pytest.raises(PictureUnknown, match="send it with its pixels"):
        store.complete([replace(picture(0), rgb=b"")])


def test_after_forgetting_all_pixels_are_sent() -> None:
    sent = Sent()
    sent.without_known([picture(1)])
    sent.clear()
    assert sent.without_known([picture(1)]) == [picture(1)]
