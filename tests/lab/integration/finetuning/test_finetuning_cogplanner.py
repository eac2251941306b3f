"""CogPlanner's recipe: traces of a server's turns and of a model that plans itself, over real sockets."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from pydantic import ValidationError

from quizglass import values
from quizglass.values import Origin
from quizglass_export.errors import ExportError
from quizglass_lab.finetuning.recipes.cogplanner import CogPlannerAnnotation, CogPlannerTraining, annotate
from quizglass_lab.finetuning.shared.progress import Progress
from quizglass_lab.finetuning.training.trainer import train
from quizglass_server.domain.turns import Evidence
from quizglass_server.errors import Overloaded
from tests.support.rpc_fakes import Stage
from tests.support.training.finetuning import ChatServer, checkpoint, entry, picture, rows, searching_server, text_of

torch.set_num_threads(1)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with searching_server(tmp_path / "server", ["boat", "car"]) as made:
        yield made


@pytest.fixture
def data(tmp_path: Path) -> Path:
    picture(tmp_path / "boat.png")
    asked = {"question": "How old is it?", "answers": ["7 years"], "pictures": ["boat.png"]}
    return rows(tmp_path / "questions.jsonl", [{"id": "1", **asked}, {"id": "2", **asked, "answers": ["8 years"]}])


def events(*, used: bool = True) -> Iterator[values.TurnEvent]:
    """A turn of three rounds that looks the picture up, then a text, then answers."""
    seen, found = entry("boat", 1), entry("age", 7, Origin.TEXT_SEARCH)
    left_out = Evidence("9", Origin.TEXT_SEARCH, "x", "X", "Not shown.", used=False)
    yield values.EvidenceFound((Evidence("0", Origin.READ_TEXT, "", "", "SALE"),))
    yield values.Queries("reformulate", ("What boat is it?",), round=1)
    yield values.Decided("act", "image", "prompt", round=1)
    yield values.EvidenceFound((seen,), round=1)
    yield values.Queries("reformulate", ("How old is the boat?",), round=2)
    yield values.Decided("act", "text", "prompt", round=2)
    yield values.EvidenceFound((found, left_out), round=2)
    yield values.Queries("reformulate", ("How old is the boat?",), round=3)
    yield values.Decided("act", "none", "prompt", round=3)
    yield values.Done("7 years", values.FinishReason.COMPLETE)


def script(stage: Stage, make: Any) -> None:
    async def told(*_: Any) -> AsyncGenerator[values.TurnEvent, None]:
        for event in make():
            yield event

    stage.assistant.script = told


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_right_turns_of_a_server_become_examples_of_each_round(stage: Stage, data: Path, tmp_path: Path) -> None:
    script(stage, events)
    out = tmp_path / "out"
    how = CogPlannerAnnotation(data=(data,), out=out, server=stage.target, held_out=0)
    report = annotate(how, Progress(quiet=True))
    assert (report["traces"], report["right"]) == (2, 1), "the answer to the second question is wrong"
    assert report["actions"] == {"image": 1, "text": 1, "none": 1}
    made = {row["id"]: row for row in read(out / "train.jsonl")}
    assert {name: row["target"] for name, row in made.items()} == {
        "1//1-reformulate": "What boat is it?",
        "1//1-act-parallel": " C",
        "1//1-act-sequential": " C",
        "1//2-reformulate": "How old is the boat?",
        "1//2-act-parallel": " B",
        "1//2-act-sequential": " B",
        "1//3-reformulate": "How old is the boat?",
        "1//3-act-parallel": " A",
    }
    second, sequential = made["1//2-reformulate"]["values"], made["1//2-act-sequential"]["values"]
    assert second["seen"] == ["Boat: It is 1 years old."]
    assert (second["found"], second["words"], second["queries"]) == ([], "SALE", ["What boat is it?"])
    assert sequential["query"] == "How old is the boat?", "the action from what was just asked"
    assert made["1//3-reformulate"]["values"]["found"] == ["Age: It is 7 years old."], "what was shown alone"
    assert stage.assistant.asked[0][0] == "cogplanner-sequential"


def test_a_server_without_room_is_asked_again(
    stage: Stage, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    times = iter([True, True])

    def busy() -> Iterator[values.TurnEvent]:
        if next(times, False):
            raise Overloaded("no room", retry_after_s=0.25)
        yield from events()

    script(stage, busy)
    how = CogPlannerAnnotation(data=(data,), out=tmp_path / "out", server=stage.target, held_out=0)
    assert annotate(how, Progress(quiet=True))["traces"] == 2
    assert waits == [0.25, 0.25]


@pytest.mark.parametrize("decided_first", [False, True])
def test_a_search_that_found_nothing_is_a_round(decided_first: bool, stage: Stage, data: Path, tmp_path: Path) -> None:
    """In the parallel policy the decision, which is one pass, is reported before the queries, which are written."""

    def nothing() -> Iterator[values.TurnEvent]:
        for number, (query, action) in enumerate((("What boat is it?", "text"), ("Which boat?", "none")), 1):
            told = (
                values.Queries("reformulate", (query,), round=number),
                values.Decided("act", action, "prompt", round=number),
            )
            yield from told[::-1] if decided_first else told
        yield values.Done("7 years", values.FinishReason.COMPLETE)

    script(stage, nothing)
    how = CogPlannerAnnotation(data=(data,), out=tmp_path / "out", server=stage.target, held_out=0)
    assert annotate(how, Progress(quiet=True))["actions"] == {"text": 1, "none": 1}
    first, second = read(tmp_path / "out" / "traces.jsonl")[0]["rounds"]
    assert (first["reformulated"], second["queries"]) == (["What boat is it?"], ["What boat is it?"])


@pytest.mark.parametrize("policy", ["planning-agent", "cogplaner"])
def test_a_model_plans_by_no_other_policy(policy: str, data: Path, tmp_path: Path) -> None:
    how = {"data": (data,), "out": tmp_path, "server": "x", "answerer": "y", "policy": policy}
    with pytest.raises(
        ValidationError, match=r"--policy: .* take cogplanner-parallel, cogplanner-parallel\+, cogplanner-sequential"
    ):
        CogPlannerAnnotation(**how)


def test_any_policy_teaches(stage: Stage, data: Path, tmp_path: Path) -> None:
    def planned() -> Iterator[values.TurnEvent]:
        yield values.PlanMade(values.Plan.BOTH, "planner", {})
        yield values.EvidenceFound((entry("boat", 1),))
        yield values.QueryRewritten("How old is the boat?", True)
        yield values.EvidenceFound((entry("age", 7, Origin.TEXT_SEARCH),))
        yield values.Done("7 years", values.FinishReason.COMPLETE)

    script(stage, planned)
    server = {"server": stage.target, "policy": "both"}
    how = CogPlannerAnnotation(data=(data,), out=tmp_path / "out", held_out=0, **server)
    annotate(how, Progress(quiet=True))
    made = {row["id"]: row["target"] for row in read(tmp_path / "out" / "train.jsonl")}
    assert (made["1//1-act-parallel"], made["1//2-act-parallel"], made["1//3-act-parallel"]) == (" C", " B", " A")
    assert made["1//2-reformulate"] == "How old is the boat?"


def test_a_model_may_plan_itself_and_search_on_the_server(stage: Stage, data: Path, tmp_path: Path) -> None:
    def planning(text: str) -> str:
        if "Say what to look up next" in text:
            return "A" if "A source says" in text else "B"
        return "How old is the boat?" if "Say what has to be found out" in text else "7 years"

    with ChatServer(planning) as chat:
        model = f"{chat.url}#strong"
        how = CogPlannerAnnotation(data=(data,), out=tmp_path / "out", server=stage.target, answerer=model, held_out=0)
        report = annotate(how, Progress(quiet=True))
    assert (report["right"], report["actions"]) == (1, {"text": 1, "none": 1})
    first, *_, last = read(tmp_path / "out" / "traces.jsonl")[0]["rounds"]
    assert first["reformulated"] == ["How old is the boat?"]
    assert last["found"] == ["Boat: It is 0 years old.", "Car: It is 1 years old."]


def test_the_words_that_a_model_planned_with_are_trained_with(stage: Stage, data: Path, tmp_path: Path) -> None:
    asked = [json.loads(line) | {"source": {"words": "HARBOUR"}} for line in data.read_text().splitlines()]
    rows(data, asked)
    with ChatServer(lambda text: "A" if "Say what to look up next" in text else "7 years") as chat:
        how = {"server": stage.target, "answerer": f"{chat.url}#strong", "held_out": 0}
        annotate(CogPlannerAnnotation(data=(data,), out=tmp_path / "out", **how), Progress(quiet=True))
        assert all("Printed in the picture: HARBOUR" in text_of(body) for body in chat.bodies)
    made = read(tmp_path / "out" / "train.jsonl")
    assert {(row["task"], row["values"]["words"]) for row in made} == {("reformulate", "HARBOUR"), ("act", "HARBOUR")}


def test_a_model_that_writes_no_query_keeps_the_one_it_had(stage: Stage, data: Path, tmp_path: Path) -> None:
    def silent(text: str) -> str:
        return "A" if "Say what to look up next" in text else "" if "has to be found out" in text else "7 years"

    with ChatServer(silent) as chat:
        model = f"{chat.url}#strong"
        how = CogPlannerAnnotation(data=(data,), out=tmp_path / "out", server=stage.target, answerer=model, held_out=0)
        annotate(how, Progress(quiet=True))
    (only,) = read(tmp_path / "out" / "traces.jsonl")[0]["rounds"]
    assert only["reformulated"] == ["How old is it?"], "as in the turn"


def test_where_no_turn_was_right_there_is_nothing_to_train_on(stage: Stage, data: Path, tmp_path: Path) -> None:
    script(stage, lambda: iter([values.Done("no", values.FinishReason.COMPLETE)]))
    how = CogPlannerAnnotation(data=(data,), out=tmp_path / "out", server=stage.target)
    with pytest.raises(ExportError, match=r"train.jsonl: nothing to train on"):
        annotate(how, Progress(quiet=True))


def test_traces_and_general_tasks_train_a_whole_model(stage: Stage, data: Path, tmp_path: Path) -> None:
    script(stage, events)
    notes = tmp_path / "notes"
    annotate(CogPlannerAnnotation(data=(data,), out=notes, server=stage.target, held_out=0), Progress(quiet=True))
    chat = {"objective": "general", "task": "answer", "values": {"question": "Why?"}, "pictures": ["boat.png"]}
    general = rows(tmp_path / "general.jsonl", [{"id": "g", **chat, "target": "So."}])
    how = {"checkpoint": checkpoint(tmp_path / "base"), "data": notes, "general": general, "picture": "56x56"}
    facts = train(CogPlannerTraining(**how, out=tmp_path / "out", steps=2, accumulation=2), "cogplanner")
    assert facts["examples"] == {"act": 5, "general": 8, "reformulate": 3}
    model = transformers.Qwen2_5_VLForConditionalGeneration.from_pretrained(tmp_path / "out" / "model")
    assert model.config.model_type == "qwen2_5_vl"


def test_the_papers_figures_are_the_defaults(tmp_path: Path) -> None:
    folder = {"checkpoint": tmp_path, "data": tmp_path, "out": tmp_path}
    how = CogPlannerTraining(**folder)
    assert (how.full, how.learning_rate, how.schedule, how.epochs, how.warm_up) == (True, 2e-6, "cosine", 2, 0.1)
    assert how.batch * how.accumulation == 32
    assert CogPlannerTraining(**folder, full=False).learning_rate == 1e-4, "an adapter has an adapter's rate"
