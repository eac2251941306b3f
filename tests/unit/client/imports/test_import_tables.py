"""Tables of text as Excel, pandas and others write them: each row arrives as it is, or is named."""

from __future__ import annotations

import codecs
import csv
import io
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from quizglass_client.cli.imports.entries import BadLine, GoodLine
from quizglass_client.cli.imports.report import ImportReport
from quizglass_client.cli.imports.tables.text import read_csv
from quizglass_client.terminal.usage import UsageError


def read(path: Path, content: bytes | str) -> tuple[dict[str, object], list[BadLine], ImportReport]:
    """Entries by their ids, refused rows, and what the report says beside them."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    report = ImportReport()
    lines = list(read_csv(path, report))
    entries = {line.entry.id: line.entry for line in lines if isinstance(line, GoodLine)}
    return entries, [line for line in lines if isinstance(line, BadLine)], report


@pytest.fixture
def table(tmp_path):
    return tmp_path / "t.csv"


@pytest.mark.parametrize(
    ("content", "attributes"),
    [
        ("id;title;price\r\na;A;12,50\r\n", {"price": "12,50"}),
        ("sep=;\r\nid;title;price\r\na;A;12,50\r\n", {"price": "12,50"}),
        ('"sep=|"\nid|title|price\na|A|12,50\n', {"price": "12,50"}),
        ("\ufeffid\ttitle\tprice\na\tA\t12,50\n", {"price": "12,50"}),
        ("id,title,price\ra,A,12\r", {"price": "12"}),
        ("ID, Title ,Unit Price\na,A,12\n", {"Unit Price": "12"}),
        ("id, title, price\na, A, 12\n", {"price": "12"}),
        ('id, title, price\na, A, "12, or 13"\n', {"price": "12, or 13"}),
        ("id,title,price,\na,A,12,\n", {"price": "12"}),
        ("id,title,price\na,A,12,,,\n", {"price": "12"}),
        ('id,title,price\na,A,=HYPERLINK("http://x")\n', {"price": '=HYPERLINK("http://x")'}),
        ('id,title,attributes\na,A,"{""price"": 12}"\n', {"price": "12"}),
    ],
)
def test_tables_of_other_programs_are_taken_as_they_are(table, content, attributes) -> None:
    entries, refused, report = read(table, content)
    assert (entries["a"].title, entries["a"].attributes, refused, report.complete) == ("A", attributes, [], True)


@pytest.mark.parametrize(
    ("cell", "facts"),
    [
        ('{"price": 45.10, "mass": 1e3}', {"price": "45.10", "mass": "1e3"}),
        ('{"serial": 12345678901234567.125}', {"serial": "12345678901234567.125"}),
        ('{"sold": true, "new": false, "maker": null}', {"sold": "true", "new": "false"}),
        ('{"colours": ["red", 1.50, true, null], "empty": []}', {"colours": "red, 1.50, true"}),
    ],
)
def test_attributes_in_a_cell_are_what_is_written_there(table, cell, facts) -> None:
    entries, refused, _ = read(table, 'id,title,attributes\na,A,"{}"\n'.format(cell.replace('"', '""')))
    assert (refused, entries["a"].attributes) == ([], facts)


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ('{"price": "45", "price": "50"}', "'price' is there twice"),
        ('{"size": {"height": 2}}', "'size' must be a text or a number"),
        ('{"size": [{"height": 2}]}', "'size' must be a text or a number"),
        ('{"size": [[1, 2]]}', "'size' must be a text or a number"),
    ],
)
def test_attributes_in_a_cell_of_which_something_would_be_lost_are_refused(table, cell, says) -> None:
    entries, refused, _ = read(table, 'id,title,attributes\na,A,"{}"\nb,B,\n'.format(cell.replace('"', '""')))
    assert (list(entries), [(line.line, says in line.message) for line in refused]) == (["b"], [(2, True)])


@pytest.mark.parametrize(
    ("said", "meant"), [("20240501", "2024-05-01"), ("1974", "1974-01-01"), ("1974.0", "1974-01-01")]
)
def test_a_year_or_a_date_without_marks_is_no_number_of_seconds(table, said, meant) -> None:
    entries, refused, _ = read(table, f"id,title,time\na,A,{said}\nb,B,20240231\n")
    assert ([entry.time for entry in entries.values()], [line.line for line in refused]) == ([20_240_231], [2])
    assert meant in refused[0].message


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_says_the_encoding(table, encoding) -> None:
    entries, refused, report = read(table, "id,title\na,Café Zürich 🙂\n".encode(encoding))
    assert (entries["a"].title, refused, report.complete) == ("Café Zürich 🙂", [], True)


def test_what_excel_writes_in_western_languages_is_read_and_named_as_a_guess(table) -> None:
    entries, _, report = read(table, "id;title\na;Café “blue”\n".encode("cp1252"))
    assert (entries["a"].title, report.complete) == ("Café “blue”", False)
    assert "Windows-1252" in " ".join(report.lines())


def test_in_a_damaged_table_the_rows_that_can_be_read_are(table) -> None:
    entries, refused, _ = read(table, "id,title\na,Café\nb,Z\xfcrich\nc,Öl\n".encode().replace("ü".encode(), b"\xfc"))
    assert ([entry.title for entry in entries.values()], [line.line for line in refused]) == (["Café", "Öl"], [3])


def test_a_utf_16_table_that_breaks_off_says_where(table) -> None:
    entries, refused, report = read(table, "id,title\na,A\nb,B\n".encode("utf-16")[:-1])
    assert "a" in entries
    assert refused or not report.complete


def test_the_index_that_pandas_writes_is_no_attribute(table) -> None:
    for header in ("", "Unnamed: 0", "__index_level_0__"):
        entries, refused, report = read(table, f"{header},id,title\n0,a,A\n7,b,B\n")
        assert ({id_: entry.attributes for id_, entry in entries.items()}, refused) == ({"a": {}, "b": {}}, [])
        assert (report.complete, "an index" in " ".join(report.lines())) == (True, True)


def test_what_stands_in_a_column_without_a_name_is_named(table) -> None:
    entries, refused, report = read(table, "id,title,\na,A,check this\nb,B,\nc,C,and that\n")
    assert (len(entries), refused, report.complete) == (3, [], False)
    (line,) = report.lines()
    assert ("column 3" in line, "passed over: 2, the first is 'check this'" in line) == (True, True)


def test_a_column_whose_name_no_attribute_can_have_is_named(table) -> None:
    entries, refused, report = read(table, f"id,title,{'x' * 61},price\na,A,said,12\n")
    assert (entries["a"].attributes, refused, report.complete) == ({"price": "12"}, [], False)
    assert "a name of more than 60 characters" in " ".join(report.lines())


def test_blank_rows_are_counted_and_lines_are_those_of_the_file(table) -> None:
    entries, refused, report = read(table, 'id,title,text\na,A,"1\n\n2"\n,,\n\nb\nc,C,x\n')
    assert (list(entries), [line.line for line in refused]) == (["a", "c"], [7])
    assert (entries["a"].text, report.left_out) == ("1\n\n2", {"blank rows": 2})


def test_a_quotation_mark_out_of_place_loses_its_row_alone(table) -> None:
    entries, refused, _ = read(table, 'id,title\na,5" pipe\nb,"9" pipe\nc,C\n"d,D\ne,"E"\nf,F\n')
    assert (list(entries), [line.line for line in refused]) == (["a", "c", "f"], [3, 5])
    assert entries["a"].title == '5" pipe'
    assert "up to line 6" in refused[1].message


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("1700000000", 1_700_000_000),
        ("1700000000.0", 1_700_000_000),
        ("", 0),
        (" 5 ", 5),
        ("2024-05-01", 1_714_521_600),
        ("2024-05-01 12:00:00", 1_714_564_800),
        ("2024-05-01T12:00:00Z", 1_714_564_800),
        ("2024-05-01T12:00:00+02:00", 1_714_557_600),
    ],
)
def test_times(table, said, seconds) -> None:
    entries, refused, _ = read(table, f"id,title,time\na,A,{said}\n")
    assert (entries["a"].time, refused) == (seconds, [])


@pytest.mark.parametrize("said", ["time,-86400", "time,1931-05-01", "time,soon", "time,1.5", "expires_after,-1"])
def test_times_that_an_entry_cannot_have_are_refused_by_name(table, said) -> None:
    field, value = said.split(",")
    entries, refused, _ = read(table, f"id,title,{field}\na,A,{value}\nb,B,\n")
    assert (list(entries), [line.line for line in refused]) == (["b"], [2])
    assert refused[0].message.startswith(f"{field}: ")


def test_nul_characters_are_named(table) -> None:
    entries, _, report = read(table, "id,title\na,Kol\0bert\n")
    assert (entries["a"].title, report.complete, *report.lines()) == (
        "Kolbert",
        False,
        "line 2: cut: has NUL characters, which were left out",
    )


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "no header"),
        ("\n\n", "no header"),
        ("name,price\nA,12\n", "no column 'id'"),
        ("id,name\na,A\n", "no column 'title'; its columns are id, name"),
        ("id,title,Title\na,A,B\n", "'title' and 'Title', both for title"),
        ("id,title,note,note\na,A,,\n", "the column 'note' twice"),
        ("id,title" + "," * 20_000 + "\n", "20002 columns"),
    ],
)
def test_a_header_that_cannot_be_used_is_named(table, content, says) -> None:
    with pytest.raises(UsageError, match=says):
        read(table, content)


def test_pictures_are_named_as_on_windows(table, tmp_path) -> None:
    (tmp_path / "img").mkdir()
    (tmp_path / "img" / "a.png").touch()
    entries, refused, _ = read(table, "id,title,pictures\na,A,img\\a.png\nb,B,..\\secret.png\n")
    assert entries["a"].pictures == ((tmp_path / "img" / "a.png").resolve(),)
    assert [(line.line, line.field, "leads out of" in line.message) for line in refused] == [(3, "pictures[0]", True)]


def test_a_row_of_any_length_is_refused_before_it_is_kept(table) -> None:
    cells = '"' + "x" * 999_990 + '\n"'
    entries, refused, _ = read(table, f"id,title\na,{','.join([cells] * 40)}\n" + "b," + "," * 400_000 + "\nc,C\n")
    assert (entries.keys(), [line.line for line in refused][:1]) == ({"c"}, [2])
    assert "more than" in refused[0].message


_NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp"]), min_size=1, max_size=9
)
_CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=20)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    names=st.lists(_NAMES, max_size=4, unique_by=str.casefold),
    rows=st.data(),
    delimiter=st.sampled_from(",;\t|"),
    ends=st.sampled_from(["\n", "\r\n", "\r"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
)
def test_what_any_program_writes_comes_back_as_it_was(table, names, rows, delimiter, ends, encoding, quoting) -> None:
    known = {"id", "title", "text", "caption", "kind", "source", "language", "textformat", "time", "expiresafter"}
    assume(
        not any(
            name.casefold().replace("_", "").replace("-", "") in known | {"pictures", "attributes"} for name in names
        )
    )
    drawn = rows.draw(st.lists(st.lists(_CELLS, min_size=len(names), max_size=len(names)), max_size=5))
    file = io.StringIO(newline="")
    if ends == "\r":
        quoting = csv.QUOTE_ALL  # Python's own writer leaves "\n" in a cell without quotation marks then
    writer = csv.writer(file, delimiter=delimiter, lineterminator=ends, quoting=quoting)
    writer.writerow(["id", "title", *names])
    writer.writerows([[f"x/{number}", "T", *cells] for number, cells in enumerate(drawn)])
    entries, refused, report = read(table, file.getvalue().encode(encoding))
    assert (refused, report.complete) == ([], True)
    assert [entry.attributes for entry in entries.values()] == [
        {name: cell for name, cell in zip(names, cells, strict=True) if cell} for cells in drawn
    ]


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.sampled_from([b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, b"sep=;\n", b"id,title\n", b"id;title;time\na;b;c\n"]),
    st.lists(
        st.sampled_from([b'"', b",", b";", b"\n", b"\r", b"\0", b"id", b"title", b"a", b"\xe9", "é".encode(), b" "])
    ),
)
def test_anything_at_all_ends_in_rows_or_in_what_is_wrong(table, start, pieces) -> None:
    with suppress(UsageError):
        entries, refused, report = read(table, start + b"".join(pieces))
        assert entries or refused or report.notes
