"""An import of files from elsewhere reads nothing but what lies in their folder, and ends, whatever they are."""

import gzip
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import pytest
from PIL import Image

from quizglass_client.cli.imports.documents import read_documents
from quizglass_client.cli.imports.entries import BadLine, count_lines, read_entries
from quizglass_client.cli.imports.report import ImportReport
from quizglass_client.cli.imports.wiki.article import ArticleReader
from quizglass_client.cli.imports.wiki.dump import read_wiki
from quizglass_client.cli.imports.wiki.process import BoundedReader
from quizglass_client.files import lines
from tests.support.client_runs import knowledge_command
from tests.support.rpc_fakes import png

ROOT = Path(__file__).parents[4]
SECRET = b"root:x:0:0:secret zyrbaxon"
MIB = 1 << 20


@pytest.fixture
def imported(stage, capsys):
    return partial(knowledge_command(stage.target, capsys), "import")


@pytest.fixture
def folder(tmp_path):
    """A folder from elsewhere, beside files of whoever imports it."""
    (tmp_path / "secret").write_bytes(SECRET)
    (tmp_path / "private.png").write_bytes(png())
    folder = tmp_path / "from-elsewhere"
    (folder / "pictures").mkdir(parents=True)
    (folder / "pictures" / "own.png").write_bytes(png(20))
    return folder


def write(path, *rows):
    path.write_text("".join(json.dumps({"id": f"e{n}", "title": "t", **row}) + "\n" for n, row in enumerate(rows)))


def refused(report):
    return [(item["line"], item["field"]) for item in report["refused"]]


NAMES = ["../private.png", "{above}/private.png", "link.png", "linked/private.png", "pictures/../../private.png"]


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_pictures_outside_of_the_folder_are_refused_by_line(stage, imported, folder, kind) -> None:
    (folder / "link.png").symlink_to("../private.png")
    (folder / "linked").symlink_to("..")
    (folder / "fine.png").symlink_to("pictures/own.png")
    names = [name.format(above=folder.parent) for name in NAMES] + [
        "pictures/own.png",
        "fine.png",
        "./pictures/own.png",
    ]
    path = folder / f"entries.{kind}"
    if kind == "jsonl":
        write(path, *({"pictures": ["pictures/own.png", name]} for name in names))
    elif kind == "csv":
        path.write_text("id,title,pictures\n" + "".join(f"e{n},t,pictures/own.png;{x}\n" for n, x in enumerate(names)))
    else:
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        columns = {"id": [f"e{n}" for n in range(8)], "title": ["t"] * 8}
        parquet.write_table(pyarrow.table({**columns, "pictures": [["pictures/own.png", x] for x in names]}), path)
    first = 2 if kind == "csv" else 1
    status, report, _ = imported(path)
    assert (status, report["added"]) == (1, 3)
    assert refused(report) == [(line, "pictures[1]") for line in range(first, first + 5)]
    assert all("--allow-outside" in item["message"] for item in report["refused"])
    assert {picture for pictures in stage.knowledge.pictures.values() for picture in pictures} == {png(20)}
    told = {"file": str(path), "added": 8, "refused": [], "new": 5, "changed": 0, "unchanged": 3}
    assert imported(path, "--allow-outside")[:2] == (0, told)


def test_documents_that_are_links_out_of_the_folder_are_refused(stage, imported, folder) -> None:
    shutil.rmtree(folder / "pictures")
    (folder / "a.txt").symlink_to("../secret")
    (folder / "b.txt").write_text("B.")
    (folder / "b.png").symlink_to("../private.png")
    (folder / "c.txt").symlink_to("d.md")
    (folder / "d.md").write_text("# D\n\nIt is deep.")
    status, report, _ = imported(folder)
    assert (status, report["added"], set(stage.knowledge.entries)) == (1, 2, {"c.txt", "d.md"})
    assert [item["line"] for item in report["refused"]] == [1, 2]
    assert imported(folder, "--allow-outside")[1]["added"] == 4
    assert stage.knowledge.entries["a.txt"].text == SECRET.decode()


def test_a_folder_whose_entries_are_a_link_to_elsewhere_is_refused(stage, imported, folder) -> None:
    write(folder.parent / "private.jsonl", {})
    (folder / "entries.jsonl").symlink_to("../private.jsonl")
    status, _, err = imported(folder)
    assert (status, "--allow-outside" in err, stage.knowledge.entries) == (2, True, {})
    assert imported(folder / "entries.jsonl")[1]["added"] == 1  # named by whoever imports


