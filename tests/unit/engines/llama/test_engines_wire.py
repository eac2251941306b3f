"""Everything that crosses the socket arrives as it was."""

from __future__ import annotations

from dataclasses import fields, replace
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass.internal.v1 import generator_pb2 as pb
from quizglass_server.engines.llama.link import wire
from quizglass_server.engines.llama.link.pixels import PictureUnknown, PixelStore, Sent
from quizglass_server.engines.llama.link.prompt import (
    Constraint,
    Finished,
    PicturePart,
    Piece,
    Terms,
    TextPart,
    Usage,
    Vitals,
)

COUNT = st.integers(0, 2**32 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
USAGES = st.builds(Usage, COUNT, COUNT, COUNT, st.integers(0, 2**64 - 1), st.booleans())
SHARE = st.floats(0, 1, width=32)
PIECES = st.builds(Piece, TEXT, SHARE)
REASONS = st.sampled_from(["stop", "length", "cancelled", "deadline"])
ENDS = st.builds(Finished, REASONS, USAGES, SHARE, SHARE)
PICTURES = st.builds(PicturePart, st.binary(min_size=32, max_size=32), COUNT, COUNT, st.binary(min_size=1))
PROMPTS = st.lists(st.one_of(st.builds(TextPart, TEXT, st.booleans()), PICTURES))


@given(PROMPTS)
def test_prompts(prompt: list[TextPart | PicturePart]) -> None:
    assert wire.from_segments(wire.to_segments(prompt)) == prompt


@given(st.lists(PIECES), st.none() | ENDS)
def test_answers(pieces: list[Piece], end: Finished | None) -> None:
    items = [*pieces, *([] if end is None else [end])]
    sent = wire.to_response(items).SerializeToString()
    assert wire.from_response(pb.GenerateResponse.FromString(sent)) == items


@given(
    st.one_of(
        st.none(),
        st.builds(Constraint, st.just("labels"), st.lists(TEXT, min_size=1).map(tuple)),
        st.builds(Constraint, st.sampled_from(["grammar", "json_schema"]), TEXT),
    )
)
def test_constraints(constraint: Constraint | None) -> None:
    request = pb.GenerateRequest(constraint=wire.to_constraint(constraint))
    assert wire.from_constraint(pb.GenerateRequest.FromString(request.SerializeToString())) == constraint


def test_a_constraint_that_is_none_cannot_be_sent() -> None:
    with pytest.raises(ValueError, match="labels"):
        wire.to_constraint(Constraint("labels", "not a tuple"))


def test_a_segment_without_content_is_refused() -> None:
    with pytest.raises(ValueError, match="without content"):
        wire.from_segments([pb.Segment()])


@given(st.integers(0, 2))
def test_terms_without_a_deadline(priority: int) -> None:
    assert wire.from_terms(wire.to_terms(Terms(priority))) == Terms(priority)


@given(st.floats(0, 1e6))
def test_a_deadline_travels_as_the_time_that_is_left(seconds: float) -> None:
    before = monotonic()
    arrived = wire.from_terms(wire.to_terms(Terms(1, before + seconds))).deadline
    assert arrived is not None
    assert before + seconds - 1e-5 <= arrived <= monotonic() + seconds + 1e-5


def test_a_deadline_that_has_passed_leaves_no_time() -> None:
    assert wire.to_terms(Terms(1, monotonic() - 5)).time_left_us == 0


@given(st.builds(Vitals, st.just(0.0), st.booleans(), *[COUNT] * 9, st.lists(COUNT).map(tuple), COUNT, COUNT))
def test_vitals(vitals: Vitals) -> None:
    arrived = wire.from_vitals(wire.to_vitals(replace(vitals, beat=monotonic() - 3)))
    assert arrived.beat == pytest.approx(monotonic() - 3, abs=1)
    for field in fields(Vitals):
        if field.name != "beat":
            assert getattr(arrived, field.name) == getattr(vitals, field.name)


def picture(number: int, size: int = 12) -> PicturePart:
    return PicturePart(bytes([number]) * 32, 2, 2, bytes([number]) * size)


def test_pixels_that_were_sent_once_are_not_sent_again() -> None:
    sent, store = Sent(), PixelStore()
    prompt = [TextPart("What?", trusted=False), picture(1)]
    first = wire.to_segments(prompt, sent.holds)
    assert first[1].picture.rgb
    assert store.complete(wire.from_segments(first)) == prompt
    sent.add(prompt)
    second = wire.to_segments(prompt, sent.holds)
    assert not second[1].picture.rgb
    assert store.complete(wire.from_segments(second)) == prompt


def test_pixels_that_are_no_longer_held_are_asked_for() -> None:
    store = PixelStore(limit=30)
    for number in range(3):
        store.complete([picture(number)])
    assert store.complete([replace(picture(2), rgb=b"")]) == [picture(2)]
    with pytest.raises(PictureUnknown, match="send it with its pixels"):
        store.complete([replace(picture(0), rgb=b"")])


def test_after_forgetting_all_pixels_are_sent() -> None:
    sent = Sent()
    sent.add([picture(1)])
    assert sent.holds(picture(1).sha256)
    sent.clear()
    assert not sent.holds(picture(1).sha256)
