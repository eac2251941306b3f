"""The file of sources: what is wrong with it is said with its table and key."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from quizglass_server.errors import SettingsError
from quizglass_server.knowledge.sources.guarded import KnowledgeSources, Terms
from quizglass_server.knowledge.sources.table import open_sources

ALMANAC = """
class Almanac:
    remote = True

    async def search_text(self, query, limit):
        return []

    async def close(self):
        pass


def opened(keys):
    if set(keys) != {"pages"}:
        raise ValueError("pages: required, and the only key")
    return Almanac()


def nothing(keys):
    return object()
"""
POINTS = "[quizglass.sources]\nalmanac = almanac:opened\nbroken = almanac:missing\nnothing = almanac:nothing\n"


def file(folder: Path, text: str) -> Path:
    path = folder / "sources.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another package, installed as pip leaves it."""
    (tmp_path / "almanac.py").write_text(ALMANAC)
    (about := tmp_path / "almanac-1.dist-info").mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: almanac\nVersion: 1\n")
    (about / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "almanac", raising=False)


def test_without_a_file_there_are_none() -> None:
    assert open_sources(None).each == ()


def test_each_table_is_a_source_with_the_terms_of_its_place(tmp_path: Path) -> None:
    tables = (
        f'[notes]\ntype = "markdown"\nfolder = "{tmp_path}"\n[web]\ntype = "searxng"\nurl = "https://a.example/s"\n'
    )
    notes, web = open_sources(file(tmp_path, tables + "trust = 0.25\nbudget_s = 2\n")).each
    assert (notes.name, notes.kind, notes.remote, notes.terms) == ("notes", "markdown", False, Terms(1.0, cache_s=0.0))
    assert (web.name, web.kind, web.remote, web.terms) == ("web", "searxng", True, Terms(0.25, 2.0))
    assert (web.step, web.finds, web.status.ready) == ("source.web", ("text",), True)


def test_local_only_keeps_those_shut_that_are_remote(tmp_path: Path) -> None:
    tables = f'[notes]\ntype = "markdown"\nfolder = "{tmp_path}"\n[web]\ntype = "searxng"\nurl = "http://127.0.0.1:1"\n'
    notes, web = open_sources(file(tmp_path, tables), local_only=True).each
    assert (notes.open, web.open) == (True, False)
    assert "LOCAL_ONLY" in web.status.notice


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[web", "not valid TOML"),
        ('web = "x"', r"\[web\]: a source is a table"),
        ('[Web]\ntype = "searxng"', r"\[Web\]: a source is a table"),
        ("[web]", r"\[web\] type: there is no kind ''"),
        ('[web]\ntype = "searx"', r"\[web\] type: there is no kind 'searx' of source; did you mean searxng\?"),
        ('[web]\ntype = ["x"]', r"\[web\] type: there is no kind"),
        ('[web]\ntype = "searxng"', r"\[web\] url: field required"),
        ('[web]\ntype = "searxng"\nurl = "127.0.0.1"', r"\[web\] url: value error, '127.0.0.1' is not of the form"),
        ('[web]\ntype = "searxng"\nurl = "http://a:b@c"', r"\[web\] url: value error, holds a password"),
        ('[web]\ntype = "searxng"\nurl = "http://a"\ntrust = 0', r"\[web\] trust: input should be greater than 0"),
        ('[web]\ntype = "searxng"\nurl = "http://a"\nbudgets = 1', r"\[web\] budgets: extra inputs"),
        ('[notes]\ntype = "markdown"\nfolder = "/nowhere/at/all"', r"\[notes\] folder: path does not point to"),
        ("".join(f'[s{i}]\ntype = "markdown"\nfolder = "/"\n' for i in range(9)), "9 sources; at most 8"),
    ],
)
def test_what_is_wrong_names_table_and_key(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=said) as refused:
        open_sources(file(tmp_path, text))
    assert "sources.toml" in refused.value.message


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"gone\.toml: cannot be read"):
        open_sources(tmp_path / "gone.toml")


@pytest.mark.usefixtures("package")
def test_another_package_brings_a_kind(tmp_path: Path) -> None:
    (source,) = open_sources(file(tmp_path, '[days]\ntype = "almanac"\npages = 3\n')).each
    assert (source.kind, source.remote, source.finds) == ("almanac", True, ("text",))


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("almanac", r"\[days\] pages: required, and the only key"),
        ("broken", r"\[days\] type: 'broken' cannot be loaded"),
        ("nothing", r"\[days\]: type 'nothing' gives no source"),
    ],
)
def test_what_is_wrong_with_it_is_said_too(kind: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=said):
        open_sources(file(tmp_path, f'[days]\ntype = "{kind}"\n'))


async def test_closing_none_does_nothing() -> None:
    await KnowledgeSources().close()
