"""What a run of a benchmark publishes: all that it measured, and beside it what others have published."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import results, sections
from bench.engine import __main__ as engine
from bench.results import Row
from bench.sections import Part
from bench.session import __main__ as session

ROOT = Path(__file__).parents[3]
SECTIONS = ("first", "second", "third")
BEFORE = {"first": 1.0, "second": 2.0, "third": 3.0}

Run = Callable[..., int]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where results are published."""
    folder = tmp_path / "results"
    monkeypatch.setattr(results, "RESULTS", folder)
    return folder


@pytest.fixture
def bench(tmp_path: Path) -> Run:
    """Runs a benchmark of three sections in a work directory, which is empty unless it is named again."""

    def run(measured: dict[str, float], *flags: str, workdir: str = "work", **how: Any) -> int:
        parser = sections.arguments("numbers", None, SECTIONS)
        args = parser.parse_args([*flags, "--workdir", str(tmp_path / workdir)])
        runner = sections.Runner("numbers", SECTIONS, args, only_named=how.pop("only_named", ()))
        settings = {"seeds": how.pop("seeds", (1, 2))}
        runner.measure(lambda name: Part([Row(name, measured[name], "ms")], {"of": [measured[name]]}), **settings)
        return runner.finish(**how)

    return run


def published(folder: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((folder / "numbers.json").read_text())
    return record


def figures(folder: Path) -> list[tuple[str, float | None]]:
    return [(row["name"], row["value"]) for row in published(folder)["rows"]]


def test_a_partial_run_keeps_the_published_rows_of_other_sections(bench: Run, folder: Path) -> None:
    bench(BEFORE)
    before = published(folder)
    assert bench({"second": 2.5}, "--only", "second", workdir="empty") == 0
    after = published(folder)
    assert figures(folder) == [("first", 1.0), ("second", 2.5), ("third", 3.0)]
    for name in ("first", "third"):
        assert after["sections"][name] == before["sections"][name]
    assert after["data"] == {"first": {"of": [1.0]}, "second": {"of": [2.5]}, "third": {"of": [3.0]}}
    assert [row["section"] for row in after["rows"]] == ["first", "second", "third"]
    assert list(before)[:4] == list(after)[:4] == ["machine", "versions", "command", "rows"]


def test_a_section_that_has_to_be_named_is_left_as_it_was_published(bench: Run, folder: Path) -> None:
    assert bench(BEFORE, "--only", "third") == 0
    bench({"first": 1.5, "second": 2.5}, workdir="empty", only_named=["third"])
    assert figures(folder) == [("first", 1.5), ("second", 2.5), ("third", 3.0)]
    bench({"third": 3.5}, "--only", "third", only_named=["third"])
    assert figures(folder) == [("first", 1.5), ("second", 2.5), ("third", 3.5)]


def test_a_section_keeps_the_versions_that_it_was_measured_with(
    bench: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench(BEFORE)
    monkeypatch.setattr(results, "versions", lambda: {"python": "4.0"})
    bench({"second": 2.5}, "--only", "second")
    versions = {name: how["versions"]["python"] for name, how in published(folder)["sections"].items()}
    assert (versions["second"], published(folder)["versions"]) == ("4.0", {"python": "4.0"})
    assert versions["first"] == versions["third"] != "4.0"


def test_an_older_work_directory_changes_no_section_that_was_not_asked_for(bench: Run, folder: Path) -> None:
    bench(dict.fromkeys(SECTIONS, 0.0), workdir="older")
    bench(BEFORE)
    bench({"second": 2.5}, "--only", "second", workdir="older")
    assert figures(folder) == [("first", 1.0), ("second", 2.5), ("third", 3.0)]


def test_a_section_that_was_finished_and_never_published_is_published_by_the_next_run(bench: Run, folder: Path) -> None:
    bench({"first": 1.0}, "--only", "first")
    (folder / "numbers.json").unlink()
    bench({"third": 3.0}, "--only", "third")
    assert figures(folder) == [("first", 1.0), ("third", 3.0)]


def test_a_partial_run_that_resumes_publishes_what_it_finds_finished(bench: Run, folder: Path) -> None:
    bench({"second": 2.5}, "--only", "second", workdir="other")
    bench(BEFORE)
    bench({}, "--only", "second", "--resume", workdir="other")
    assert figures(folder) == [("first", 1.0), ("second", 2.5), ("third", 3.0)]


def test_a_section_that_fails_in_a_partial_run_keeps_its_published_rows(bench: Run, folder: Path) -> None:
    bench(BEFORE)
    assert bench({"first": 1.5}, "--only", "first", "second", workdir="empty") == 1
    assert figures(folder) == [("first", 1.5), ("second", 2.0), ("third", 3.0)]


def test_a_full_run_replaces_everything(bench: Run, folder: Path) -> None:
    bench(BEFORE)
    assert bench({"first": 7.0, "third": 9.0}, workdir="empty") == 1, "the second section failed"
    assert figures(folder) == [("first", 7.0), ("third", 9.0)]


def test_a_section_that_fails_is_not_published_from_an_older_run(bench: Run, folder: Path) -> None:
    bench(BEFORE)
    assert bench({"first": 7.0, "third": 9.0}) == 1, "the second section failed"
    assert figures(folder) == [("first", 7.0), ("third", 9.0)]


def test_a_run_that_was_interrupted_goes_on_without_the_figures_of_an_older_one(bench: Run, folder: Path) -> None:
    bench(BEFORE)

    class Interrupted(dict[str, float]):
        def __missing__(self, name: str) -> float:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench(Interrupted(first=7.0))
    bench({"second": 8.0, "third": 9.0}, "--resume")
    assert figures(folder) == [("first", 7.0), ("second", 8.0), ("third", 9.0)]


def test_a_section_that_was_measured_with_other_settings_is_not_finished(bench: Run, folder: Path) -> None:
    bench(BEFORE)
    bench({}, "--resume")
    assert figures(folder) == list(BEFORE.items())
    bench({"first": 4.0, "second": 5.0, "third": 6.0}, "--resume", seeds=(1, 3))
    assert figures(folder) == [("first", 4.0), ("second", 5.0), ("third", 6.0)]


def test_a_section_that_fails_is_not_published_from_a_run_with_other_settings(bench: Run, folder: Path) -> None:
    bench(BEFORE)
    assert bench({"first": 4.0, "third": 6.0}, "--resume", seeds=(1, 3)) == 1, "the second section failed"
    assert figures(folder) == [("first", 4.0), ("third", 6.0)]


def test_what_was_never_published_counts_only_if_it_was_measured_with_the_same_settings(
    bench: Run, folder: Path
) -> None:
    bench({"first": 1.0}, "--only", "first")
    (folder / "numbers.json").unlink()
    bench({"third": 3.0}, "--only", "third", seeds=(1, 3))
    assert figures(folder) == [("third", 3.0)]


def test_a_section_that_was_measured_of_other_code_is_measured_again(
    bench: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench(BEFORE)
    monkeypatch.setattr(sections, "code", lambda *_: "other")
    bench({"first": 4.0, "second": 5.0, "third": 6.0}, "--resume")
    assert figures(folder) == [("first", 4.0), ("second", 5.0), ("third", 6.0)]
    assert {how["code"] for how in published(folder)["sections"].values()} == {"other"}


def test_a_section_that_was_kept_before_code_was_told_is_measured_again(
    bench: Run, folder: Path, tmp_path: Path
) -> None:
    bench(BEFORE)
    for path in (tmp_path / "work" / "numbers").glob("*.json"):
        record = json.loads(path.read_text())
        del record["how"]["code"]
        path.write_text(json.dumps(record))
    bench({"first": 4.0, "second": 5.0, "third": 6.0}, "--resume")
    assert figures(folder) == [("first", 4.0), ("second", 5.0), ("third", 6.0)]


def test_a_section_that_no_longer_exists_is_dropped(bench: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench(BEFORE)
    monkeypatch.setattr(f"{__name__}.SECTIONS", SECTIONS[:2])
    bench({"second": 2.5}, "--only", "second", workdir="empty")
    assert figures(folder) == [("first", 1.0), ("second", 2.5)]


def test_a_row_for_a_section_that_was_never_measured_goes_when_it_is(bench: Run, folder: Path) -> None:
    bench({"first": 1.0}, "--only", "first", name_missing=True)
    assert figures(folder) == [("first", 1.0), ("section second", None), ("section third", None)]
    bench({"second": 2.0}, "--only", "second", workdir="empty", name_missing=True)
    assert figures(folder) == [("first", 1.0), ("second", 2.0), ("section third", None)]


def test_a_quick_run_publishes_nothing(bench: Run, folder: Path) -> None:
    bench(BEFORE)
    bench({"second": 2.5}, "--only", "second", "--quick")
    assert figures(folder) == list(BEFORE.items())


def test_rows_without_a_section_are_never_dropped_unsaid(bench: Run, folder: Path) -> None:
    bench(BEFORE)
    record = published(folder)
    for row in record["rows"]:
        del row["section"]
    (folder / "numbers.json").write_text(json.dumps(record))
    with pytest.raises(ValueError, match=r"numbers\.json: 3 rows name no section, as 'first'"):
        bench({"second": 2.5}, "--only", "second", workdir="empty")
    assert published(folder) == record
    bench(BEFORE)
    assert figures(folder) == list(BEFORE.items())


@pytest.mark.parametrize("path", sorted((ROOT / "bench" / "results").glob("*.json")), ids=lambda path: path.stem)
def test_every_published_row_names_its_section(path: Path) -> None:
    record = json.loads(path.read_text())
    assert [row["name"] for row in record["rows"] if "sections" in record and not row.get("section")] == []


@pytest.mark.parametrize("folder", [["--workdir", "/somewhere/else"], ["--workdir=/somewhere/else"], []])
def test_the_command_that_is_published_names_no_folder(monkeypatch: pytest.MonkeyPatch, folder: list[str]) -> None:
    monkeypatch.setattr("sys.argv", ["bench", "--only", "first", *folder, "--resume"])
    assert results.command("engine") == "python -m bench.engine --only first --resume"


@pytest.mark.parametrize("between", [" ", "="])
def test_a_folder_that_matters_is_published_without_its_name(monkeypatch: pytest.MonkeyPatch, between: str) -> None:
    given = f"--only first --photographs{between}/home/somebody/pictures"
    monkeypatch.setattr("sys.argv", ["bench", *given.split()])
    assert results.command("session") == f"python -m bench.session --only first --photographs{between}FOLDER"


def test_a_run_of_one_model_does_not_take_the_other_s_rows_away(capsys: pytest.CaptureFixture[str]) -> None:
    for only in (["--only", "text-streams"], ["--only", "neighbours", "gaps"], []):
        with pytest.raises(SystemExit):
            engine._arguments(["--models", "starter", *only])
        assert "--models: the rows of the other models would go" in capsys.readouterr().err
    assert engine._arguments(["--models", "starter", "--quick"]).models == ["starter"]


@pytest.mark.parametrize(
    ("main", "needs"),
    [(session.main, "--photographs: the section photographs")],
)
def test_what_a_section_needs_is_asked_for_before_the_others_are_measured(
    main: Callable[[list[str]], int], needs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([])
    assert needs in capsys.readouterr().err
