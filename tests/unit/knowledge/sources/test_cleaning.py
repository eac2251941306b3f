"""Passages of strangers: bounded, plain, and not believed."""

from __future__ import annotations

import math
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.knowledge.sources.cleaning import MAX_TEXT, MAX_TITLE, cleaned
from quizglass_server.knowledge.sources.protocol import Passage, SourceError

ANY_TEXT = st.text(st.characters(), max_size=300) | st.text("<>/abscript&#;x= ", max_size=300)


def clean(text: str, **rest: Any) -> Passage:
    (passage,) = cleaned([Passage(**{"id": "1", "title": "T", "text": text} | rest)], 5)
    return passage


def test_markup_goes_and_its_words_stay() -> None:
    said = "<p>Red <b>lighthouse</b> &amp; harbour</p><script>steal()</script><style>p{}</style>"
    assert clean(said).text == "Red lighthouse & harbour"


def test_signs_that_are_no_markup_stay() -> None:
    assert clean("3 < 5 and a<b, I <3 it").text == "3 < 5 and a<b, I <3 it"


def test_what_steers_terminals_or_cannot_be_encoded_goes() -> None:
    passage = clean("It\u202e is\x00 \x1b[31mred\ud800.", title="a\x07b", id="x\x1b", address="notes\x1b/a.md")
    assert passage == Passage("x", "a b", "It is [31mred .", "notes /a.md")


def test_long_ones_are_cut_between_words() -> None:
    passage = clean("word " * 100_000, title="title " * 1000)
    assert (len(passage.text), passage.text[-5:]) == (MAX_TEXT - 1, " word")
    assert len(passage.title) <= MAX_TITLE


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "HTTPX://a"])
def test_an_address_that_is_no_page_is_dropped(address: str) -> None:
    assert clean("It is red.", address=address).address == ""


@pytest.mark.parametrize("address", ["https://example.org/a?b=c:d", "http://example.org", "notes/a: b.md", "HTTPS://A"])
def test_pages_and_paths_stay(address: str) -> None:
    assert clean("It is red.", address=address).address == address


@pytest.mark.parametrize(
    ("score", "kept"), [(0.5, 0.5), (7, 1.0), (-math.inf, None), (math.nan, None), ("0.9", None), (True, None)]
)
def test_cosines_are_cosines(score: Any, kept: float | None) -> None:
    assert clean("It is red.", score=score).score == kept


@pytest.mark.parametrize("found", [None, 5, ["text"], [{"id": "1"}], [Passage("1", "T", 5)], [Passage("1", None, "x")]])  # type: ignore[arg-type]
def test_what_is_no_list_of_passages_is_refused(found: object) -> None:
    with pytest.raises(SourceError):
        cleaned(found, 5)


def test_no_more_is_read_than_was_asked_for() -> None:
    read = []

    def endless() -> Any:
        while True:
            read.append(1)
            yield Passage(str(len(read)), "T", "It is red.")

    assert len(cleaned(endless(), 3)) == len(read) == 3


def test_one_that_says_nothing_is_left_out() -> None:
    assert cleaned([Passage("1", "T", " <br> "), Passage("2", "T", "It is red.")], 5) == [
        Passage("2", "T", "It is red.")
    ]


@given(ANY_TEXT, ANY_TEXT)
def test_whatever_comes_is_one_line_without_control_characters(text: str, title: str) -> None:
    for passage in cleaned([Passage(text, title, text, text)], 1):
        for part in (passage.id, passage.title, passage.text, passage.address):
            assert part == " ".join(part.split())
            assert not any(unicodedata.category(each) in ("Cc", "Cs") for each in part)
            part.encode()
