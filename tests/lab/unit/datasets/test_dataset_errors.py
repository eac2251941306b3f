"""What is not in a benchmark's format gets an error that names file, line and field; never another exception."""

import csv
import json
import random
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quizglass_lab.datasets.benchmarks import read_samples
from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.pocketworld.dataset import export_world
from tests.support.benchmarks import entity_sets, files, search_sets, writing

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def read_all(name: str, paths: list[Path], pictures: Path | None = None) -> None:
    for sample in read_samples(name, paths, pictures=pictures):
        assert isinstance(sample.question, str)
        assert all(isinstance(answer, str) for answer in sample.answers)


def problem(name: str, paths: list[Path], pictures: Path | None = None) -> str | None:
    """What a reader complains about; None when it reads all."""
    try:
        read_all(name, paths, pictures)
    except DatasetError as error:
        return str(error)
    return None


@cache
def pocketworld_lines() -> str:
    with TemporaryDirectory() as temporary:
        export_world(4711, 9, Path(temporary) / "world", questions=4, unknowable=1)
        return (Path(temporary) / "world" / "questions.jsonl").read_text()


def mutated(value: Any, replacement: Any, rng: random.Random) -> Any:
    """One element somewhere in a JSON value is replaced, or left out, or renamed."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        if rng.random() < 0.2:
            return {k: v for k, v in value.items() if k != key}
        if rng.random() < 0.1:
            return {("x" + k if k == key else k): v for k, v in value.items()}
        return {k: mutated(v, replacement, rng) if k == key else v for k, v in value.items()}
    if isinstance(value, list) and value and rng.random() < 0.9:
        place = rng.randrange(len(value))
        return [mutated(v, replacement, rng) if i == place else v for i, v in enumerate(value)]
    return replacement


def _mutate(path: Path, replacement: Any, rng: random.Random) -> None:
    if path.suffix == ".csv":
        rows = list(csv.reader(path.open(encoding="utf-8", newline="")))
        changed = mutated(rows, "x" if replacement is None else str(replacement), rng)
        with path.open("w", encoding="utf-8", errors="surrogatepass", newline="") as file:
            csv.writer(file).writerows(row if isinstance(row, list) else [row] for row in changed)
    elif path.suffix == ".json":
        writing.write_json(path, mutated(json.loads(path.read_text()), replacement, rng))
    else:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        changed = mutated(lines, replacement, rng)
        writing.write_lines(path, changed if isinstance(changed, list) else [changed])


TEXTUAL = [name for name in files.WRITERS if name not in files.TABLES]


@pytest.mark.parametrize("name", [*TEXTUAL, "pocketworld"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(replacement=ANYTHING, seed=st.integers(0, 2**32))
def test_a_changed_record_is_read_or_named(name: str, replacement: Any, seed: int) -> None:
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if name == "pocketworld":
            paths = [folder / "questions.jsonl"]
            paths[0].write_text(pocketworld_lines())
        else:
            paths = files.WRITERS[name](folder)
        rng = random.Random(seed)
        _mutate(rng.choice(paths), replacement, rng)
        (folder / "images").mkdir(exist_ok=True)
        assert str(folder) in (problem(name, paths, folder / "images") or str(folder)), "the file is named"


@settings(max_examples=60, deadline=None)
@given(replacement=ANYTHING, seed=st.integers(0, 2**32), columns=st.booleans())
def test_a_changed_row_of_a_table_is_read_or_named(replacement: Any, seed: int, columns: bool) -> None:
    import pyarrow

    with TemporaryDirectory() as temporary:
        rows = [mutated(row, replacement, random.Random(seed)) for row in search_sets.crag_rows(columns)]
        try:
            paths = search_sets.crag_mm(Path(temporary), rows=[row for row in rows if isinstance(row, dict)])
        except (pyarrow.ArrowException, OverflowError, UnicodeError, ValueError, TypeError, AttributeError):
            return  # no table can hold it
        assert temporary in (problem("crag-mm", paths) or temporary)


@pytest.mark.parametrize("name", [*files.WRITERS])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_damaged_bytes_are_read_or_named(name: str, data: st.DataObject) -> None:
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        paths = files.WRITERS[name](folder)
        path = data.draw(st.sampled_from(paths))
        content = path.read_bytes()
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, len(content)))
        path.write_bytes(content[:start] + data.draw(st.binary(max_size=12)) + content[end:])
        assert str(folder) in (problem(name, paths, folder / "images") or str(folder))


@pytest.mark.parametrize("kind", ["parquet", "stream", "file"])
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), bytes_changed=st.integers(1, 20))
def test_a_table_with_flipped_bytes_is_read_or_named(kind: str, seed: int, bytes_changed: int) -> None:
    with TemporaryDirectory() as temporary:
        (path,) = search_sets.crag_mm(Path(temporary), kind=kind)
        rng, content = random.Random(seed), bytearray(path.read_bytes())
        for _ in range(bytes_changed):
            content[rng.randrange(len(content))] = rng.randrange(256)
        path.write_bytes(content)
        assert temporary in (problem("crag-mm", [path]) or temporary)


@pytest.mark.parametrize(
    ("name", "record", "expected"),
    [
        ("infoseek", {"data_id": "a", "image_id": 5, "question": "?"}, r"q\.jsonl:2: image_id: .*valid string"),
        ("infoseek", {"data_id": "a", "question": "?"}, r"q\.jsonl:2: image_id: .*required"),
        (
            "infoseek",
            {"data_id": "a", "image_id": "oven_1", "question": "?", "answer_eval": [{"range": [1]}]},
            r"q\.jsonl:2: answer_eval\.range: expected two numbers, not \[1\]",
        ),
        (
            "infoseek",
            {"data_id": "a", "image_id": "oven_1", "question": "?", "answer_eval": [{"range": [1, float("nan")]}]},
            r"q\.jsonl:2: answer_eval\.range: expected numbers below 1e308, not \[1, nan\]",
        ),
        ("plain", {"id": "1", "question": "?", "answer_range": [1.0, float("inf")]}, r"q\.jsonl:2: answer_range\.1: "),
        ("dyn-vqa", {"image_url": "u", "question": "?", "question_id": "1"}, r"q\.jsonl:2: answer: .*required"),
        ("cogbench", {"id": "1", "query": "?", "answer": "a", "rounds": [{"action": "web"}]}, r"rounds\.0\.action"),
        ("plain", {"id": "1", "question": "?", "answer_range": [1.0]}, r"q\.jsonl:2: answer_range: expected two"),
        ("plain", ["?"], r"q\.jsonl:2: expected an object with fields, not \['\?'\]"),
    ],
)
def test_a_wrong_field_is_named_with_its_line(tmp_path: Path, name: str, record: Any, expected: str) -> None:
    good = {
        "infoseek": entity_sets.INFOSEEK[0],
        "dyn-vqa": search_sets.DYN_VQA[0],
        "cogbench": search_sets.COGBENCH[0],
        "plain": files.PLAIN[0],
    }[name]
    path = writing.write_lines(tmp_path / "q.jsonl", [good, record])
    with pytest.raises(DatasetError, match=expected):
        read_all(name, [path])


def test_a_wrong_row_of_a_csv_is_named(tmp_path: Path) -> None:
    (path,) = entity_sets.encyclopedic_vqa(tmp_path, [entity_sets.EVQA[1] | {"question_type": "hard"}])
    with pytest.raises(DatasetError, match=r"val\.csv:2: question_type: expected one of templated, .*, not 'hard'"):
        read_all("encyclopedic-vqa", [path])
    path.write_text("question,answer\n?,!\n")
    with pytest.raises(DatasetError, match=r"val\.csv:1: dataset_image_ids: expected a column of that name"):
        read_all("encyclopedic-vqa", [path])


def test_a_wrong_element_of_a_list_is_named(tmp_path: Path) -> None:
    wrong = {"images": [{"image_id": 1, "filename": "a.jpg", "split": "val", "qa_pairs": [{"qa_id": "x"}]}]}
    path = writing.write_json(tmp_path / "v7w.json", wrong)
    with pytest.raises(DatasetError, match=r"v7w\.json, images 1: qa_pairs\.0: qa_id: .*valid integer"):
        read_all("visual7w", [path])


def test_a_wrong_row_of_a_table_is_named(tmp_path: Path) -> None:
    rows = [row | {"answers": 5} for row in search_sets.crag_rows(columns=True)]
    with pytest.raises(DatasetError, match=r"\.parquet, row 1: answers: expected a list of objects or .*, not 5"):
        read_all("crag-mm", search_sets.crag_mm(tmp_path, rows=rows))


def test_what_cannot_be_read_at_all_says_so(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"none\.jsonl: cannot be read: No such file"):
        read_all("plain", [tmp_path / "none.jsonl"])
    with pytest.raises(DatasetError, match="no such benchmark; choose from infoseek"):
        read_all("okvqa", [tmp_path])
    with pytest.raises(DatasetError, match="plain: no files"):
        read_all("plain", [])
    with pytest.raises(DatasetError, match="expected a folder of pictures"):
        read_all("plain", [tmp_path / "q.jsonl"], tmp_path / "nowhere")
    (tmp_path / "q.jsonl.gz").write_bytes(b"not gzip")
    with pytest.raises(DatasetError, match=r"q\.jsonl\.gz: not a whole gzip file"):
        read_all("plain", [tmp_path / "q.jsonl.gz"])
