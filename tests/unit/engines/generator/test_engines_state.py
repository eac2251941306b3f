"""Where saved prefixes wait: complete or not there, tried once, and only under the models they were made by."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from quizglass_server.engines.generator.process.state import StateDirectory
from quizglass_server.errors import SettingsError


def save(state: StateDirectory, content: str = "prefix") -> None:
    (state.begin() / "0.state").write_text(content)
    state.commit()


def saved(state: StateDirectory) -> str | None:
    directory = state.take()
    return None if directory is None else (directory / "0.state").read_text()


def test_what_was_saved_is_there_for_the_next_run_once(tmp_path: Path) -> None:
    save(StateDirectory(tmp_path / "made" / "below", "aa"))
    state = StateDirectory(tmp_path / "made" / "below", "aa")
    assert saved(state) == "prefix"
    assert state.take() is None, "a state that kills its process is not tried again"
    assert StateDirectory(tmp_path / "made" / "below", "aa").take() is None


def test_no_other_user_may_read_it(tmp_path: Path) -> None:
    state = StateDirectory(tmp_path / "state", "aa")
    save(state)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "state", *(tmp_path / "state").iterdir())} == {
        0o700
    }


def test_what_was_not_finished_is_not_restored(tmp_path: Path) -> None:
    state = StateDirectory(tmp_path, "aa")
    save(state, "old")
    (state.begin() / "0.state").write_text("half")
    assert saved(StateDirectory(tmp_path, "aa")) == "old"


def test_the_state_of_other_models_is_left_alone_and_goes_with_the_next_save(tmp_path: Path) -> None:
    save(StateDirectory(tmp_path, "aa"))
    (tmp_path / "notes.txt").write_text("mine")
    other = StateDirectory(tmp_path, "bb")
    assert other.take() is None
    save(other, "other")
    assert StateDirectory(tmp_path, "aa").take() is None
    assert saved(StateDirectory(tmp_path, "bb")) == "other"
    assert (tmp_path / "notes.txt").exists()


def test_what_was_taken_is_removed(tmp_path: Path) -> None:
    state = StateDirectory(tmp_path, "aa")
    save(state)
    taken = state.take()
    assert taken is not None
    state.taken()
    assert not taken.exists()


@pytest.mark.parametrize("obstacle", ["file", "file below"])
def test_a_directory_that_cannot_be_used_is_a_wrong_setting(tmp_path: Path, obstacle: str) -> None:
    (tmp_path / "taken").write_text("a file")
    root = tmp_path / "taken" if obstacle == "file" else tmp_path / "taken" / "below"
    with pytest.raises(SettingsError, match=r"state_directory.*taken.* cannot be used \(.*\); let this user write it"):
        StateDirectory(root, "aa")


def test_a_file_in_the_place_of_a_state_is_no_state(tmp_path: Path) -> None:
    state = StateDirectory(tmp_path, "aa")
    (tmp_path / "generator-aa").write_text("not a directory")
    directory = state.take()
    assert directory is None or not list(directory.glob("*"))
    save(state)
    assert saved(state) == "prefix"