def test_what_is_no_picture_never_leaves_the_machine(stage, imported, folder, monkeypatch) -> None:
    (folder / "passwd").write_bytes(SECRET)
    (folder / "page.eps").write_bytes(
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n%%EOF\n"
    )
    (folder / "cut.jpg").write_bytes(b"\xff\xd8\xff\xe0 no more of it")
    Image.new("RGB", (3000, 8), "red").save(folder / "wide.bmp")
    ran: list[object] = []
    monkeypatch.setattr(subprocess, "check_call", lambda *words, **_: ran.append(words))
    write(folder / "entries.jsonl", *({"pictures": [name]} for name in ("passwd", "page.eps", "cut.jpg", "wide.bmp")))
    status, report, _ = imported(folder)
    assert (status, refused(report)[:2], ran) == (1, [(1, "pictures[0]"), (2, "pictures[0]")], [])
    assert "passwd is no picture" in report["refused"][0]["message"]
    assert not any(SECRET in picture for pictures in stage.knowledge.pictures.values() for picture in pictures)


def test_files_without_an_end_are_refused_by_line(imported, folder) -> None:
    os.mkfifo(folder / "pipe.png")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket.png"))
    with (folder / "huge.png").open("wb") as file:
        file.truncate(1 << 40)
    names = ["pipe.png", "/dev/zero", "socket.png", "huge.png", "pictures"]
    write(folder / "entries.jsonl", *({"pictures": [name]} for name in names))
    status, report, _ = imported(folder, "--allow-outside")
    assert (status, report["added"]) == (1, 0)
    assert refused(report) == [(line, "pictures[0]") for line in range(1, 6)]
    says = ["not a regular file", "not a regular file", "not a regular file", "more than", "is a folder"]
    assert all(said in item["message"] for said, item in zip(says, report["refused"], strict=True))


def test_documents_without_an_end_are_passed_over_or_refused(imported, folder) -> None:
    shutil.rmtree(folder / "pictures")
    os.mkfifo(folder / "pipe.md")
    with (folder / "huge.txt").open("wb") as file:
        file.truncate(1 << 40)
    (folder / "fine.txt").write_text("Fine.")
    status, report, _ = imported(folder)
    assert (status, report["added"], refused(report)) == (1, 1, [(2, "")])
    assert "more than" in report["refused"][0]["message"]


def test_a_pipe_among_the_files_of_a_saved_page_is_not_waited_for(stage, folder) -> None:
    shutil.rmtree(folder / "pictures")
    (folder / "kettle.html").write_text("<h1>Kettle</h1><p>It whistles.")
    (folder / "kettle_files").mkdir()
    os.mkfifo(folder / "kettle_files" / "pipe.png")
    command = [sys.executable, "-m", "quizglass_client.cli", "--server", stage.target, "knowledge", "import"]
    done = subprocess.run([*command, "--no-compare", "--json", folder], capture_output=True, timeout=60, check=False)
    assert (done.returncode, json.loads(done.stdout)["added"]) == (0, 1)


def test_a_folder_that_may_be_listed_and_not_entered_is_passed_over_by_name() -> None:
    code = (
        "import json, os, sys; from pathlib import Path\n"
        "from quizglass_client.cli.imports.documents import read_documents\n"
        "from quizglass_client.cli.imports.report import ImportReport\n"
        "list(read_documents(Path(sys.argv[1]))) if os.geteuid() == 0 else None\n"  # loads what it needs
        "os.geteuid() or os.setuid(65534)\n"
        "report = ImportReport(); lines = list(read_documents(Path(sys.argv[1]), report))\n"
        "print(json.dumps([[line.entry.id for line in lines], sorted(report.unread), report.complete]))"
    )
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o755)
        for name in ("closed", "kettle_files"):
            (folder / name).mkdir()
            (folder / name / "pan.md").write_text("It is black.")
            (folder / name).chmod(0o644)
        (folder / "kettle.html").write_text("<h1>Kettle</h1><p>It whistles.")
        done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=False)
        for name in ("closed", "kettle_files"):
            (folder / name).chmod(0o755)
    assert json.loads(done.stdout or done.stderr) == [["kettle.html"], ["closed", "kettle_files"], False]


def test_a_line_that_has_no_end_is_refused_and_the_next_is_read(folder) -> None:
    path = folder / "entries.jsonl"
    with path.open("wb") as file:
        file.write(b'{"id": "a", "title": "A"}\n')
        file.seek(100 << 20)
        file.write(b'\n{"id": "b", "title": "B"}\n')
    good, bad, after = read_entries(path)
    assert (good.entry.id, bad.line, after.line, after.entry.id) == ("a", 2, 3, "b")
    assert (type(bad), count_lines(path)) == (BadLine, 3)


def test_lines_are_those_of_the_file(tmp_path) -> None:
    (tmp_path / "f").write_bytes(b"ab\nabc\nabcd\nabcdefghijk\n\nx")
    with (tmp_path / "f").open("rb") as file:
        assert list(lines(file, 3)) == [b"ab\n", b"abc\n", None, None, b"\n", b"x"]


