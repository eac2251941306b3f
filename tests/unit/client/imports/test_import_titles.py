"""The title that a document gives itself, by Markdown's and HTML's rules."""

from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_client.cli.imports.texts.html_pages import declared_encoding
from quizglass_client.cli.imports.texts.titles import first_words, title_of_markup
from quizglass_client.names.titles import first_sentence


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Tarvik bicycle\n==============\n\nText.\n\n# Where it is sold\n", "Tarvik bicycle"),
        ("Ostrava clock\n-------------\n\nText.\n\n# Where it is sold\n", "Ostrava clock"),
        ("```sh\n# install everything first\n```\n\n# Brondal press\n", "Brondal press"),
        ("~~~\n# no\n~~~\n\n    # no\n\n# Brondal press", "Brondal press"),
        ("<!--\n# notes to myself\n-->\n\n# Ostrava clock\n", "Ostrava clock"),
        ("<svg><title>icon</title></svg>\n\n# Ostrava clock\n", "Ostrava clock"),
        ("<h1 align=center>Ulmo <i>drill</i></h1>\n\nText.", "Ulmo drill"),
        ("# **Lumera** [lamp](https://example.org/lamp) `v2` &amp; more \\#1\n", "Lumera lamp v2 & more #1"),
        ("# [Lumera][1]\n\n" + "Text. " * 1000 + "\n\n[1]: https://example.org\n", "Lumera"),
        ("# ![Lumera](logo.png)\n", "Lumera"),
        ("# Closed ##\n", "Closed"),
        ("# About C#\n", "About C#"),
        ("  # Indented\n", "Indented"),
        ("# Mac lines\rThe Mac lines costs 6 crowns.\r\rIt is blue.\r", "Mac lines"),
        ("#Nospace\n\nThe Nospace is no heading.\n", ""),
        ("Text first.\n\n# Then the heading\n", "Then the heading"),
        ("## Koala\n\nIt eats.\n\n### Food\n\nLeaves.", "Koala"),
        ("## Price\n\n45 crowns.\n\n## Weight\n\n2 kg.", ""),
        ("#\n\n# Second", "Second"),
        ("\n" * 3000 + "# Far below\n", "Far below"),
        ("Just text.", ""),
        ("", ""),
    ],
)
def test_titles_of_markdown(text: str, title: str) -> None:
    assert title_of_markup(text, "markdown") == title


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("<svg><title>menu icon</title></svg><h1>Hollis chair</h1><p>Text", "Hollis chair"),
        (
            "<svg><symbol><title>a</title></symbol><svg></svg><title>b</title></svg><h1>Hollis chair</h1>",
            "Hollis chair",
        ),
        ("<title>Hollis chair - The shop</title><header><h1>Hollis <b>chair</b></h1></header>", "Hollis chair"),
        ("<html><title>A &amp; B</title><p>Text</p></html>", "A & B"),
        ("<!-- <h1>no</h1> --><template><h1>no</h1></template><h1>Yes</h1>", "Yes"),
        ("<script>'<h1>no</h1>'</script><nav><h1>no</h1></nav><h1\n class=a>Yes</H1 >", "Yes"),
        ("<h1>Not closed<p>Text", "Not closed"),
        ("<h1><div>Within</div></h1>", "Within"),
        ("<h1><img alt='Lumera lamp' src=x></h1>", "Lumera lamp"),
        ("<h2>Koala</h2><p>Text", "Koala"),
        ("<p>Text", ""),
        ("<h1>&#" + "1" * 6000 + ";Odd</h1>", "Odd"),
    ],
)
def test_titles_of_html(page: str, title: str) -> None:
    assert title_of_markup(page, "html") == title


@pytest.mark.parametrize(
    ("text", "title"),
    [("Theta\n=====\n\nText.", "Theta"), ("=====\nTheta\n=====\nText", "Theta"), ("Theta\n==\n", ""), ("a\nb\n", "")],
)
def test_titles_of_plain_text_are_underlined(text: str, title: str) -> None:
    assert title_of_markup(text, "") == title


def test_the_first_words_of_what_has_no_title() -> None:
    assert first_words("A **red** kettle. It is old.", "markdown") == "A red kettle"
    assert first_words("<style>p{}</style><p>A red</p><p>kettle</p>", "html") == "A red kettle"
    assert len(first_words("word " * 400, "")) <= 80


@pytest.mark.parametrize(
    ("raw", "encoding"),
    [
        (b"<meta charset=Shift_JIS>", "Shift_JIS"),
        (b"<head><META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset=windows-1251'>", "windows-1251"),
        (b'<?xml version="1.0" encoding="ISO-8859-1"?><html>', "ISO-8859-1"),
        (b"<!-- <meta charset=no> --><script>'<meta charset=no>'</script><meta charset=koi8-r>", "koi8-r"),
        (b"<meta name=description content='charset=no'><p>charset=no", ""),
    ],
)
def test_the_encoding_that_a_page_declares(raw: bytes, encoding: str) -> None:
    assert declared_encoding(raw) == encoding


@given(
    st.text(st.sampled_from("ab#*_<>/h1tile-`\n &;[]()!\"'=~+"), max_size=200),
    st.sampled_from(["markdown", "html", ""]),
)
def test_any_text_has_a_title_on_one_line_or_none(text: str, text_format: str) -> None:
    title = title_of_markup(text, text_format)
    assert title == " ".join(title.split())


@pytest.mark.parametrize("piece", ["[", "![a", "*a", "<", "<h1>", "<!--", "<a ", "> ", "&#1"])
@pytest.mark.parametrize("text_format", ["markdown", "html"])
def test_a_title_is_found_soon_whatever_the_text_is(piece: str, text_format: str) -> None:
    before = thread_time()
    title_of_markup(piece * (4_000_000 // len(piece)), text_format)
    assert thread_time() - before < 5


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Aunt Gerda's aloe. Water every three weeks.", "Aunt Gerda's aloe"),
        ("Dr. Fox's key, no. 12. Blue.", "Dr. Fox's key, no. 12"),
        ("\n The mug \nof my brother", "The mug"),
        ("Wow! A boat.", "Wow!"),
        ("赤いやかん。 古い。", "赤いやかん"),
        (" ", ""),
    ],
)
def test_the_first_sentence_is_a_title_without_its_full_stop(text: str, title: str) -> None:
    assert first_sentence(text) == title
