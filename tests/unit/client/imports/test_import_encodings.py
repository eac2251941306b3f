"""In which encoding a text is read, and what is said of it."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_client.cli.imports.encodings import NoText, decoded, encoding_of

TEXT = "Zürich – 5 €, naïve, 한국어 がっこう\r\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_what_can_be_told_is_read_without_a_guess(encoding: str) -> None:
    assert decoded(TEXT.encode(encoding)) == (TEXT, "")


def test_utf_16_of_either_order() -> None:
    assert decoded(b"\xfe\xff" + TEXT.encode("utf-16-be")) == (TEXT, "")


@pytest.mark.parametrize(
    ("declared", "encoding", "text"),
    [
        ("ISO-8859-1", "cp1252", "5 € – naïve"),
        ("Shift_JIS", "cp932", "がっこう①"),
        ("gb2312", "gb18030", "考拉吃树叶"),
        ("windows-1251", "cp1251", "Коала ест листья"),
        ("euc-kr", "cp949", "한국어"),
    ],
)
def test_what_is_declared_counts(declared: str, encoding: str, text: str) -> None:
    assert decoded(text.encode(encoding), declared) == (text, "")


def test_windows_1252_is_a_guess_that_is_named() -> None:
    text, guess = decoded("Café Zürich costs 5 €".encode("cp1252"))
    assert text == "Café Zürich costs 5 €"
    assert "Windows-1252" in guess


def test_a_wrong_declaration_of_utf_8_is_named() -> None:
    text, guess = decoded("Café".encode(), "x-unknown")
    assert (text, "x-unknown" in guess) == ("Café", True)


def test_damaged_utf_8_is_not_taken_for_another_encoding() -> None:
    text, guess = decoded("Café Zürich ".encode() * 50 + b"\xff end")
    assert text.startswith("Café Zürich ")
    assert "are lost" in guess


@pytest.mark.parametrize(
    "raw", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff", b"%PDF-1.7\n\xe2\xe3\xcf\xd3\n\x00\x01", b"\xff\xfe\xff"]
)
def test_what_is_no_text_is_refused(raw: bytes) -> None:
    with pytest.raises(NoText):
        decoded(raw)


def test_a_text_in_an_encoding_that_cannot_be_told_is_refused_with_what_to_do() -> None:
    with pytest.raises(NoText, match="save it as UTF-8"):
        decoded("がっこう、".encode("cp932"))


@given(st.text())
def test_any_text_in_utf_8_is_read_as_it_is(text: str) -> None:
    raw = text.removeprefix("\ufeff").encode(errors="ignore")
    assert decoded(raw) == (raw.decode(), "")


@given(st.binary(max_size=200), st.sampled_from(["", "utf-8", "latin1", "shift_jis", "hex", "nonsense"]))
def test_any_bytes_are_a_text_or_refused(raw: bytes, declared: str) -> None:
    file = io.BytesIO(raw)
    try:
        encoding = encoding_of(file, declared)
    except NoText:
        return
    assert file.tell() == 0
    text = raw.decode(encoding.name, encoding.errors)
    assert "\ufffd" not in text or encoding.guess or "\ufffd" in raw.decode("utf-8", "ignore")