PACKED = {
    "d.xml.gz": (b"<mediawiki><page><title>", b" " * MIB, 300),
    "e.xml.gz": (b"<mediawiki><page>", b"<a/>" * (MIB // 4), 80),
    "f.xml.gz": (b"<mediawiki><!--", b"x" * MIB, 300),
}
"""How a dump begins, and the piece that it repeats so many times."""


@pytest.mark.parametrize("name", PACKED)
def test_a_little_that_unpacks_to_much_takes_no_memory(tmp_path, name) -> None:
    pytest.importorskip("mwparserfromhell")
    head, piece, times = PACKED[name]
    with gzip.open(tmp_path / name, "wb", 1) as file:
        file.write(head)
        for _ in range(times):
            file.write(piece)
    code = (
        "import resource, sys\nfrom pathlib import Path\n"
        "from quizglass_client.cli.imports.report import ImportReport\n"
        "from quizglass_client.cli.imports.wiki.dump import read_wiki\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "(bad,) = read_wiki(Path(sys.argv[1]), ImportReport())\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, bad.message)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / name)], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    mebibytes, _, message = done.stdout.partition(" ")
    assert "there is a page of more than" in message, done.stderr
    assert int(mebibytes) < 200


def test_a_parquet_column_of_nothing_but_repetition_is_refused(imported, tmp_path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"id": ["a"], "title": ["t"], "text": ["x" * (70 * MIB)]})
    parquet.write_table(table, tmp_path / "e.parquet", compression="zstd", use_dictionary=False)
    assert (tmp_path / "e.parquet").stat().st_size < 1 << 20
    status, _, err = imported(tmp_path / "e.parquet")
    assert (status, "'text'" in err) == (2, True)


def test_a_csv_line_that_has_no_end_ends_the_import_with_a_word(imported, tmp_path) -> None:
    with (tmp_path / "e.csv").open("wb") as file:
        file.write(b"id,title\na,A\n")
        file.truncate(100 << 20)
    status, report, _ = imported(tmp_path / "e.csv")
    assert (status, report["added"]) == (1, 1)
    assert "a row has more than" in report["refused"][0]["message"]


SLOW = "<b>" * 30_000  # minutes


def test_an_article_that_takes_too_long_is_refused_and_the_next_is_read(tmp_path, monkeypatch) -> None:
    parser = pytest.importorskip("mwparserfromhell")
    reader = BoundedReader(ArticleReader(parser), patience_s=1.5)
    with pytest.raises(ValueError, match=r"more than 1\.5 seconds"):
        reader.read(SLOW)
    reader = BoundedReader(ArticleReader(parser))
    try:
        article = reader.read("{{Infobox car|doors=4}}\nThe '''Velmora'''. " * 100)
        assert (article.kind, article.attributes) == ("car", {"doors": "4"})
    finally:
        reader.close()
    page = "<page><title>t</title><ns>0</ns><id>{}</id><revision><text>{}</text></revision></page>"
    long = "Words. " * 2000
    pages = page.format(1, long) + page.format(2, SLOW.replace("<", "&lt;")) + page.format(3, long)
    (tmp_path / "d.xml").write_text(f"<mediawiki>{pages}</mediawiki>")
    monkeypatch.setattr(BoundedReader.__init__, "__defaults__", (5.0,))
    first, second, third = read_wiki(tmp_path / "d.xml", ImportReport())
    assert (first.entry.id, second.line, third.entry.text) == ("wiki/1", 2, long.strip())
    assert "t: the article cannot be read: its markup takes more than" in second.message


@pytest.mark.parametrize(
    "page", ["<h1>" * 100_000, "<title>&#" + "1" * 6000 + ";</title><p>Text.", "<h1>" + "<" * 200_000]
)
def test_a_title_is_looked_for_without_taking_for_ever(tmp_path, page) -> None:
    (tmp_path / "a.html").write_text(page)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    (line,) = read_documents(tmp_path)
    assert line.entry.title
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - before < 5  # it took minutes


def test_no_more_pictures_are_looked_for_than_an_entry_takes(imported, folder) -> None:
    write(folder / "entries.jsonl", {"pictures": ["pictures/own.png"] * 16}, {"pictures": ["gone.png"] * 100_000})
    (folder / "e.csv").write_text("id,title,pictures\na,A," + "gone.png;" * 100_000 + "\n")
    for name, line in (("entries.jsonl", 2), ("e.csv", 2)):
        _, report, _ = imported(folder / name)
        assert (refused(report), "more than the 16" in report["refused"][0]["message"]) == ([(line, "")], True)
