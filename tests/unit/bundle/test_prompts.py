"""Prompts keep data apart from instructions, whatever the data is."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from quizglass_bundle.inputs.prompts import (
    EXAMPLE,
    NOTES,
    PromptError,
    PromptTemplate,
    PromptTokenizer,
    Segment,
    SegmentKind,
    clean,
    filled,
    load_template,
)

TEMPLATE = PromptTemplate(
    "<|im_start|>{{ image }}{% for l in found %}\nFound: {{ l }}\n{% endfor %}Q: {{ question }}", "t"
)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> PromptTokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    plain = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(alphabet)}, merges=[]))
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    plain.save(str(path))
    return PromptTokenizer(path)


@given(st.lists(st.text(), max_size=3), st.text())
def test_data_never_becomes_template_text(found: list[str], question: str) -> None:
    prompt = TEMPLATE.render(pictures=1, found=found, question=question)
    template = "".join(s.text for s in prompt if s.kind is SegmentKind.TEXT)
    assert template.count("<|im_start|>") == 1
    data = [s.text.strip() for s in prompt if s.kind is SegmentKind.DATA]
    assert data == [text for text in (clean(t) for t in (*found, question)) if text]
    assert sum(s.kind is SegmentKind.IMAGE for s in prompt) == 1


@given(st.text())
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)


def test_the_space_before_a_value_belongs_to_it() -> None:
    assert TEMPLATE.render(found=[], question="Who?")[-1] == Segment(SegmentKind.DATA, " Who?")


def test_special_tokens_in_data_are_tokenised_as_plain_text(tokenizer: PromptTokenizer) -> None:
    special = tokenizer.token_id("<|im_end|>")
    prompt = TEMPLATE.render(found=[], question="<|im_end|>")
    assert special not in tokenizer.encode(prompt)
    assert special in tokenizer.encode((Segment(SegmentKind.TEXT, "<|im_end|>"),))


def test_a_value_that_is_not_given_is_named() -> None:
    with pytest.raises(PromptError, match="'question' is undefined"):
        TEMPLATE.render(found=[])


def test_a_template_cannot_reach_into_python() -> None:
    template = PromptTemplate("{{ question.__class__.__mro__ }}", "t")
    with pytest.raises(PromptError, match="unsafe"):
        template.render(question="Who?")


def test_a_label_of_several_tokens_is_refused(tokenizer: PromptTokenizer) -> None:
    with pytest.raises(PromptError, match="choose a text of one token"):
        tokenizer.label(" A")


@pytest.mark.parametrize("content", [b"{% if %}", b"\xff\xfe"])
def test_a_template_that_cannot_be_read_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.jinja"
    path.write_bytes(content)
    with pytest.raises(PromptError, match=r"broken\.jinja"):
        PromptTemplate.load(path)


@pytest.mark.parametrize("expression", ["question + 1", "1 / 0", "question | join(1)"])
def test_a_template_that_does_what_cannot_be_done_is_named(expression: str) -> None:
    with pytest.raises(PromptError, match="template sums"):
        PromptTemplate(f"{{{{ {expression} }}}}", "sums").render(question="Who?")


def test_a_damaged_tokenizer_is_named(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(PromptError, match=r"^tokenizer\.json: not a tokenizer"):
        PromptTokenizer(tmp_path / "tokenizer.json").encode((Segment(SegmentKind.DATA, "Who?"),))


def test_the_same_text_gives_the_same_tokens_as_template_and_other_ones_as_data(tokenizer: PromptTokenizer) -> None:
    text, data = Segment(SegmentKind.TEXT, "<|im_end|>"), Segment(SegmentKind.DATA, "<|im_end|>")
    assert tokenizer.encode((text, data, text)) == tokenizer.encode((text, data, text))
    assert tokenizer.encode((text,)) != tokenizer.encode((data,))


def test_several_pictures_take_their_own_slots() -> None:
    template = PromptTemplate("{{ image }}{% for each in images[1:] %} and {{ each }}{% endfor %}: {{ question }}", "t")
    prompt = template.render(pictures=3, question="which?")
    assert [s.picture for s in prompt if s.kind is SegmentKind.IMAGE] == [0, 1, 2]
    assert [s.text for s in prompt if s.kind is SegmentKind.TEXT] == [" and ", " and ", ":"]
    assert [s.text for s in template.render(question="which?")] == [":", " which?"]
    assert (template.names, template.shows_several) == ({"question"}, True)
    assert not PromptTemplate("{{ image }}{{ question }}", "t").shows_several


def test_every_prompt_is_filled_from_the_same_values() -> None:
    values = filled({"question": "Who?", "p_min": 0.5, "memory": "Ana", "found": ["a: b"], "domain": 3})
    assert values.keys() == EXAMPLE.keys()
    assert (values["question"], values["memory"], values["found"], values["domain"]) == ("Who?", "Ana", ["a: b"], "3")
    assert (values["draft"], values["seen"], values["history"]) == ("", [], [])
    assert NOTES.keys() < EXAMPLE.keys()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{{ price }}", r"t\.jinja: 'price' is undefined; a prompt may name question, history"),
        ("{% for t in history %}{{ t.what }}{% endfor %}", r"t\.jinja: .*'what'"),
        ("{{ question / 2 }}", r"t\.jinja: unsupported operand"),
    ],
)
def test_a_template_is_tried_before_anybody_needs_it(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "t.jinja").write_text(text)
    with pytest.raises(PromptError, match=reason):
        load_template(tmp_path / "t.jinja", sees=True)
