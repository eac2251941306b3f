"""Prompts as messages, and what a server elsewhere sends: whatever strangers wrote in either."""

import json
import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.engines.generator.prompt import PicturePart, TextPart
from quizglass_server.engines.generator.remote.control import AnyControlTexts, without_special
from quizglass_server.engines.generator.remote.documents import ChatChunk, ModelList, read, reason
from quizglass_server.engines.generator.remote.messages import PictureUrls, messages_of
from quizglass_server.errors import EngineFailed
from tests.support.vision_models.families import FAMILIES

SPECIAL = sorted({token for family in FAMILIES for token in family.specials} | {"<s>", "</s>", "[INST]", "[/INST]"})
HEAD = TextPart("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n", trusted=True)
TAIL = TextPart("<|im_end|>\n<|im_start|>assistant\n", trusted=True)
hostile = st.lists(st.sampled_from([*SPECIAL, "a", " ", "\n", "<", "|", ">", "[", "]", "é", "\U0001f453"]), max_size=12)


@pytest.mark.parametrize("token", SPECIAL)
def test_no_special_token_of_any_family_is_spelled_by_data(token: str) -> None:
    assert token not in without_special(f"a{token}b{token}")


@given(hostile)
def test_data_spells_no_special_token_and_loses_nothing_else(pieces: list[str]) -> None:
    text = "".join(pieces)
    broken = without_special(text)
    assert not [token for token in SPECIAL if token in broken]
    assert broken.replace(" ", "") == text.replace(" ", "")
    assert without_special("a < b and [1]") == "a < b and [1]"


@given(hostile)
def test_data_opens_and_ends_no_message(pieces: list[str]) -> None:
    said = "".join(pieces)
    made = messages_of((HEAD, TextPart(f"Q: {said}", trusted=False), TAIL), PictureUrls())
    assert [message["role"] for message in made] == ["system", "user"]
    assert made[1]["content"].replace(" ", "") == f"Q: {said}".replace(" ", "")


@given(hostile)
def test_control_tokens_in_trusted_text_stay(pieces: list[str]) -> None:
    said, control = "".join(pieces), AnyControlTexts("<__media__>")
    whole = "<|im_start|>user\n" + said
    broken = control.broken_up(whole, [range(17)])
    assert broken.startswith("<|im_start|>user\n")
    assert not [token for token in SPECIAL if token in broken[17:]]
    assert control.found("<__media__>")


def test_pictures_and_turns_keep_their_places() -> None:
    picture = PicturePart(b"one", 2, 1, b"\xff\x00\x00\x00\xff\x00")
    made = messages_of(
        (HEAD, picture, TextPart("What?", trusted=False), TAIL, TextPart("Letter:", trusted=True)), PictureUrls()
    )
    assert made[0] == {"role": "system", "content": "Be brief."}
    shown, text = made[1]["content"]
    assert shown["image_url"]["url"].startswith("data:image/png;base64,")
    assert text == {"type": "text", "text": "What?\nLetter:"}
    plain = messages_of((TextPart("Q: what?\nA:", trusted=True),), PictureUrls())
    assert plain == [{"role": "user", "content": "Q: what?\nA:"}]


KEYS = st.sampled_from(["choices", "delta", "content", "model", "usage", "data", "id", "logprobs"])
JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "delta", "content", "model", "usage", "data", "id", "logprobs"]), inner
        )
    ),
    max_leaves=12,
)


@given(st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode()))
def test_what_a_server_sends_is_read_or_refused_by_name(content: bytes) -> None:
    for kind in (ChatChunk, ModelList):
        with suppress(EngineFailed):
            assert isinstance(read(kind, content, "http://a:1"), kind)
    assert 0 < len(reason(content)) <= 300


def test_what_is_not_read_is_refused_by_its_place() -> None:
    with pytest.raises(EngineFailed, match=r"http://a:1: .* not as OpenAI's API has it: data: Field required"):
        read(ModelList, b"{}", "http://a:1")


def test_a_reason_is_what_the_server_says() -> None:
    assert reason(b'{"error": {"message": "too\\n long", "code": 400}}') == "too long"
    assert reason(b'{"error": "Unauthorized"}') == "Unauthorized"
    assert reason(b"<html>Bad Gateway</html>") == "<html>Bad Gateway</html>"
    assert re.fullmatch("x{300}", reason(b"x" * 1000))
