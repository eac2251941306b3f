"""`quizglass-lab dataset` counts, converts, and refuses in one line."""

import gzip
import json
from pathlib import Path

import pytest

from quizglass_lab.cli import main
from quizglass_lab.datasets.benchmarks import read_samples
from tests.support.benchmarks import entity_sets, files, search_sets, writing


def test_counts_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(path) for path in search_sets.crag_mm(tmp_path)]
    assert main(["dataset", "crag-mm", *paths, "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)
    assert (counts["questions"], counts["with_answers"], counts["unanswerable"], counts["sessions"]) == (3, 3, 1, 2)
    assert counts["pictures"] == {"at hand": 2, "address only": 1}
    assert counts["splits"] == {"validation": 3}


def test_counts_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(path) for path in entity_sets.encyclopedic_vqa(tmp_path)]
    assert main(["dataset", "encyclopedic-vqa", *paths, "--pictures", str(tmp_path / "images")]) == 0
    shown = capsys.readouterr().out
    assert "encyclopedic-vqa: 4 questions, 4 with answers" in shown
    assert "pictures: not found 2, at hand 2" in shown
    assert "e.g. How big can this plant become? — 20 feet" in shown


@pytest.mark.parametrize("name", [*files.WRITERS])
def test_what_was_written_as_plain_lines_reads_back_the_same(tmp_path: Path, name: str) -> None:
    paths, pictures = files.WRITERS[name](tmp_path), tmp_path / "images"
    out = tmp_path / "out"
    given = ["dataset", name, *map(str, paths), "--pictures", str(pictures), "--out", str(out), "--json"]
    assert main(given) == 0
    before = list(read_samples(name, paths, pictures=pictures))
    after = list(read_samples("plain", [out / "questions.jsonl"]))
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        for field in ("id", "question", "answers", "history", "hops", "votes", "answer_range", "answerable", "session"):
            assert getattr(old, field) == getattr(new, field), field
        assert [p.at_hand for p in old.pictures] == [p.at_hand for p in new.pictures]
        assert [p.read() for p in old.pictures if p.at_hand] == [p.read() for p in new.pictures if p.at_hand]


def test_no_name_of_a_picture_names_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = next(row for row in search_sets.crag_rows(columns=True) if row["image"])
    named = row | {"image": {"bytes": writing.PIXEL, "path": "a.j\0pg"}}
    paths = [str(path) for path in search_sets.crag_mm(tmp_path, rows=[named])]
    assert main(["dataset", "crag-mm", *paths, "--out", str(tmp_path / "out")]) == 0
    assert {path.suffix for path in (tmp_path / "out" / "pictures").iterdir()} == {".jpg"}


def test_a_folder_is_written_whole_or_not_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = writing.write_lines(tmp_path / "q.jsonl", [files.PLAIN[1], {"id": 5}])
    assert main(["dataset", "plain", str(path), "--out", str(tmp_path / "out")]) == 2
    assert "q.jsonl:2: id:" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    (tmp_path / "out").mkdir()
    assert main(["dataset", "plain", str(path), "--limit", "1", "--out", str(tmp_path / "out")]) == 2
    assert "--replace" in capsys.readouterr().err


def test_packed_lines_and_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = tmp_path / "q.jsonl.gz"
    packed.write_bytes(gzip.compress(files.plain(tmp_path)[0].read_bytes()))
    assert main(["dataset", "plain", str(packed), "--limit", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["questions"] == 1
    assert main(["dataset", "plain", str(packed), "--limit", "-1"]) == 2
    assert "--limit -1: expected 0 or more" in capsys.readouterr().err
