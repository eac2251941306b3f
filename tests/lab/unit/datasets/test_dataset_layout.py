"""A benchmark's files are found in a folder by the names under which they are published."""

import gzip
import zipfile
from pathlib import Path

import pytest

from quizglass_lab.datasets.benchmarks import BENCHMARKS
from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.datasets.reading.files import json_lines, json_values
from tests.support.benchmarks import files, search_sets

SPLITS = {"encyclopedic-vqa": "val"}


@pytest.mark.parametrize("name", [*files.WRITERS])
def test_every_benchmark_is_found_by_its_published_names(tmp_path: Path, name: str) -> None:
    written = files.WRITERS[name](tmp_path)
    found = BENCHMARKS[name].layout.find(tmp_path, SPLITS.get(name, ""))
    assert set(found) == {path for path in written if "pointing" not in path.name}


def test_of_versions_the_newest_counts(tmp_path: Path) -> None:
    for month in ("202406", "202502", "202408"):
        (tmp_path / f"DynVQA_en.{month}.jsonl").touch()
    (tmp_path / "DynVQA_zh.202502.jsonl").touch()
    layout = BENCHMARKS["dyn-vqa"].layout
    assert [path.name for path in layout.find(tmp_path)] == ["DynVQA_en.202502.jsonl"]
    assert [path.name for path in layout.find(tmp_path, "zh")] == ["DynVQA_zh.202502.jsonl"]


def test_a_packed_file_is_found_where_none_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "infoseek_val.jsonl.gz").write_bytes(gzip.compress(b"{}"))
    layout = BENCHMARKS["infoseek"].layout
    assert [path.name for path in layout.find(tmp_path)] == ["infoseek_val.jsonl.gz"]
    (tmp_path / "infoseek_val.jsonl").touch()
    assert [path.name for path in layout.find(tmp_path)] == ["infoseek_val.jsonl"]


def test_two_data_sets_side_by_side_are_not_mixed(tmp_path: Path) -> None:
    for name in ("crag-mm-single-turn-public", "crag-mm-multi-turn-public"):
        search_sets.crag_mm_in(tmp_path / name / "data")
    layout = BENCHMARKS["crag-mm"].layout
    with pytest.raises(DatasetError, match=r"lies in several folders; name one of .*multi-turn.*single-turn"):
        layout.find(tmp_path)
    assert len(layout.find(tmp_path / "crag-mm-multi-turn-public")) == 1


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"no OpenEnded_mscoco_val2014_questions.json or mscoco_val2014"):
        BENCHMARKS["ok-vqa"].layout.find(tmp_path)


def test_a_split_in_the_name_of_a_file_is_no_split_of_samples() -> None:
    assert BENCHMARKS["infoseek"].layout.of_samples("val") == ""
    assert BENCHMARKS["livevqa"].layout.of_samples("news") == "news"
    assert BENCHMARKS["visual7w"].layout.of_samples() == "test"


def test_an_archive_of_one_file_is_read_as_that_file(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "kb.zip", "w") as archive:
        archive.writestr("__MACOSX/._kb.json", "x")
        archive.writestr("kb.json", '{"a": {"n": 1}, "b": {}}')
    assert [(key, value) for _, key, value in json_values(tmp_path / "kb.zip")] == [("a", {"n": 1}), ("b", {})]
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.jsonl", "{}")
        archive.writestr("b.jsonl", "{}")
    with pytest.raises(DatasetError, match="holds 2 files; unpack it"):
        list(json_lines(tmp_path / "two.zip"))
    (tmp_path / "bad.zip").write_bytes(b"PK no")
    with pytest.raises(DatasetError, match="not a whole zip file"):
        list(json_lines(tmp_path / "bad.zip"))


def test_a_member_that_is_no_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "kb.json").write_text('{"a": 1, "b": }')
    with pytest.raises(DatasetError, match=r"kb.json, member 2: not valid JSON"):
        list(json_values(tmp_path / "kb.json"))
