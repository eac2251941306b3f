"""A llama-server that cannot be started is refused by its setting, before anything is tried."""

from __future__ import annotations

from pathlib import Path

import pytest

from quizglass_server.engines.generator.process import programs
from quizglass_server.engines.generator.process.programs import find_program
from quizglass_server.errors import EngineFailed, SettingsError


def test_a_named_file_that_cannot_be_started_says_what_to_do(tmp_path: Path) -> None:
    plain = tmp_path / "llama-server"
    for place, says in ((plain, "does not exist; name llama.cpp's"), (tmp_path, "is a directory; name the file")):
        with pytest.raises(SettingsError, match=f"llama_server: .*{says}"):
            find_program(place)
    plain.write_text("#!/bin/sh\n")
    plain.chmod(0o644)
    with pytest.raises(SettingsError, match=r"llama_server: .* cannot be executed by this user; chmod \+x it"):
        find_program(plain)
    plain.chmod(0o755)
    assert find_program(plain).command == (str(plain),)


def test_where_none_is_installed_both_ways_to_one_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "find_spec", lambda name: None)
    with pytest.raises(
        EngineFailed, match=r"llama-server is not installed; .*pip install .* or name one: --llama-server"
    ):
        find_program()
