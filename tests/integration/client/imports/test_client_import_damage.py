"""`quizglass knowledge import` of files that are damaged or odd: each ends in a report, never in a traceback."""

import gzip
import json
import os
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.support.client_runs import WIKI, knowledge_command
from tests.support.rpc_fakes import png


@pytest.fixture
def imported(stage, capsys):
    return partial(knowledge_command(stage.target, capsys), "import")


def lines(report):
    return [(item["line"], item["field"]) for item in report["refused"]]


@pytest.mark.parametrize("name", ["e.jsonl", "e.CSV", "e.xml", "e.xml.bz2", "e.XML.GZ", "e.parquet"])
@pytest.mark.parametrize("content", [b"", b"\0", b"\xff\xfe\xff", b"\x1f\x8b\x08", b"PAR1", b'"', b"<a", b'{"id":'])
def test_what_is_no_such_file_adds_nothing_and_ends(stage, imported, tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert imported(tmp_path / name)[0] in (0, 1, 2)
    assert stage.knowledge.entries == {}


def test_lines_that_cannot_be_sent_are_refused_one_by_one(stage, imported, tmp_path: Path) -> None:
    (tmp_path / "p.png").write_bytes(png())
    rows = [
        {"id": "a", "title": "A", "pictures": ["p.png"]},
        {"id": "\ud800", "title": "a lone surrogate"},
        {"id": "b", "title": "a name no file has", "pictures": ["p\0.png"]},
        {"id": "b", "title": "a name no file has", "pictures": ["\ud800.png"]},
        {"id": "b", "title": "a folder", "pictures": ["."]},
        {"id": "a", "title": "the later of two"},
    ]
    (tmp_path / "e.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    refused = tmp_path / "refused"
    status, report, _ = imported(tmp_path / "e.jsonl", "--report", refused)
    assert (status, report["added"], stage.knowledge.entries["a"].title) == (1, 2, "the later of two")
    assert lines(report) == [(2, "id"), (3, "pictures[0]"), (4, "pictures[0]"), (5, "pictures[0]")]
    written = [json.loads(line) for line in refused.read_text().splitlines()]
    assert (written[:4], [(note["kind"], note["name"]) for note in written[4:]]) == (
        report["refused"],
        [("passed over", "a")],
    )


def test_rows_with_times_out_of_range_are_refused(imported, tmp_path: Path) -> None:
    times = ["1", str(1 << 70), "1" * 5000, "inf", "1.5"]
    (tmp_path / "e.csv").write_text("id,title,time\n" + "".join(f"a,t,{time}\n" for time in times))
    status, report, _ = imported(tmp_path / "e.csv")
    assert (status, report["added"], lines(report)) == (1, 1, [(3, "time"), (4, ""), (5, ""), (6, "")])


@pytest.mark.parametrize("header", ['"id"x,title', "id,title,note,note"])
def test_a_header_that_cannot_be_used_is_named(imported, tmp_path: Path, header: str) -> None:
    (tmp_path / "e.csv").write_text(f"{header}\na,b,c,d\n")
    status, _, err = imported(tmp_path / "e.csv")
    assert (status, "header" in err or "'note' twice" in err) == (2, True)


def test_a_csv_file_that_breaks_off_is_read_so_far_and_says_so(stage, imported, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text('id,title\na,b\nc,"d')
    status, report, _ = imported(tmp_path / "e.csv")
    assert (status, list(stage.knowledge.entries)) == (1, ["a"])
    assert "nothing after it" in report["refused"][0]["message"]


def test_a_parquet_file_damaged_within_is_read_so_far(stage, imported, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = 600
    notes = [os.urandom(64).hex() for _ in range(rows)]
    table = pyarrow.table({"id": range(rows), "title": ["t"] * rows, "note": notes})
    parquet.write_table(table, tmp_path / "e.parquet", row_group_size=256, compression="gzip")
    assert imported(tmp_path / "e.parquet")[1]["added"] == rows  # an id of 0 is one as well
    content = bytearray((tmp_path / "e.parquet").read_bytes())
    middle = len(content) // 2
    content[middle : middle + 64] = bytes(64)
    (tmp_path / "e.parquet").write_bytes(content)
    status, report, _ = imported(tmp_path / "e.parquet")
    assert (status, report["added"]) == (1, 256)
    assert "cannot be read further" in report["refused"][0]["message"]


def test_a_packed_wiki_that_is_damaged_is_read_so_far(imported, tmp_path: Path) -> None:
    pytest.importorskip("mwparserfromhell")
    packed = bytearray(gzip.compress(WIKI.encode()))
    for damaged in (packed[:-20], packed[:60] + bytes(40) + packed[100:]):  # ends early; no longer a deflate stream
        (tmp_path / "d.xml.gz").write_bytes(damaged)
        status, report, _ = imported(tmp_path / "d.xml.gz")
        assert (status, "cannot be read further" in report["refused"][-1]["message"]) == (1, True)


def test_a_wiki_in_an_unknown_encoding_is_refused(imported, tmp_path: Path) -> None:
    pytest.importorskip("mwparserfromhell")
    (tmp_path / "d.xml").write_text('<?xml version="1.0" encoding="zyrbax"?>' + WIKI)
    status, report, _ = imported(tmp_path / "d.xml")
    assert (status, report["added"], lines(report)) == (1, 0, [(1, "")])


def test_an_article_that_the_parser_gives_up_on_does_not_stop_the_others(imported, tmp_path, monkeypatch) -> None:
    parser = pytest.importorskip("mwparserfromhell")
    monkeypatch.setattr(parser, "parse", lambda markup: [][0] if "wikitable" in markup else parse(markup))
    parse = parser.parser.Parser().parse
    page = WIKI[WIKI.index("<page>") : WIKI.index("</page>") + 7]
    more = page.replace("wikitable", "other").replace("<id>12<", "<id>15<")
    (tmp_path / "d.xml").write_text(WIKI.replace("</mediawiki>", f"{more}</mediawiki>"))
    status, report, _ = imported(tmp_path / "d.xml")
    assert (status, report["added"], lines(report)) == (1, 1, [(1, "")])


def test_a_long_wiki_takes_no_memory_for_what_was_read(tmp_path: Path) -> None:
    pytest.importorskip("mwparserfromhell")
    from quizglass_client.cli.imports.report import ImportReport
    from quizglass_client.cli.imports.wiki.dump import read_wiki

    page = "<page><title>t</title><ns>0</ns><id>1</id><revision><text>x</text></revision></page>\n"
    (tmp_path / "d.xml").write_text(f"<mediawiki>{page * 3000}</mediawiki>")
    pages = read_wiki(tmp_path / "d.xml", ImportReport())
    for _ in zip(range(500), pages, strict=False):
        before = sys.getallocatedblocks()
    for _ in pages:
        after = sys.getallocatedblocks()
    assert after - before < 1000  # blocks; there are 2500 pages between


def test_documents_whose_names_no_id_can_hold_are_each_there(stage, imported, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    names = ["\u6587.md", "\u66f8.md", "a b.md", "a-b.md", "a?b.md", "x" * 220 + "1.txt", "x" * 220 + "2.txt"]
    for name in names:
        (folder / name).write_text(f"# About C#\n\n{name}")
    (folder / "empty.txt").touch()
    (folder / "loop.md").symlink_to("loop.md")
    (folder / "gone.md").symlink_to("nothing.md")
    (folder / "again").symlink_to(folder)
    status, report, _ = imported(folder)
    assert (status, report["added"], len(stage.knowledge.entries)) == (1, len(names), len(names))
    assert {note["name"] for note in report["passed_over"]} == {"loop.md", "gone.md", "again", "empty.txt"}
    assert {entry.source for entry in stage.knowledge.entries.values()} == {*names}
    assert stage.knowledge.entries["a-b.md"].title == "About C#"


def test_a_file_name_that_is_not_unicode_is_reported(imported, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in (b"\xff.txt", b"\xfe.txt"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_bytes(b"\xff" if name[0] == 0xFF else b"text")
    status, report, _ = imported(folder)
    assert (status, report["added"], len(report["refused"])) == (1, 0, 2)


def test_a_folder_whose_files_changed_is_another_import(imported, tmp_path: Path) -> None:
    folder, memory = tmp_path / "docs", tmp_path / "memory"
    folder.mkdir()
    (folder / "a.txt").write_text("A.")
    assert imported(folder, "--resume", memory)[0] == 0
    assert imported(folder, "--resume", memory)[1]["added"] == 0
    (folder / "a.txt").rename(folder / "b.txt")
    assert imported(folder, "--resume", memory)[0] == 2


@pytest.mark.parametrize("name", ["e.jsonl", "e.csv", "e.xml", "e.xml.gz", "e.parquet", "docs"])
def test_what_may_not_be_read_is_named(imported, tmp_path: Path, monkeypatch, name: str) -> None:
    denied = tmp_path / name

    def refuse(path, *_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    def refusing(opens):
        return lambda path, *rest, **more: (refuse if path == denied else opens)(path, *rest, **more)

    if name == "docs":
        (denied / "below").mkdir(parents=True)
        (denied / "a.txt").write_text("A.")
        scan = os.scandir
        monkeypatch.setattr(os, "scandir", lambda at: refuse(at) if str(at).endswith("below") else scan(at))
    else:
        denied.touch()
        monkeypatch.setattr(Path, "open", refusing(Path.open))
        monkeypatch.setattr(gzip, "open", refusing(gzip.open))
    status, report, err = imported(denied)
    assert status in (1, 2)
    assert name in err or [note["name"] for note in report["passed_over"]] == ["below"]


def test_a_report_that_cannot_be_written_is_refused_before_anything_is_added(stage, imported, tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_text('{"id": "a", "title": "A"}')
    status, _, err = imported(tmp_path / "e.jsonl", "--report", tmp_path / "none" / "report")
    assert (status, "none/report: No such file" in err, stage.knowledge.entries) == (1, True, {})


def test_an_entry_that_takes_the_place_of_another_is_named(stage, imported, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("id,title\na,First\nb,B\na,Last\n")
    status, report, _ = imported(tmp_path / "e.csv")
    assert (status, stage.knowledge.entries["a"].title, len(stage.knowledge.entries)) == (1, "Last", 2)
    (note,) = report["passed_over"]
    assert (note["name"], "the entry of line 4 replaced that of line 2" in note["message"]) == ("a", True)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"id": "a", "title": "A", "title": "B"}', "the key 'title' twice"),
        ('{"id": "a", "title": "A", "attributes": {"price": "1", "price": "2"}}', "the key 'price' twice"),
        ('{"id": "a", "title": "A", "time": NaN}', "time: must be a whole number"),
    ],
)
def test_a_line_of_which_something_would_be_lost_is_refused(imported, tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / "e.jsonl").write_text(line)
    status, report, _ = imported(tmp_path / "e.jsonl")
    assert (status, says in report["refused"][0]["message"]) == (1, True)


def test_null_is_no_value(stage, imported, tmp_path: Path) -> None:
    row = {"id": "a", "title": "A", "text": None, "time": None, "attributes": None, "pictures": None, "kind": "k"}
    (tmp_path / "e.jsonl").write_text(json.dumps(row))
    assert (imported(tmp_path / "e.jsonl")[0], stage.knowledge.entries["a"].kind) == (0, "k")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("e.json", b' [{"id": "a", "title": "A"}]', "jq -c"),
        ("e.xlsx", b"PK\x03\x04", "is a workbook; save its sheet as CSV"),
        ("e.pdf", b"%PDF-1.7", "no kind of file that can be imported"),
        ("e.jsonl", '{"id": "a"}'.encode("utf-16"), "is UTF-16"),
        ("e.csv.gz", b"\x1f\x8b\x08", "unpack it first"),
        ("e.jsonl.bz2", b"BZh", "unpack it first"),
    ],
)
def test_other_kinds_of_files_are_named_once(imported, tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    status, report, err = imported(tmp_path / name)
    assert (status, report, says in err, err.count("quizglass:")) == (2, {}, True, 1)


def test_files_of_other_names_that_have_an_object_a_line_are_read(imported, tmp_path: Path) -> None:
    (tmp_path / "backup.2024").write_bytes(b'\xef\xbb\xbf\n {"id": "a", "title": "A"}\n')
    assert imported(tmp_path / "backup.2024")[:1] == (0,)


def test_any_number_of_bad_lines_is_counted_and_the_first_are_named(imported, tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_text('{"id": "a", "title": "A"}\n' + "x\n" * 12_000 + '{"id": "b", "title": "B"}\n')
    status, report, _ = imported(tmp_path / "e.jsonl")
    assert (status, report["added"], len(report["refused"]), report["more_refused"]) == (1, 2, 10_000, 2_000)
    assert report["refused"][-1]["line"] == 10_001
