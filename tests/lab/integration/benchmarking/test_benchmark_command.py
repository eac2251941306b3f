"""`quizglass-lab benchmark`: from the files of a benchmark, as they are published, to the papers' tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quizglass_client import Client, Entry
from quizglass_client.local import LocalServer
from quizglass_lab.cli import main
from tests.support.benchmarks import entity_sets, files, knowledge, scene_sets, search_sets, writing
from tests.support.bundles.tiny_bundle import write_bundle

SPLITS = {"encyclopedic-vqa": "val", "visual7w": "train"}
ASKED = {
    "infoseek": 2,
    "encyclopedic-vqa": 2,
    "dyn-vqa": 2,
    "crag-mm": 3,
    "cogbench": 2,
    "livevqa": 2,
    "mmsearch": 2,
    "mrag-bench": 1,
    "ok-vqa": 1,
    "viquae": 1,
    "vqav2": 2,
    "visual7w": 1,
    "nocaps": 1,
    "plain": 1,
}
"""Questions of each benchmark's small file whose picture is at hand, or that have none."""


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(tmp_path_factory.mktemp("bundle") / "tiny")


@pytest.fixture(scope="module")
def server(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with LocalServer(bundle, tmp_path_factory.mktemp("knowledge") / "store") as started:
        with Client(started.target) as client:
            client.add_entries(
                [Entry("boat", "Boat", "a red boat", text="The boat is red.", pictures=(writing.PIXEL,))]
            )
        yield started.target


def measure(name: str, capsys: pytest.CaptureFixture[str], *flags: object) -> dict[str, Any]:
    assert main(["benchmark", name, *map(str, flags), "--json"]) == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def rows(report: dict[str, Any]) -> set[str]:
    return {line["row"] for line in report["table"] if line["measured"]}


def value(report: dict[str, Any], row: str, metric: str) -> float:
    (found,) = (
        line["measured"]["value"]
        for line in report["table"]
        if line["measured"] and (line["row"], line["metric"], line["measured"]["part"]) == (row, metric, "")
    )
    return float(found)


@pytest.mark.parametrize("name", [*files.WRITERS])
def test_every_benchmark_goes_from_its_files_to_a_table(
    name: str, server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files.WRITERS[name](tmp_path)
    flags = ["--data", tmp_path, "--pictures", tmp_path / "images", "--out", tmp_path / "out", "--server", server]
    if name in SPLITS:
        flags += ["--split", SPLITS[name]]
    report = measure(name, capsys, *flags, "--policies", "none", "both")
    assert (report["dataset"], report["questions"]) == (name, ASKED[name])
    assert {"none", "both"} <= rows(report)
    assert [line for line in report["table"] if not line["measured"] and not line["reason"]] == []
    assert value(report, "both", "text searches") + value(report, "both", "image searches") > 0


def test_a_server_is_started_and_searches_the_benchmark_s_own_knowledge(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entity_sets.infoseek(tmp_path)
    flags = ["--data", tmp_path, "--pictures", tmp_path / "images", "--out", tmp_path / "out", "--bundle", bundle]
    flags += ["--knowledge", knowledge.encyclopedic(tmp_path), "--entry-pictures", knowledge.pictures(tmp_path)]
    report = measure("infoseek", capsys, *flags)
    (imported,) = report["knowledge"]
    assert (imported["added"], imported["pictured"], imported["refused"], report["entries"]) == (2, 1, 0, 2)
    assert report["left_out"] == {"without_picture": 1, "such_as": ["oven_05000001"]}
    assert {"planning-agent", "none", "both"} <= rows(report), "every policy that is served"
    assert "qa-dragon" in report["not_served"] or "qa-dragon" in rows(report)
    assert value(report, "both", "recall@5") == 50, "of tower and panda the tower is known, by its address"


def test_a_run_goes_on_where_it_stopped(server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entity_sets.infoseek(tmp_path)
    source = knowledge.wiki6m(tmp_path)
    flags = ["--data", tmp_path, "--pictures", tmp_path / "images", "--out", tmp_path / "out", "--server", server]
    flags += ["--knowledge", source, "--policies", "none"]
    first = measure("infoseek", capsys, *flags)
    answers = tmp_path / "out" / "answers" / "none.jsonl"
    kept = answers.read_text().splitlines(keepends=True)
    answers.write_text(kept[0] + kept[1][:20])
    with Client(server) as client:
        client.delete_entry("Q243")
        assert measure("infoseek", capsys, *flags)["table"] != [], "the cut line was asked again"
        assert "Q243" not in {entry.id for entry in client.list_entries()}, "knowledge is imported once"
    assert answers.read_text().splitlines()[0] == kept[0].strip()
    assert first["knowledge"][0]["left_out"] == {"articles without a text": 1}
    assert main(["benchmark", "infoseek", *map(str, flags), "--limit", "1"]) == 2
    assert "begun with other questions; choose another --out" in capsys.readouterr().err


def test_a_question_that_the_server_cannot_take_stops_nothing(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (question,) = search_sets.MRAG_BENCH
    damaged = question | {"id": "8", "image": {"bytes": writing.PIXEL[:40], "path": "8.jpg"}}
    search_sets.table(tmp_path / "test-00000-of-00001.parquet", [damaged, question])
    flags = ["--data", tmp_path, "--out", tmp_path / "out", "--server", server, "--policies", "none"]
    report = measure("mrag-bench", capsys, *flags)
    (why,) = report["failed"]["none"]
    assert why.startswith("8: ")
    assert report["questions"] == 2
    assert value(report, "none", "refused") == 50


def test_what_was_not_measured_is_told(server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entity_sets.infoseek(tmp_path)
    flags = ["--data", tmp_path, "--pictures", tmp_path / "images", "--out", tmp_path / "out", "--server", server]
    assert main(["benchmark", "infoseek", *map(str, flags), "--policies", "none"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "not asked: 1 questions whose picture is not at hand, such as oven_05000001" in said
    assert "core-mmrag" in said
    assert "none of the papers" not in said
    scene_sets.ok_vqa(tmp_path)
    flags = ["--data", tmp_path, "--pictures", tmp_path / "images", "--out", tmp_path / "ok", "--server", server]
    assert main(["benchmark", "ok-vqa", *map(str, flags), "--policies", "none"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "none of the papers whose systems are here has a table of ok-vqa" in said


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--data", "nowhere"], "nowhere: no such file or folder"),
        (
            ["--data", "empty"],
            "no infoseek_val.jsonl or infoseek_val_withkb.jsonl or infoseek_val_qtype.jsonl or infoseek_val.csv there",
        ),
        (["--data", "data", "--knowledge", "nothing"], "nothing: no such file or folder"),
        (["--data", "data", "--pictures", "."], "of 3 questions no picture is at hand, such as oven_01963180"),
        (["--data", "data", "--policies", "bath"], "--policies bath: the server does not serve it"),
        ([], "--data: Field required"),
    ],
)
def test_what_does_not_fit_is_said(
    flags: list[str],
    message: str,
    server: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "empty").mkdir()
    entity_sets.infoseek(tmp_path / "data")
    pictures = [] if "--pictures" in flags else ["--pictures", "data/images"]
    pictures = pictures if "data" in flags else []
    assert main(["benchmark", "infoseek", *flags, *pictures, "--out", "out", "--server", server]) == 2
    assert message in capsys.readouterr().err
