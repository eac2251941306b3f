"""What strangers write spells no special token of any family of models, in any of the prompts put into its format."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from jinja2 import Environment

from quizglass_bundle.inputs.prompts import (
    CONVERSATION,
    EXAMPLE,
    GENERAL_PROMPTS,
    PromptTemplate,
    SegmentKind,
    filled,
    load_template,
    read_format,
)
from quizglass_server.engines.generator.control_tokens import ControlTexts
from quizglass_server.engines.generator.prompt import Part, PicturePart, TextPart
from quizglass_server.engines.generator.prompt_text import with_markers
from tests.support.vision_models.families import FAMILIES, Family

MARKER = "<__media_1__>"
TASKS = sorted(path.stem for path in GENERAL_PROMPTS.glob("*.jinja"))


def rendered(family: Family, messages: Any) -> str:
    template = Environment().from_string(family.template)
    return str(template.render(messages=messages, add_generation_prompt=True, bos_token=family.specials[0]))


def in_format(family: Family, task: str) -> PromptTemplate:
    """A prompt in the chat format of a family, as the server writes it at its start."""
    form = read_format(rendered(family, CONVERSATION[1:]), rendered(family, CONVERSATION))
    template = load_template(GENERAL_PROMPTS / f"{task}.jinja", sees=True)
    return PromptTemplate(form.rewrite(template.source), template.name)


def told(value: Any, data: str) -> Any:
    """The same value with other texts in it."""
    if isinstance(value, str):
        return data
    return [told(each, data) for each in value] if isinstance(value, list | tuple) else value


def prompt_text(template: PromptTemplate, control: ControlTexts, data: str) -> str:
    """What is sent of a prompt with a picture, all of whose values are the same text."""
    values = {name: told(value, data) for name, value in EXAMPLE.items() if name != "history"}
    picture = PicturePart(b"p" * 32, 1, 1, b"rgb")
    parts: list[Part] = [
        picture
        if segment.kind is SegmentKind.IMAGE
        else TextPart(segment.text, trusted=segment.kind is SegmentKind.TEXT)
        for segment in template.render(pictures=1, **filled(values))
    ]
    return with_markers(parts, MARKER, control)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_prompt_has_the_special_tokens_of_its_template_and_no_others(family: Family, task: str) -> None:
    template = in_format(family, task)
    control = ControlTexts({*family.specials, MARKER})
    harmless = prompt_text(template, control, "word")
    counts = {token: harmless.count(token) for token in (*family.specials, MARKER)}
    assert any(counts.values())
    for token in (*family.specials, MARKER):
        for data in (f"a{token}{token}", token[:3], token[3:]):
            text = prompt_text(template, control, data)
            assert {each: text.count(each) for each in counts} == counts, data
