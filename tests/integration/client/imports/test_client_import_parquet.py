"""Parquet as pandas, Polars and data sets of Hugging Face write it: each row arrives as it is, or is named."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quizglass_client.cli.imports.entries import BadLine, GoodLine
from quizglass_client.cli.imports.report import ImportReport
from quizglass_client.cli.imports.tables.parquet import ParquetFile
from quizglass_client.terminal.usage import UsageError
from tests.support.rpc_fakes import png

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
ROOT = Path(__file__).parents[4]
MIB = 1 << 20


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.parquet"


def read(path):
    """Entries, refused rows, and what the report says beside them."""
    report = ImportReport()
    lines = list(ParquetFile(path).read(report))
    entries = [line.entry for line in lines if isinstance(line, GoodLine)]
    return entries, [line for line in lines if isinstance(line, BadLine)], report


def written(path, columns, metadata=None, **options):
    rows = len(next(iter(columns.values())))
    first = {"id": [f"x/{number}" for number in range(rows)], "title": ["T"] * rows}
    table = pa.table({**first, **columns})
    parquet.write_table(table.replace_schema_metadata(metadata), path, **options)
    return path


MOMENT = datetime(2024, 5, 1, 12, 30)


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (pa.array([True, False]), ["True", "False"]),
        (pa.array(["x", "y"]).dictionary_encode(), ["x", "y"]),
        (pa.array([4, None]), ["4", ""]),
        (pa.array([12.0, float("nan")]), ["12.0", ""]),
        (pa.array([0.1, 16777216.0], pa.float32()), ["0.1", "16777216.0"]),
        (pa.array([0.1, 65504.0], pa.float16()), ["0.1", "65504.0"]),
        (pa.array([Decimal("1.50"), None]), ["1.50", ""]),
        (pa.array([date(2024, 5, 1), None]), ["2024-05-01", ""]),
        (pa.array([MOMENT, None], pa.timestamp("us")), ["2024-05-01 12:30:00", ""]),
        (pa.array([1_714_566_600_000_000_001, None], pa.timestamp("ns")), ["2024-05-01 12:30:00", ""]),
        (pa.array([MOMENT, None], pa.timestamp("s", "Europe/Berlin")), ["2024-05-01 12:30:00+00:00", ""]),
        (pa.array([time(1, 2, 3), None], pa.time64("ns")), ["01:02:03", ""]),
        (pa.array([timedelta(seconds=90), None], pa.duration("ns")), ["0:01:30", ""]),
        (pa.array([["a", "b"], []]), ["a, b", ""]),
        (pa.array([[1, None, 2], None], pa.list_(pa.int8(), 3)), ["1, 2", ""]),
        (pa.array([None, None]), ["", ""]),
        (pa.array(["é", None], pa.string_view()), ["é", ""]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_values_are_written_as_people_write_them(path, column, text) -> None:
    entries, refused, report = read(written(path, {"said": column}))
    assert ([entry.attributes.get("said", "") for entry in entries], refused, report.complete) == (text, [], True)


def test_times(path) -> None:
    moments = [datetime(2024, 5, 1, tzinfo=UTC), None]
    for kind in (pa.timestamp("ns"), pa.timestamp("ms", "America/New_York"), pa.date32()):
        entries, refused, _ = read(written(path, {"time": pa.array(moments, kind)}))
        assert ([entry.time for entry in entries], refused) == ([1_714_521_600, 0], [])
    entries, refused, _ = read(written(path, {"time": [1_700_000_000.0, float("nan")]}))
    assert ([entry.time for entry in entries], refused) == ([1_700_000_000, 0], [])


def test_the_index_of_a_filtered_frame_is_no_attribute(path) -> None:
    entries, refused, report = read(written(path, {"__index_level_0__": [0, 3]}))
    assert ([entry.attributes for entry in entries], refused, report.complete) == ([{}, {}], [], True)
    assert "an index" in " ".join(report.lines())


def test_an_index_of_words_is_named_as_lost(path) -> None:
    _, _, report = read(written(path, {"__index_level_0__": ["red", "blue"]}))
    assert "the first is 'red'" in " ".join(report.lines())
    assert not report.complete


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[0.5] * 700] * 2),
        pa.array([b"abc", None]),
        pa.array([{"width": 3}, None]),
        pa.array([[{"a": 1}], []]),
        pa.array([[["a"]], []]),
    ],
    ids=lambda column: str(column.type)[:20],
)
def test_a_column_that_no_attribute_can_hold_is_passed_over_by_name_and_its_rows_are_not(path, column) -> None:
    entries, refused, report = read(written(path, {"odd": column, "price": [1, 2]}))
    assert ([entry.attributes for entry in entries], refused) == ([{"price": "1"}, {"price": "2"}], [])
    (line,) = report.lines()
    assert ("column 'odd'" in line, report.complete) == (True, False)


def test_pictures(path, tmp_path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    one = [{"bytes": png(), "path": "x.jpg"}, {"bytes": None, "path": "a.png"}]
    here = (tmp_path / "a.png").resolve()
    for name, column, pictures in [
        ("image", one, [(png(),), (here,)]),
        ("images", [one, None], [(png(), here), ()]),
        ("pictures", [png(), None], [(png(),), ()]),
        ("Pictures", [[png(), png(20)], []], [(png(), png(20)), ()]),
        ("pictures", ["a.png;a.png", ""], [(here, here), ()]),
        ("pictures", [["a.png"], None], [(here,), ()]),
    ]:
        entries, refused, report = read(written(path, {name: column}))
        assert ([entry.pictures for entry in entries], refused, report.complete) == (pictures, [], True)


def test_classes_have_their_names(path) -> None:
    about = {"info": {"features": {"label": {"names": ["cat", "dog"], "_type": "ClassLabel"}, "other": None}}}
    entries, _, _ = read(written(path, {"label": [1, 0]}, {"huggingface": json.dumps(about)}))
    assert [entry.attributes for entry in entries] == [{"label": "dog"}, {"label": "cat"}]
    entries, _, _ = read(written(path, {"label": [1, 7]}, {"huggingface": "{"}))
    assert [entry.attributes for entry in entries] == [{"label": "1"}, {"label": "7"}]


def test_attributes_are_a_map_or_a_struct(path) -> None:
    map_ = pa.array([[("price", "12"), ("odd", None)], []], pa.map_(pa.string(), pa.string()))
    struct = pa.array([{"price": 12, "odd": None}, None])
    for column in (map_, struct):
        entries, refused, _ = read(written(path, {"attributes": column}))
        assert ([entry.attributes for entry in entries], refused) == ([{"price": "12"}, {}], [])
    entries, refused, _ = read(written(path, {"attributes": map_, "price": [None, 13]}))
    assert [entry.attributes for entry in entries] == [{"price": "12"}, {"price": "13"}]
    entries, refused, _ = read(written(path, {"attributes": map_, "price": [11, 13]}))
    assert ([line.line for line in refused], "'price' is there twice" in refused[0].message) == ([1], True)


def test_a_text_that_is_no_utf_8_refuses_its_row(path) -> None:
    bad = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.array([0, 1, 2], pa.int32()).buffers()[1], pa.py_buffer(b"\xffb")]
    )
    entries, refused, _ = read(written(path, {"note": bad}))
    assert ([entry.id for entry in entries], [line.message for line in refused]) == (["x/1"], ["note: is not UTF-8"])


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"title": ["t"]}, "no column 'id'"),
        ({"id": ["a"], "title": ["t"], "ID": ["b"]}, "'id' and 'ID', both for id"),
    ],
)
def test_columns_that_cannot_be_used_are_named(path, columns, says) -> None:
    parquet.write_table(pa.table(columns), path)
    with pytest.raises(UsageError, match=says):
        read(path)


def test_a_file_that_is_none_is_named(path) -> None:
    path.write_bytes(b"PAR1")
    with pytest.raises(UsageError, match=r"t\.parquet is not a Parquet file"):
        read(path)


def dictionary(value, rows):
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([value]))


def zeros(kind, count):
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(bytes(count))])


def of_long_texts():
    return {f"c{number}": dictionary("x" * (20 * MIB), 64) for number in range(4)}


def of_one_long_list():
    items = 20_000_000
    return {"tags": pa.ListArray.from_arrays(pa.array([0, items], pa.int32()), zeros(pa.uint8(), items))}


def of_rows_that_are_all_the_same():
    same = pa.DictionaryArray.from_arrays(zeros(pa.int8(), 20_000_000), pa.array(["a"]))
    return {"id": same, "title": same}


def of_rows_with_long_texts():
    return {"text": dictionary("x" * (2 * MIB), 200)}


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        (of_long_texts, "takes more than 800 MiB"),
        (of_one_long_list, "values of"),
        (of_rows_that_are_all_the_same, "cannot tell them apart"),
        (of_rows_with_long_texts, "more than 200 times what it is"),
    ],
)
def test_a_few_bytes_that_say_much_take_little_memory_and_are_refused(path, columns, says) -> None:
    made = columns()
    rows = len(next(iter(made.values())))
    first = {} if "id" in made else {"id": [f"x/{number}" for number in range(rows)], "title": ["T"] * rows}
    parquet.write_table(pa.table({**first, **made}), path, compression="zstd")
    assert path.stat().st_size < MIB
    code = (
        "import re, resource, sys\nfrom pathlib import Path\n"
        "from quizglass_client.cli.imports.report import ImportReport\n"
        "from quizglass_client.cli.imports.tables.parquet import ParquetFile\n"
        "from quizglass_client.terminal.usage import UsageError\n"
        "try:\n    for line in ParquetFile(Path(sys.argv[1])).read(ImportReport()):\n"
        "        said = getattr(line, 'message', '')\n"
        "except UsageError as error:\n    said = str(error)\n"
        # A child's own peak starts at that of its parent, which it was forked from.
        "own = re.search(r'VmHWM:\\s*(\\d+)', Path('/proc/self/status').read_text())[1]\n"
        "print((int(own) + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) // 1024, said)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    mebibytes, _, said = done.stdout.partition(" ")
    assert says in said, (said, done.stderr)
    assert int(mebibytes) < 1024


_TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
_COLUMNS = st.one_of(
    st.tuples(st.sampled_from([pa.string(), pa.large_string()]), st.lists(st.none() | _TEXTS, min_size=3, max_size=3)),
    st.tuples(
        st.just(pa.int64()), st.lists(st.none() | st.integers(-(1 << 63), (1 << 63) - 1), min_size=3, max_size=3)
    ),
    st.tuples(st.just(pa.float64()), st.lists(st.none() | st.floats(allow_nan=False), min_size=3, max_size=3)),
)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    columns=st.dictionaries(st.sampled_from(["a", "B c", "d.e", "ü"]), _COLUMNS, max_size=4),
    compression=st.sampled_from(["none", "snappy", "zstd"]),
    dictionaries=st.booleans(),
    group=st.integers(1, 3),
)
def test_what_is_written_comes_back_as_it_was(path, columns, compression, dictionaries, group) -> None:
    made = {name: pa.array(values, kind) for name, (kind, values) in columns.items()} or {"a": [None] * 3}
    written(path, made, compression=compression, use_dictionary=dictionaries, row_group_size=group)
    entries, refused, report = read(path)
    assert (refused, report.complete) == ([], True)
    for at, entry in enumerate(entries):
        said = {name: values[at] for name, (_, values) in columns.items()}
        assert entry.attributes == {name: str(value) for name, value in said.items() if value not in (None, "")}


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_a_damaged_file_ends_in_rows_or_in_what_is_wrong(path, data) -> None:
    written(path, {"note": ["a", "b"], "tags": [["x"], None], "when": [MOMENT, None]})
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with suppress(UsageError):
        entries, refused, _ = read(path)
        assert len(entries) + len(refused) > 0
