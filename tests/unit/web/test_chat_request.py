"""Bodies of chats: whatever comes in is a question or an error that names its place."""

import base64
import json
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.decoding.picture_cache import PictureCache
from quizglass_server.errors import InvalidInput
from quizglass_server.web.chat.request import Chat, read_chat

PICTURES = cast(PictureCache, None)
"""Nothing is decoded while a body is read."""
MOST = 8

values: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
urls = st.sampled_from(
    ["data:image/png;base64,aGVsbG8=", "https://example.org/a.png", "data:,", "", "data:image/png;base64,?"]
)
parts = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": st.text(max_size=9)}),
    st.fixed_dictionaries({"type": st.just("image_url"), "image_url": st.fixed_dictionaries({"url": urls})}),
    values,
)
contents = st.one_of(st.text(max_size=9), st.lists(parts, max_size=3), values)
roles = st.sampled_from(["user", "assistant", "system", "developer", "tool", ""])
messages = st.one_of(st.fixed_dictionaries({"role": roles, "content": contents}), values)
bodies = st.fixed_dictionaries(
    {"messages": st.one_of(st.lists(messages, max_size=6), values)},
    optional={
        "model": st.one_of(st.text(max_size=6), values),
        "stream": values,
        "max_tokens": values,
        "response_format": st.one_of(
            values, st.fixed_dictionaries({"type": st.just("json_schema"), "json_schema": values})
        ),
        "tools": values,
        "n": values,
        "temperature": values,
    },
)


def read(body: bytes) -> tuple[Chat | None, str]:
    """What a body asks, or the place of the fault."""
    try:
        return read_chat(body, MOST, PICTURES), ""
    except InvalidInput as error:
        return None, error.field


@given(bodies)
def test_a_body_is_a_question_or_an_error_with_a_place(body):
    chat, field = read(json.dumps(body).encode())
    assert (chat is None) == bool(field)
    if chat is not None:
        assert len(chat.question.history) <= MOST
        assert json.loads(chat.answer_schema or "{}") is not None


@given(st.binary(max_size=60))
def test_bytes_that_are_no_json_are_an_error(body):
    chat, field = read(body)
    assert (chat is None) == bool(field)


@given(
    st.lists(st.tuples(st.text("abc ", min_size=1, max_size=5), st.text("xyz", max_size=5)), max_size=12),
    st.text("q?", min_size=1, max_size=9),
    st.integers(0, 10),
)
def test_the_latest_exchanges_are_the_history(exchanges, question, most):
    dialogue = []
    for asked, answered in exchanges:
        dialogue += [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]
    body = {"messages": [*dialogue, {"role": "user", "content": [{"type": "text", "text": question}]}]}
    chat = read_chat(json.dumps(body).encode(), most, PICTURES)
    kept = [(past.question, past.answer) for past in chat.question.history]
    assert kept == (exchanges[-most:] if most else [])
    assert chat.question.question == question
    assert chat.places["question"] == f"messages[{2 * len(exchanges)}].content"


@given(st.binary(max_size=99), st.sampled_from(["image/png", "image/jpeg", "IMAGE/WEBP"]))
def test_the_bytes_of_a_data_uri_are_those_that_were_put_in(content, kind):
    url = f"data:{kind};base64,{base64.b64encode(content).decode()}"
    parts = [{"type": "text", "text": "?"}, {"type": "image_url", "image_url": {"url": url}}]
    body = {"messages": [{"role": "user", "content": parts}]}
    chat = read_chat(json.dumps(body).encode(), MOST, PICTURES)
    assert chat.picture is not None
    assert chat.picture._encoded == [content]
