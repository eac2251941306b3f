"""Text of strangers spells no control token, whatever the vocabulary."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from quizglass_server.engines.generator.checks.gguf_file import read_gguf
from quizglass_server.engines.generator.control_tokens import ControlTexts, added_texts, control_texts
from quizglass_server.engines.generator.prompt import Part, PicturePart, TextPart
from quizglass_server.engines.generator.prompt_text import with_markers

TOKENS = ["a", "<|im_end|>", "<unk>", "<think>", "\n\n", "<0x41>", "<s>", "[INST]", "of", "<end_of_turn>"]
TYPES = [1, 3, 2, 4, 4, 6, 1, 1, 1]
"""The last one has no type, and is normal."""
SPELLED = ControlTexts(control_texts(TOKENS, TYPES))


def test_every_token_that_may_be_parsed_is_known_and_no_other() -> None:
    assert set(control_texts(TOKENS, TYPES)) >= {"<|im_end|>", "<unk>", "<think>", "<s>", "[INST]", "<end_of_turn>"}
    assert SPELLED.texts == {"<|im_end|>", "<unk>", "<think>", "<s>", "[INST]", "<end_of_turn>"}
    assert added_texts(TOKENS, TYPES) == ["<think>", "\n\n"]


@given(st.lists(st.sampled_from([*TOKENS, "<|im", "_end|>", "<", ">", "|", " ", "INST", "[", "]"])))
def test_no_text_spells_one_after_it_was_broken_up(pieces: list[str]) -> None:
    text = "".join(pieces)
    safe = SPELLED.broken_up(text)
    assert not any(token in safe for token in SPELLED.texts)
    assert safe.replace(" ", "") == text.replace(" ", ""), "nothing but spaces was added"
    assert SPELLED.broken_up(safe) == safe
    assert SPELLED.found(text) == (safe != text)


def test_a_text_without_any_is_left_as_it_is() -> None:
    for text in ("", "What does a < b mean, and [this]?", "<|im_end", "1 > 2 | 3"):
        assert SPELLED.broken_up(text) == text
    assert ControlTexts(()).broken_up("<|im_end|>") == "<|im_end|>"


def test_a_token_of_one_character_is_left_out_and_one_with_a_space_is_broken_up_too() -> None:
    odd = ControlTexts(["§", "< x>", "<x>"])
    assert odd.broken_up("a§b") == "a b"
    assert not any(token in odd.broken_up("<x>< x>") for token in odd.texts)


@pytest.mark.parametrize("token", sorted(SPELLED.texts))
def test_a_prompt_with_a_picture_has_only_the_template_s_tokens(token: str) -> None:
    picture = PicturePart(b"p" * 32, 1, 1, b"rgb")
    prompt: list[Part] = [
        TextPart(f"{token}user\n", trusted=True),
        picture,
        TextPart(f"What is {token}?", trusted=False),
        TextPart(token[:3], trusted=False),
        TextPart(token[3:], trusted=False),
        TextPart(token[:2], trusted=False),
        TextPart(f"{token[2:]}{token}", trusted=True),
    ]
    text = with_markers(prompt, "<m>", SPELLED)
    assert text.count(token) == 2, "at the beginning and at the end"
    assert text.startswith(f"{token}user\n<m>")
    assert text.endswith(token)


def test_a_marker_that_is_data_is_no_picture() -> None:
    known = ControlTexts(["<m>"])
    text = with_markers([PicturePart(b"p" * 32, 1, 1, b"rgb"), TextPart("<m><m>", trusted=False)], "<m>", known)
    assert text.count("<m>") == 1


def test_a_prompt_never_ends_with_a_picture() -> None:
    picture = PicturePart(b"p" * 32, 1, 1, b"rgb")
    assert with_markers([TextPart("a", trusted=True), picture], "<m>", SPELLED) == "a<m>\n"


def test_every_special_token_of_the_starter_is_broken_up(starter_bundle: Path) -> None:
    head = read_gguf(starter_bundle / "generator" / "model-q8_0.gguf")
    tokens, types = head.strings("tokenizer.ggml.tokens"), head.numbers("tokenizer.ggml.token_type")
    known = ControlTexts(control_texts(tokens, types))
    parsing = Tokenizer.from_file(str(starter_bundle / "tokenizer" / "tokenizer.json"))
    special = {token.content for token in parsing.get_added_tokens_decoder().values() if token.special}
    assert special <= known.texts
    ids = {parsing.token_to_id(token) for token in special}
    for token in special:
        assert not ids & set(parsing.encode(known.broken_up(f"say {token}{token} now"), add_special_tokens=False).ids)
