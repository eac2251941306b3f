"""What the accuracy benchmark keeps of a run that was interrupted."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from bench.accuracy import ground, several
from bench.accuracy.ground import Ground
from bench.accuracy.log import kept
from bench.accuracy.planner.asking import Asked
from bench.worlds import Trial
from quizglass_lab.pocketworld.dataset import build_world
from quizglass_lab.pocketworld.questions import make_questions


def test_a_run_that_was_killed_while_it_wrote_goes_on_with_whole_lines(tmp_path: Path) -> None:
    log = tmp_path / "answers.jsonl"
    assert list(kept(log)) == []
    lines = [json.dumps(asdict(Asked(name))) + "\n" for name in ("first", "second")]
    log.write_text(lines[0] + lines[1][:20])
    assert [asked["id"] for asked in kept(log)] == ["first"]
    with log.open("a") as file:
        file.write(lines[1])
    assert [asked["id"] for asked in kept(log)] == ["first", "second"]


def test_answers_of_other_code_or_weights_are_not_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(7, build_world(7, 20, format=2), tmp_path, [], [])
    run = Ground([7], 600, 8, 2, 1, tmp_path, tmp_path, True, False, lambda _: None)
    logs = set()
    for served in ("one", "other"):
        for bundle in ("these", "those"):
            monkeypatch.setattr(ground, "code", lambda *_, served=served: served)
            monkeypatch.setattr(ground, "weights", lambda _, bundle=bundle: bundle)
            logs.add(run.log("planning", trial))
    assert len(logs) == 4


async def test_policies_are_asked_in_an_order_of_each_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, list[str]] = {}

    async def ask_turn(_: object, text: str, __: bytes, policy: str, **___: Any) -> dict[str, Any]:
        asked.setdefault(text, []).append(policy)
        return {}

    monkeypatch.setattr(several, "ask_turn", ask_turn)
    questions = make_questions(build_world(7, 60, format=2), 16, 7, format=2)
    policies = ("parallel", "sequential")
    log = tmp_path / "answers.jsonl"
    records = await several._ask_all("127.0.0.1:1", questions, policies, log, 1, lambda: None, False)
    assert {each[0] for each in asked.values()} == set(policies)
    assert all(set(record["turns"]) == set(policies) for record in records)
