"""What an address of the knowledge means, and what is refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_server.config.address import MilvusAddress, knowledge_address
from quizglass_server.knowledge.milvus.rows import fact_digest, sliced, text_literal, tongues


@pytest.mark.parametrize("text", ["knowledge", "/var/lib/knowledge", "../k", "odd dir", "C:", "a:b", "http:x", "k.db"])
def test_a_directory(text: str) -> None:
    assert knowledge_address(text) == Path(text)


@pytest.mark.parametrize(
    ("text", "expected", "in_clear"),
    [
        ("http://localhost:19530", MilvusAddress("http://localhost:19530", "", "localhost"), False),
        ("http://127.0.0.1", MilvusAddress("http://127.0.0.1:19530", "", "127.0.0.1"), False),
        ("http://[::1]:5/", MilvusAddress("http://[::1]:5", "", "::1"), False),
        ("http://milvus:1/shop", MilvusAddress("http://milvus:1", "shop", "milvus"), True),
        ("http://10.0.0.7:1", MilvusAddress("http://10.0.0.7:1", "", "10.0.0.7"), True),
        ("https://db.example.org", MilvusAddress("https://db.example.org:443", "", "db.example.org"), False),
        ("milvus:k.db", MilvusAddress("k.db"), False),
        ("milvus:/var/lib/k.db", MilvusAddress("/var/lib/k.db"), False),
    ],
)
def test_a_milvus(text: str, expected: MilvusAddress, in_clear: bool) -> None:
    made = knowledge_address(text)
    assert made == expected
    assert knowledge_address(str(made)) == made, "its text means the same"
    assert made.leaves_machine_in_clear == in_clear
    assert made.in_process == (not made.host)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("milvus:knowledge", "ends in .db"),
        ("milvus:.db", "ends in .db"),
        ("http://user:secret@host:1", "knowledge_token_file"),
        ("http://host:port", "port"),
        ("http://host:99999", "port"),
        ("http://", "HOST:PORT"),
        ("http://host?x=1", "HOST:PORT"),
        ("http://host/a/b", "database"),
        ("http://host/odd-name", "database"),
        ("ftp://host", "no backend for ftp://"),
        ("milvus+http://host", "no backend"),
    ],
)
def test_a_wrong_address_says_why_and_never_shows_a_password(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as refused:
        knowledge_address(text)
    assert "secret" not in str(refused.value)


@given(st.text(max_size=60))
def test_any_text_is_a_place_or_is_refused(text: str) -> None:
    try:
        made = knowledge_address(text)
    except ValueError:
        return
    assert isinstance(made, MilvusAddress) or str(made) == str(Path(text))


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_literal_ends_only_where_it_ends(text: str) -> None:
    literal = text_literal(text)
    assert (literal[0], literal[-1]) == ('"', '"')
    assert '"' not in literal[1:-1].replace("\\\\", "").replace('\\"', "")
    assert literal.isprintable() or not text.isascii()


@given(st.text(max_size=9), st.text(max_size=9), st.text(max_size=9), st.text(max_size=9))
def test_digests_tell_attributes_apart(key: str, value: str, other: str, else_: str) -> None:
    assert (fact_digest(key, value) == fact_digest(other, else_)) == ((key, value) == (other, else_))


def test_a_language_is_also_what_it_is_part_of() -> None:
    assert tongues("de-CH-1996") == ["de", "de-ch", "de-ch-1996"]
    assert tongues("") == []


@given(st.lists(st.text(max_size=200).map(lambda text: {"key": text})), st.integers(1, 9), st.integers(1, 999))
def test_slices_hold_every_row_in_order(rows: list[dict[str, str]], most: int, most_bytes: int) -> None:
    pieces = list(sliced(rows, most, most_bytes))
    assert [row for piece in pieces for row in piece] == rows
    assert all(0 < len(piece) <= most for piece in pieces)
