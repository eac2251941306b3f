"""Private files are private whatever lies in their place, and whole or not written."""

from pathlib import Path

import pytest

from quizglass_client.files import write_private


def test_a_planted_file_is_neither_written_to_nor_followed(tmp_path: Path) -> None:
    others = tmp_path / "others.txt"
    others.write_bytes(b"theirs")
    (tmp_path / ".walk.session.new").symlink_to(others)
    private = tmp_path / "walk.session"
    private.write_bytes(b"for all to read")
    private.chmod(0o644)
    write_private(private, b"mine")
    assert (private.read_bytes(), private.stat().st_mode & 0o777) == (b"mine", 0o600)
    assert others.read_bytes() == b"theirs"


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        write_private(tmp_path / "folder", b"mine")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
