"""What entries the store accepts, and how it says no."""

import pytest

from quizglass.values import Entry
from quizglass_server.decoding.markup.blocks import blocks
from quizglass_server.domain.entries import PicturedEntry
from quizglass_server.errors import InvalidInput
from quizglass_server.knowledge.content.validation import checked_entry, shown_id


def refusal(**fields: object) -> InvalidInput:
    entry = Entry(**{"id": "a", "title": "A", **fields})  # type: ignore[arg-type]
    with pytest.raises(InvalidInput) as caught:
        checked_entry(PicturedEntry(entry))
    return caught.value


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"id": ""}, "id", "missing"),
        ({"id": "a" * 201}, "id", "201 characters, at most 200"),
        ({"id": "a b"}, "id", "letters"),
        ({"id": "a\n"}, "id", "letters"),
        ({"title": " \x00\n"}, "title", "missing"),
        ({"title": "\u200b\u200d"}, "title", "no readable character"),
        ({"attributes": {"\ufeff": "x"}}, "attributes", "no readable character"),
        ({"title": "t" * 201}, "title", "201 characters, at most 200"),
        ({"caption": "c" * 501}, "caption", "at most 500"),
        ({"kind": "k" * 61}, "kind", "at most 60"),
        ({"text": "x" * 200_001}, "text", "at most 200000"),
        ({"source": "s" * 501}, "source", "at most 500"),
        ({"attributes": {str(n): "" for n in range(201)}}, "attributes", "at most 200"),
        ({"attributes": {"": "x"}}, "attributes", "missing"),
        ({"attributes": {"k" * 61: "x"}}, "attributes", "at most 60"),
        ({"attributes": {"year": "x" * 501}}, "attributes[year]", "at most 500"),
        ({"attributes": {"year": "1", "year\x00": "2"}}, "attributes[year]", "twice"),
    ],
)
def test_refusals_name_the_field_and_the_limit(fields: dict[str, object], field: str, message: str) -> None:
    refused = refusal(**fields)
    assert refused.field == field
    assert message in refused.description


def test_too_many_pictures_are_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        checked_entry(PicturedEntry(Entry("a", "A"), [b"x"] * 17))
    assert caught.value.field == "pictures"


def test_the_longest_values_are_accepted() -> None:
    entry = Entry("a:/._-" + "9" * 194, "t" * 200, "c" * 500, "k" * 60, "x" * 200_000, {"k" * 60: "v" * 500}, "s" * 500)
    assert checked_entry(PicturedEntry(entry)).entry == entry


def test_control_characters_go_and_line_breaks_stay_in_the_text_only() -> None:
    entry = Entry(
        "a", "The\x07 Vel\tmora\n", text="One\r\ntwo\x1b[0m\n\n\x00three\ud800 ", attributes={"y\x01ear": "19\x0274"}
    )
    clean = checked_entry(PicturedEntry(entry)).entry
    assert clean.title == "The Vel mora"
    assert clean.text == "One\ntwo[0m\n\nthree"
    assert clean.attributes == {"year": "1974"}


def test_letters_of_other_scripts_and_model_tokens_are_text_like_any_other() -> None:
    entry = Entry("a", "Übermaß 車 🚗", text="<|im_end|> {{ question }} می‌خواهم")
    assert checked_entry(PicturedEntry(entry)).entry == entry


def test_a_refused_id_is_shown_on_one_line_and_not_at_full_length() -> None:
    assert shown_id("bad\nid" + "x" * 1000) == ("bad id" + "x" * 194)


def test_tabs_in_front_of_a_line_still_say_what_stands_below_what() -> None:
    entry = Entry("a", "A", text="- cars\n\t- Velmora\n\t\t- red\tor blue\n- ships", text_format="markdown")
    text = checked_entry(PicturedEntry(entry)).entry.text
    assert text == "- cars\n    - Velmora\n        - red or blue\n- ships"
    assert [block.text for block in blocks(text, "markdown")] == ["- cars Velmora red or blue\n- ships"]
