"""The knowledge benchmark's own arithmetic, its workers and its plot; nothing is measured here."""

import json
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import results
from bench.knowledge import __main__ as command
from bench.knowledge import faults, setup, speed
from bench.knowledge.__main__ import SECTIONS
from bench.knowledge.damage import role
from bench.knowledge.plot import knowledge
from bench.knowledge.worker import Absent, Worker
from bench.results import Row
from bench.sections import Part


@given(st.integers(10, 1024))
def test_the_least_ef_with_enough_recall_is_found(enough: int) -> None:
    assert speed.least(lambda ef: 0.995 if ef >= enough else 0.9) == enough


def test_a_contender_that_never_reaches_the_recall_has_no_ef() -> None:
    assert speed.least(lambda _: 0.98) is None


def worker(program: str) -> Worker:
    return Worker("other", [sys.executable, "-c", program])


def test_a_worker_answers_and_what_libraries_print_is_passed_over() -> None:
    asked = worker("import json; print('{\"ready\": true}'); print('hello'); print(json.dumps(json.loads(input())))")
    assert asked.ask("search", ef=7) == {"do": "search", "ef": 7}
    asked.close()


def test_a_worker_that_cannot_run_or_dies_says_why() -> None:
    with pytest.raises(Absent, match="no such library"):
        worker('print(\'{"absent": "no such library"}\')')
    asked = worker("print('{\"ready\": true}', flush=True); input(); raise SystemExit(3)")
    with pytest.raises(Absent, match="ended with 3"):
        asked.ask("search")
    asked.close()


def test_a_worker_that_died_before_it_was_asked_can_be_closed() -> None:
    asked = worker("print('{\"ready\": true}', flush=True)")
    asked._process.wait()
    with pytest.raises(Absent, match="ended with 0"):
        asked.ask("search")
    asked.close()


def test_damage_and_kills_become_rows() -> None:
    outcomes = {"right": 5, "refused": 3, "repaired": 1, "wrong": 1, "repair-crashed": 1}
    files = {"closed marker": outcomes, "crashed marker": outcomes}
    part = faults.damaged({"each": 1000, "files": files, "outcomes": outcomes})
    assert [(row.value, row.ok) for row in part.rows] == [(1, False), (1, False), (5, None), (3, None), (1, None)]
    assert "1,000 mutations of each of 1 files" in part.rows[0].name
    part = faults.killed({"kills": 9, "lost": 0, "under load": 7, "acknowledged": 50})
    assert [(row.value, row.ok) for row in part.rows] == [(0, True), (7, None), (50, None)]


def test_files_are_known_by_what_they_are() -> None:
    files = ["graphs/chunks-6-58b2ed08895f.index", "graphs/chunks-7-00.index", "knowledge.sqlite3-wal", "lock"]
    assert Counter(map(role, files)) == {"chunks": 2, "knowledge.sqlite3-wal": 1, "lock": 1}


def test_libraries_that_could_not_be_installed_are_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "peers-venv-knowledge" / "bin" / "python"
    python.parent.mkdir(parents=True)
    tried = tmp_path / "tried"
    offline = tmp_path / "offline"
    offline.touch()
    python.write_text(f'#!/bin/sh\necho "$*" >>{tried}\n[ ! -e {offline} ]\n')
    python.chmod(0o755)
    for most in (len(setup._LIBRARIES), 2 * len(setup._LIBRARIES), 2 * len(setup._LIBRARIES)):
        assert setup.environment(tmp_path, lambda _: None) == python
        assert len(tried.read_text().splitlines()) == most, "again while something is missing, and not after that"
        offline.unlink(missing_ok=True)


def test_the_plot_shows_what_was_measured(tmp_path: Path) -> None:
    points = [{"recall": 0.9, "p50_us": 50.0}, {"recall": 0.99, "p50_us": 90.0}]
    data = {
        "index-10k": {"curves": {"quizglass index": points, "faiss": points}},
        "store-10k": {"rounds_us": {"quizglass": [300.0, 310.0], "Chroma": [1000.0]}},
    }
    path = knowledge(data, tmp_path)
    assert path is not None
    assert path.read_bytes().startswith(b"\x89PNG")
    assert knowledge({"rare": {}}, tmp_path) is None


def test_every_section_says_what_it_is() -> None:
    assert list(SECTIONS) == ["index-10k", "index-100k", "store-10k", "store-100k", "rare", "damage", "kills"]


def test_a_section_without_peers_installs_none_and_leaves_their_published_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, starter_bundle: Path
) -> None:
    def install(*_: object) -> Path:
        raise AssertionError("installed")

    monkeypatch.setattr(command, "environment", install)
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    monkeypatch.setitem(SECTIONS, "kills", lambda _: Part([Row("kills", 1.0, "")]))
    (tmp_path / "results").mkdir()
    file = tmp_path / "results" / "knowledge.json"
    file.write_text(json.dumps({"rows": [], "data": {}, "sections": {}, "peers": {"usearch": "2.0"}}))
    assert command.main(["--only", "kills", "--workdir", str(tmp_path), "--bundle", str(starter_bundle)]) == 0
    assert json.loads(file.read_text())["peers"] == {"usearch": "2.0"}


def test_what_is_published_of_rounds_has_ours_whatever_becomes_of_those_that_are_compared() -> None:
    class Contender:
        def ask(self, _: str, *, ef: int, of: int) -> dict[str, float]:
            return {"recall": 1.0, "p50_us": float(ef + of)}

    part, run = Part(), SimpleNamespace(rounds=2, say=lambda _: None)
    names = ("quizglass", "Chroma")
    workers = cast(dict[str, Worker], {name: Contender() for name in names})
    rounds = speed.at_equal_recall(workers, cast(Any, run), part)
    assert rounds.pop("quizglass") == [11.0, 12.0]
    assert part.data["rounds_us"] == {name: [11.0, 12.0] for name in names}
