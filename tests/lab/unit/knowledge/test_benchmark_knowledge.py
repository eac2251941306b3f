"""The knowledge of benchmarks becomes entries, named as their questions name them."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quizglass_client import Entry
from quizglass_client.cli.imports.entries import BadLine, GoodLine
from quizglass_client.cli.imports.report import ImportReport
from quizglass_lab.datasets.reading.errors import DatasetError
from quizglass_lab.knowledge.articles import article, entry_id
from quizglass_lab.knowledge.finding import find
from tests.support.benchmarks import knowledge as files
from tests.support.benchmarks import writing
from tests.support.benchmarks.writing import write_lines


def takes(name: str) -> bool:
    """Whether a knowledge store takes an id."""
    return bool(re.fullmatch(r"[A-Za-z0-9._:/-]{1,200}", name))


def read(
    path: Path, pictures: Path | None = None, props: Path | None = None
) -> tuple[list[Entry], list[BadLine], ImportReport]:
    report = ImportReport()
    lines = list(find(path, pictures, props).source.read(report))
    return (
        [line.entry for line in lines if isinstance(line, GoodLine)],
        [line for line in lines if isinstance(line, BadLine)],
        report,
    )


@pytest.mark.parametrize("zipped", [False, True])
def test_articles_by_address_keep_it_as_source_and_where_a_store_takes_it_as_id(tmp_path: Path, zipped: bool) -> None:
    (tower, church), bad, _ = read(files.encyclopedic(tmp_path, zipped=zipped), files.pictures(tmp_path))
    assert bad == []
    assert (tower.id, tower.source) == (f"{files.WIKI}Eiffel_Tower",) * 2
    assert tower.text == "The Eiffel Tower is a tower in Paris.\n\nHeight\n\nIt is 324 metres tall."
    assert tower.caption == "The tower seen from the river"
    assert [picture.name for picture in tower.pictures] == ["Tour_Eiffel(1).jpg"], "the address is escaped"  # type: ignore[union-attr]
    assert church.source == f"{files.WIKI}St_Mary's_Church_(Velm)"
    assert takes(church.id)


def test_an_article_that_is_not_as_published_is_refused_alone(tmp_path: Path) -> None:
    wrong = writing.write_json(tmp_path / "kb.json", {"u": {"title": 3}, **files.ENCYCLOPEDIC})
    entries, (bad,), _ = read(wrong)
    assert len(entries) == 2
    assert (bad.line, bad.id) == (1, "u")
    assert "title:" in bad.message


def test_wikipedia_of_infoseek_is_named_by_wikidata_items(tmp_path: Path) -> None:
    (tower,), _, report = read(files.wiki6m(tmp_path), files.pictures(tmp_path))
    assert (tower.id, tower.source) == ("Q243", f"{files.WIKI}Eiffel_Tower")
    assert tower.text.endswith("324 metres tall.")
    assert len(tower.pictures) == 1
    assert report.left_out == {"articles without a text": 1}


def test_wikipedia_of_viquae_loses_its_marks(tmp_path: Path) -> None:
    (tower,), _, _ = read(files.viquae(tmp_path), files.pictures(tmp_path))
    assert (tower.id, tower.source) == ("Q243", f"{files.WIKI}Eiffel_Tower")
    assert tower.text == "The tower is in Paris.\n\nHistory\n\nDesign\n\n- It is 324 metres tall."
    assert len(tower.pictures) == 1


def test_both_indexes_of_crag_mm_are_read_from_chroma(tmp_path: Path) -> None:
    images = files.crag_mm(tmp_path / "image-search-index-validation", "image_embeddings", files.IMAGES)
    (tower,), (bad,), _ = read(images, files.pictures(tmp_path))
    assert (tower.id, tower.title, tower.source) == ("crag-mm/image/0", "Eiffel Tower", files.IMAGES[0]["image_url"])
    assert tower.attributes == {"height": "324 m", "architect": "Stephen Sauvestre"}
    assert "x" * 600 in tower.text, "what no attribute can hold"
    assert len(tower.pictures) == 1
    assert bad.id == "1"
    assert bad.message.startswith("entities: expected JSON")
    pages = files.crag_mm(tmp_path / "web-search-index-validation", "web_search_embeddings", files.PAGES)
    (page,), _, _ = read(pages)
    assert (page.title, page.source) == ("Height of the tower", "https://news.example/tower?id=1")


def test_another_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "chroma.sqlite3").write_bytes(b"no database, whatever it is called")
    with pytest.raises(DatasetError, match="expected a Chroma database with the collection image_embeddings"):
        read(tmp_path)


def test_articles_of_a_dump_are_named_by_the_items_of_their_pages(tmp_path: Path) -> None:
    path, props = files.dump(tmp_path)
    tower, town = read(path, props=props)[0]
    assert (tower.id, tower.source) == ("Q243", f"{files.WIKI}Eiffel_Tower")
    assert (town.id, town.source) == ("wiki/en.wikipedia.org/9", f"{files.WIKI}Velm"), (
        "what looks like its item is a text of another page"
    )
    with pytest.raises(DatasetError, match=r"expected page_props\.sql of a wiki"):
        read(path, props=write_lines(tmp_path / "other.sql", ["x"]))


def test_whatever_else_a_server_imports_is_knowledge_too(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "entries.jsonl", [{"id": "a", "title": "A", "text": "It is red."}])
    (entry,), _, _ = read(path)
    assert entry.id == "a"
    with pytest.raises(DatasetError, match="no such file"):
        find(tmp_path / "nothing")
    with pytest.raises(DatasetError, match="is no kind of file"):
        find(write_lines(tmp_path / "x.txt2", []))


@given(st.text(min_size=1, max_size=400))
def test_every_name_becomes_an_id_that_a_store_takes(name: str) -> None:
    assert takes(entry_id(name))


@given(st.text(max_size=300), st.text(max_size=300))
def test_two_names_are_two_ids(first: str, second: str) -> None:
    assert (entry_id(first) == entry_id(second)) is (first == second)


def test_what_is_too_long_is_cut_and_said() -> None:
    report = ImportReport()
    made = article("Q1", "t" * 300, "x" * 200_001, report, source="s" * 501)
    assert (len(made.title), len(made.text), made.source) == (200, 200_000, "")
    assert [note.message for note in report.notes] == ["texts of more than 200000 characters are cut"]
