"""Prompts in a model's own chat format, and pictures in their own shape."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_bundle.fields import Size
from quizglass_bundle.inputs.prompts import (
    GENERAL_PROMPTS,
    SYSTEM,
    USER,
    ChatFormat,
    PromptError,
    PromptTemplate,
    read_format,
)
from quizglass_server.roles.shared.fitting import within

FORMATS = [
    (f"<s>[INST] {SYSTEM}\n{USER} [/INST]", f"<s>[INST] {USER} [/INST]"),
    (f"<turn>user\n{SYSTEM}\n\n{USER}<end>\n<turn>model\n", f"<turn>user\n{USER}<end>\n<turn>model\n"),
]


@pytest.mark.parametrize(("both", "alone"), FORMATS)
def test_a_format_says_what_the_template_said(both: str, alone: str) -> None:
    form = read_format(alone, both)
    assert form.head + SYSTEM + form.middle + USER + form.tail == both
    assert form.alone + USER + form.tail == alone
    for path in GENERAL_PROMPTS.glob("*.jinja"):
        written = PromptTemplate(form.rewrite(path.read_text(encoding="utf-8")), path.name)
        assert "<|im_" not in written.source


@pytest.mark.parametrize("both", [None, USER, f"{SYSTEM}{SYSTEM}{USER}"])
def test_a_model_without_a_systems_turn_has_it_said_before_the_question(both: str | None) -> None:
    assert read_format(f"<u>{USER}</u>", both) == ChatFormat("<u>", "\n\n", "</u>", "<u>")


@pytest.mark.parametrize("alone", ["nothing", f"{USER} {USER}", f"{{{{ {USER}"])
def test_a_template_that_loses_doubles_or_breaks_what_is_said_is_refused(alone: str) -> None:
    with pytest.raises(PromptError):
        read_format(alone, None)


@given(st.integers(1, 3000), st.integers(1, 3000))
def test_a_picture_keeps_its_shape_and_is_never_made_larger(width: int, height: int) -> None:
    size = within(np.zeros((height, width, 3), np.uint8), Size(width=768, height=768))
    assert size.width * size.height <= max(768 * 768, min(width, height))
    assert (size.width, size.height) == (width, height) or width * height > 768 * 768
    assert abs(size.width / size.height - width / height) <= 0.05 * width / height or min(size.width, size.height) < 40
