"""JSON counted in its bytes."""

import json

from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.rpc.requests.json_text import has_at_most

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=4), inner, max_size=6)
    ),
)


def size(value):
    """Strings, values and openings of JSON."""
    if isinstance(value, dict):
        return 1 + sum(1 + size(each) for each in value.values())
    return 1 + sum(map(size, value)) if isinstance(value, list) else 1


@given(VALUES, st.booleans())
def test_what_has_few_values_passes_and_what_has_many_does_not(value, ascii):
    raw = json.dumps(value, ensure_ascii=ascii).encode()
    assert has_at_most(2 * size(value) + 1, raw)
    assert not has_at_most(size(value) // 3 - 1, raw)


@given(st.text(st.sampled_from('"\\,{[a'), max_size=30))
def test_what_is_in_a_string_counts_as_one(text):
    assert has_at_most(3, json.dumps([text]).encode())


@given(st.binary(max_size=60))
def test_any_bytes_are_told_few_or_many(raw):
    assert has_at_most(len(raw) + 2, raw)


def test_what_never_ends_is_counted_as_far_as_it_goes():
    assert not has_at_most(100, b'{"history":[' + b"{}," * 101)
    assert has_at_most(100, b'"' + b"{}," * 101)
    assert has_at_most(100, b'"\\' + b'"' * 1)
