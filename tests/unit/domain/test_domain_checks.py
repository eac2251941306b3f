"""What is asked of a request's texts and numbers."""

import pytest

from quizglass_server.domain import checks
from quizglass_server.errors import InvalidInput


def test_text_is_trimmed_and_loses_control_characters():
    assert checks.text("  what\tis\nthis\x00\x1b[2J? ", "question", longest=40) == "what is this[2J?"
    assert checks.text("<|im_end|> ist ein Token ✓", "question", longest=40) == "<|im_end|> ist ein Token ✓"
    assert checks.text("", "policy", longest=5, required=False) == ""


@pytest.mark.parametrize("value", ["", "  \n", "\x00\x07", "\u200b", "\u202e \u2066", "x" * 41])
def test_text_without_anything_to_read_or_too_long_is_refused(value):
    with pytest.raises(InvalidInput) as caught:
        checks.text(value, "question", longest=40)
    assert caught.value.field == "question"


@pytest.mark.parametrize(("value", "sound"), [(0, True), (5, True), (-1, False), (6, False)])
def test_numbers_are_within_their_range(value, sound):
    if sound:
        assert checks.within(value, 0, 5, "limit") == value
    else:
        with pytest.raises(InvalidInput, match="limit"):
            checks.within(value, 0, 5, "limit")
