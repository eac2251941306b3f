"""Policies measured on a benchmark: of a real server, and of models that no server serves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quizglass_client import Client, Entry
from quizglass_client.local import LocalServer
from quizglass_lab.cli import main
from tests.support.benchmarks.entity_sets import infoseek
from tests.support.benchmarks.scene_sets import visual7w
from tests.support.bundles.tiny_bundle import write_bundle
from tests.support.rpc_fakes import Stage, png
from tests.support.training.finetuning import ChatServer, picture, rows, searching_server


@pytest.fixture
def data(tmp_path: Path) -> Path:
    picture(tmp_path / "boat.png")
    asked = {"pictures": ["boat.png"], "entries": ["boat"], "evidence": ["It is 7 years old."], "image_answer": "Boat"}
    return rows(
        tmp_path / "questions.jsonl",
        [
            {"id": "1", "question": "How old is it?", "answers": ["7 years"], **asked},
            {"id": "2", "question": "How far is it?", "answerable": False, "pictures": ["boat.png"], "session": "s"},
        ],
    )


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with searching_server(tmp_path / "server", ["car", "boat"]) as made:
        yield made


def measured(out: str) -> dict[tuple[str, str], Any]:
    table = json.loads(out)["table"]
    whole = [row["measured"] for row in table if row["measured"] and row["measured"]["part"] in ("", "both")]
    return {(row["row"], row["metric"]): row["value"] for row in whole}


def answering(text: str) -> str:
    if "How far" in text:
        return "I don't know"
    return "7 years" if "7 years old" in text else "B" if "Choose one letter" in text else "no"


def test_a_model_is_measured_under_each_condition(
    data: Path, stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer(answering) as chat, ChatServer(lambda text: "D") as planner:
        flags = ["--data", str(data), "--out", str(tmp_path / "out"), "--answerer", f"{chat.url}#m"]
        flags += ["--server", stage.target, "--deciders", f"planner={planner.url}#p", "--paper", "planning-agent"]
        policies = ["--policies", "none", "both", "oracle", "planning-agent"]
        assert main(["evaluate", *flags, *policies, "--json"]) == 0
        found = measured(capsys.readouterr().out)
        assert found["none", "exact"] == 0
        assert found["both", "exact"] == 0, "the server's entries do not tell"
        assert found["oracle", "exact"] == 100
        assert found["none", "truthfulness"] == 0, "one wrong, one rightly refused"
        assert found["oracle", "truthfulness"] == 100
        assert found["none", "truthfulness of conversations"] == 100
        assert (found["none", "text searches"], found["both", "text searches"]) == (0, 1)
        assert found["planning-agent", "plan share"] == 100
        tokens = "prompt tokens of all models"
        assert found["planning-agent", tokens] == found["both", tokens] + 7, "the planner's prompt is one of them"
        assert found["both", "recall@1"] == 0
        assert found["both", "recall@5"] == 100
        assert ("oracle", "recall@5") not in found, "what is recorded was not looked for"
        asked = len(chat.bodies)
        assert main(["evaluate", *flags, *policies]) == 0
        said = capsys.readouterr().out
        assert "65.32" in said, "the paper's own figure"
        assert len(chat.bodies) == asked, "everything was kept"
        assert main(["score", "plain", str(data), "--answers", f"both={tmp_path / 'out' / 'both.jsonl'}"]) == 0


def test_nothing_is_an_oracle_where_no_evidence_is_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [str(path) for path in infoseek(tmp_path)]
    with ChatServer(answering) as chat:
        flags = ["--data", *names, "--dataset", "infoseek", "--out", str(tmp_path / "out"), "--policies", "oracle"]
        assert main(["evaluate", *flags, "--answerer", f"{chat.url}#m"]) == 2
        assert not chat.bodies
    assert "--policies: oracle: no question of infoseek has evidence to answer from" in capsys.readouterr().err


def test_a_multiple_choice_is_asked_with_its_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    telling, _ = visual7w(tmp_path)
    picture(tmp_path / "v7w_2.jpg")
    with ChatServer(lambda text: "red" if "these: Blue. | Green. | Red. | Silver." in text else "blue") as chat:
        flags = ["--data", str(telling), "--dataset", "visual7w", "--pictures", str(tmp_path)]
        flags += ["--answerer", f"{chat.url}#m", "--policies", "none", "--out", str(tmp_path / "out"), "--json"]
        assert main(["evaluate", *flags]) == 0
    assert measured(capsys.readouterr().out)["none", "multiple choice"] == 100


def test_a_served_bundle_is_measured(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = write_bundle(tmp_path / "bundle")
    with LocalServer(bundle, tmp_path / "knowledge") as server:
        with Client(server.target, timeout=60) as client:
            client.add_entries([Entry("boat", "Boat", "a red boat", text="The boat is red.", pictures=(png(),))])
        flags = ["--data", str(data), "--out", str(tmp_path / "out"), "--server", server.target]
        assert main(["evaluate", *flags, "--policies", "none", "both", "--json"]) == 0
        found = measured(capsys.readouterr().out)
        begun = tmp_path / "out" / "begun.json"
        told = json.loads(begun.read_text())
        begun.write_text(json.dumps(told | {"server": "another bundle 1"}))
        assert main(["evaluate", *flags, "--policies", "none", "both", "--json"]) == 2
        assert "out: begun with another --server; choose another --out" in capsys.readouterr().err
        begun.write_text(json.dumps(told))
    assert main(["evaluate", *flags, "--policies", "none", "both", "--json"]) == 0, "all was kept"
    assert measured(capsys.readouterr().out) == found
    assert found["both", "image searches"] == 1
    assert found["none", "image searches"] == 0
    assert found["both", "recall@1"] == 100
    assert found["both", "recall@1, by picture"] == 0, "the text search finds it"
    both = [json.loads(line) for line in (tmp_path / "out" / "both.jsonl").read_text().splitlines()]
    assert both[0]["found"] == [{"id": "boat", "source": "", "search": "text", "used": True}]
    assert both[0]["written_tokens"] >= both[0]["answer_tokens"] > 0
    searched = next(stage for stage in both[0]["stages"] if stage["name"] == "image_search")
    assert searched["seconds"] > 0
    assert searched["started"] is not None
    assert found["none", "prompt tokens of all models"] > 0
    assert found["both", "latency p50"] > 0


def test_a_later_turn_is_asked_with_the_model_s_own_answers_before_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    turns = ["Which tower is it?", "Who built it?", "When did he die?"]
    told = [{"question": turn, "answer": f"gold {number}"} for number, turn in enumerate(turns)]
    asked = [
        {
            "id": f"{name}{number}",
            "question": turn,
            "answers": [f"gold {number}"],
            "history": told[:number],
            "session": name,
        }
        for number, turn in enumerate(turns)
        for name in "ab"
    ]
    data = rows(tmp_path / "questions.jsonl", asked)
    kept = tmp_path / "own" / "none.jsonl"
    with ChatServer(lambda text: f"own {sum(turn in text for turn in turns)}") as chat:
        flags = ["evaluate", "--data", str(data), "--policies", "none", "--chunk", "3", "--answerer", f"{chat.url}#m"]

        def prompts(folder: str, *more: str) -> list[str]:
            before = len(chat.bodies)
            assert main([*flags, "--out", str(tmp_path / folder), *more]) == 0
            return [json.dumps(body) for body in chat.bodies[before:]]

        own = prompts("own")
        assert len(own) == 6
        assert not [prompt for prompt in own if "gold" in prompt]
        assert sum("own 1" in prompt and "own 2" in prompt for prompt in own) == 2, "the last turns of both"
        kept.write_text("".join(kept.read_text().splitlines(keepends=True)[:4]))
        again = prompts("own")
        assert len(again) == 2
        assert all("own 1" in prompt and "own 2" in prompt for prompt in again), "goes on from the answers kept"
        assert sum("gold 0" in prompt for prompt in prompts("gold", "--history", "gold")) == 4
    capsys.readouterr()


def test_a_model_may_judge(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer(lambda text: "5" if "You grade answers" in text else "seven") as chat:
        model = f"{chat.url}#m"
        flags = ["--data", str(data), "--out", str(tmp_path / "out"), "--answerer", model, "--judge", model]
        assert main(["evaluate", *flags, "--policies", "none", "--json"]) == 0
    assert measured(capsys.readouterr().out)["none", "judge"] == 100


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "name --server, or a model with --answerer"),
        (["--server", "x", "--deciders", "planner=x"], "--deciders go with --answerer"),
        (["--answerer", "x", "--policies", "bath"], "there is no policy 'bath'"),
        (["--answerer", "x", "--deciders", "planner"], "--deciders planner: expected NAME=MODEL"),
        (["--answerer", "/nowhere"], "/nowhere: no such model"),
        (["--answerer", "x", "--judge", "contains"], "--judge: contains is for annotate"),
        (["--answerer", "http://127.0.0.1:1/v1"], "name the model after a #"),
        (["--server", "127.0.0.1:1", "--paper", "others"], "'others' is none of planning-agent"),
    ],
)
def test_what_does_not_fit_is_said(
    flags: list[str], message: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "--data", str(data), "--out", str(tmp_path / "out"), *flags]) == 2
    assert message in capsys.readouterr().err


def test_a_wrong_line_of_the_questions_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = rows(tmp_path / "questions.jsonl", [{"id": "1", "question": "?"}, {"id": "1", "question": "?"}])
    flags = ["--out", str(tmp_path / "out"), "--answerer", "x"]
    assert main(["evaluate", "--data", str(data), *flags]) == 2
    assert "questions.jsonl:2: id: '1' is there twice" in capsys.readouterr().err
    rows(data, [{"id": "1", "question": 3}])
    assert main(["evaluate", "--data", str(data), *flags]) == 2
    assert "questions.jsonl:1: question:" in capsys.readouterr().err
