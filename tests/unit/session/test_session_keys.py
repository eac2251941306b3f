"""The file of keys: made once, for its user alone, and refused by name when it holds something else."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from quizglass_server.errors import SettingsError
from quizglass_server.session.dialogue.keys import load_keys


def test_a_key_is_made_once_for_its_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "session.key"
    keys = load_keys(path)
    assert [len(key) for key in keys] == [32]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_keys(path) == keys
    assert [entry.name for entry in tmp_path.iterdir()] == ["session.key"]


def test_servers_that_start_together_get_the_same_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(load_keys, [tmp_path / "session.key"] * 64))) == 1


def test_several_keys_keep_their_order(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"{'0a' * 32}\n\n  {'FF' * 32}\r\n")
    assert load_keys(path) == (b"\x0a" * 32, b"\xff" * 32)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "has no key"),
        (b"\n \n", "has no key"),
        (b"secret\n", "line 1 of .* is no key of 64 hexadecimal digits"),
        (b"00" * 32 + b"\n" + b"00" * 31, "line 2 of"),
        ("schlüssel".encode(), "is no text of hexadecimal digits"),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "session.key"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=f"^session_key_file: .*{said}"):
        load_keys(path)
    assert path.read_bytes() == content


def test_a_place_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"^session_key_file: .*No such file"):
        load_keys(tmp_path / "missing" / "session.key")
    with pytest.raises(SettingsError, match=r"^session_key_file: .*directory"):
        load_keys(tmp_path)
