"""Worlds that benchmarks draw once, and what lies beside them."""

from pathlib import Path
from typing import Any

import pytest

from bench import worlds
from quizglass_lab.pocketworld.questions import make_questions
from quizglass_lab.pocketworld.world import make_world


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Versions of the code whose entries were written."""
    found: list[str] = []

    def write(world: Any, folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "entries.jsonl").write_text(worlds._drawer())
        found.append(worlds._drawer())

    monkeypatch.setattr(worlds, "write_entries", write)
    return found


def test_a_world_is_drawn_once_and_anew_when_the_code_that_draws_it_changes(
    written: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, knowledge = tmp_path / "world", tmp_path / "world" / "knowledge"
    for _ in range(2):
        worlds.prepare(7, 420, 8, world)
        knowledge.mkdir(exist_ok=True)
    assert len(written) == 1
    monkeypatch.setattr(worlds, "_drawer", lambda: "another")
    worlds.prepare(7, 420, 8, world)
    assert (len(written), written[-1], (world / "entries.jsonl").read_text()) == (2, "another", "another")
    assert not knowledge.exists(), "a server would take it for the new world's, which has as many entries"


def test_what_servers_made_of_a_world_goes_when_the_code_that_stores_it_changes(
    written: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worlds.prepare(7, 420, 8, tmp_path / "world")
    stored = tmp_path / "world" / "knowledge"
    stored.mkdir()
    before = worlds.code
    monkeypatch.setattr(
        worlds, "code", lambda *of: before(*of) + ("+" if any("knowledge" in each.__name__ for each in of) else "")
    )
    worlds.prepare(7, 420, 8, tmp_path / "world")
    assert (len(written), stored.exists()) == (2, False)


def test_a_world_whose_writing_was_interrupted_is_written_anew(written: list[str], tmp_path: Path) -> None:
    (tmp_path / "world").mkdir()
    (tmp_path / "world" / "entries.jsonl").write_text("half a li")
    worlds.prepare(7, 420, 8, tmp_path / "world")
    assert len(written) == 1


def test_neither_way_is_asked_first_of_all_questions_of_a_kind() -> None:
    questions = make_questions(make_world(5, 60), 400, 5)
    assert [question.group for question in questions[:8]] == ["none", "image", "text", "both"] * 2, "they come in turn"
    for group in ("none", "image", "text", "both"):
        first = [worlds.in_own_order(q.id, ("ours", "theirs"))[0] for q in questions if q.group == group]
        assert 25 < first.count("ours") < 75
