"""Tokens for other servers, read from the file that a setting names."""

from __future__ import annotations

from pathlib import Path

import pytest

from quizglass_server.config.token_file import token_of
from quizglass_server.errors import SettingsError


def _read(file: Path | None) -> str:
    return token_of(file, "a_token_file", ": user:password or a key")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot be read"),
        (b"", "holds no token"),
        (b"two words", "one word: user:password or a key"),
        (b"\xff", "is not text"),
        ("k\u00e9y".encode(), "holds no token"),
    ],
    ids=["missing", "empty", "two-words", "binary", "not-ascii"],
)
def test_what_is_no_token_is_refused_by_the_setting_and_not_shown(
    tmp_path: Path, content: bytes | None, why: str
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SettingsError, match=f"a_token_file: .*{why}") as refused:
        _read(file)
    assert "words" not in str(refused.value)


def test_a_token_is_one_word_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("root:Milvus\n")
    assert _read(file) == "root:Milvus"
    assert _read(None) == ""
