"""CoRe-MMRAG's recipe: a model under each condition, with entries of a server, and what its conflicts teach."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from quizglass_bundle.inputs.prompts import filled
from quizglass_client import Client
from quizglass_export.checkpoints.merge import merge_adapter
from quizglass_lab.datasets.benchmarks import read_samples
from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.finetuning.asking.endpoint import EndpointModel
from quizglass_lab.finetuning.asking.offline_turn import OfflineModels, OfflineTurn
from quizglass_lab.finetuning.asking.searching import ServerSearch
from quizglass_lab.finetuning.models.chat import Prompts
from quizglass_lab.finetuning.recipes.core_mmrag import (
    Conditions,
    CoReAnnotation,
    CoReTraining,
    Told,
    annotate,
    core_examples,
)
from quizglass_lab.finetuning.shared.progress import Progress
from quizglass_lab.finetuning.training.trainer import train
from quizglass_lab.scoring.endpoint import ChatEndpoint
from quizglass_server.domain.turns import Evidence
from quizglass_server.policies import POLICIES
from tests.support.rpc_fakes import Stage
from tests.support.training.finetuning import ChatServer, checkpoint, picture, rows, searching_server

torch.set_num_threads(1)
CASES = {  # letters in the order of the search: together, by picture, by text; answers: from memory, from the entry
    "1": ("B", "B", "A", "7 years", "1 years"),  # memory is right, the picture finds the entry
    "2": ("A", "A", "B", "no", "8 years"),  # the entry tells, the text finds it
    "3": ("B", "B", "B", "9 years", "9 years"),  # nothing to learn
    "4": ("F", "F", "F", "no", "no"),  # no entry chosen
    "5": ("F", "F", "F", "no", "11 years"),  # none either, and what is found by text tells
}


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with searching_server(tmp_path / "server", ["boat", "car"]) as made:
        search = made.assistant.search

        async def with_passages(text: str, picture: Any, *more: Any) -> list[Evidence]:
            found = await search(text, picture, *more)
            return found if picture is not None else [replace(item, text=f"A passage on {text}") for item in found]

        made.assistant.search = with_passages  # type: ignore[method-assign]
        yield made


@pytest.fixture
def data(tmp_path: Path) -> Path:
    picture(tmp_path / "boat.png")
    answers = {"1": "7 years", "2": "8 years", "3": "9 years", "4": "10 years", "5": "11 years"}
    return rows(
        tmp_path / "questions.jsonl",
        [
            {
                "id": name,
                "question": f"How old is it, {name}?",
                "answers": [answers[name]],
                "pictures": ["boat.png"],
                "entries": ["car"],
            }
            for name in CASES
        ],
    )


def model(text: str) -> str:
    number = re.search(r"How old is it, (\d)\?", text)
    assert number is not None
    together, by_picture, by_text, memory, external = CASES[number[1]]
    if "Compare the first picture with the pictures and texts" in text:
        return together
    if "Compare the first picture with the pictures of all entries" in text:
        return by_picture
    if "Choose the entry whose text" in text:
        return in_its_order(by_text, text)
    if "Say in one sentence which of the two" in text:
        return "The source is about another thing."
    if "Write one search query" in text:
        name = re.search(r"The picture may show: <picture> (\w+): |The picture may show: (\w+): ", text)
        return f"How old is {(name[1] or name[2]) if name else 'this'}, {number[1]}?"
    return external if "The picture may show" in text or "A source says" in text else memory


def in_its_order(letter: str, text: str) -> str:
    """The letter of the first or the second entry where a prompt shows them in another order."""
    first, second = (text.index(entry) for entry in ("Boat: ", "Car: "))
    return letter if first < second or letter == "F" else {"A": "B", "B": "A"}[letter]


def run(data: Path, out: Path, stage: Stage) -> dict[str, Any]:
    with ChatServer(model) as chat:
        answerer = f"{chat.url}#strong"
        options = CoReAnnotation(data=(data,), out=out, server=stage.target, answerer=answerer, held_out=0)
        return annotate(options, Progress(quiet=True))


def examples(out: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in map(json.loads, (out / "train.jsonl").read_text().splitlines())}


def test_where_exactly_one_side_is_right_there_is_something_to_learn(stage: Stage, data: Path, tmp_path: Path) -> None:
    report = run(data, tmp_path / "out", stage)
    assert report["D"] == {"int": 1, "ext": 2, "v": 1, "t": 1}
    assert report["answers_right"] == {"memory": 0.4, "evidence": 0.6}
    assert report["entry_chosen"] == {"both": 0.4, "picture": 0.4, "text": 0.4}
    made = examples(tmp_path / "out")
    assert {name: row["target"] for name, row in made.items()} == {
        "1//prki": "7 years",
        "1//vtki": " B",
        "1//sft": "7 years",
        "1//two_stage/select_by_text": " B",
        "1//two_stage/answer": "7 years",
        "1//one_stage": "7 years",
        "2//prki": "8 years",
        "2//vtki": " B",
        "2//sft": "8 years",
        "2//two_stage/select_by_text": " B",
        "2//two_stage/answer": "8 years",
        "2//one_stage": "8 years",
        "5//prki": "11 years",
        "5//one_stage": "11 years",
    }
    reconcile = made["1//prki"]
    assert reconcile["values"]["memory"] == "7 years"
    assert reconcile["values"]["external"] == "1 years"
    assert reconcile["values"]["reason"] == "The source is about another thing.", "as it is served"
    assert [len(made[f"1//{name}"]["pictures"]) for name in ("prki", "vtki", "sft", "one_stage")] == [2, 3, 2, 3]
    assert made["1//vtki"]["labels"] == [" A", " B", " C", " D", " E", " F"]


def test_examples_have_the_passages_and_the_query_that_the_policy_is_served_with(
    stage: Stage, data: Path, tmp_path: Path
) -> None:
    run(data, tmp_path / "out", stage)
    car, boat = "Car: It is 1 years old.", "Boat: It is 0 years old."
    made = {
        name: row for name, row in examples(tmp_path / "out").items() if row["objective"] not in ("vtki", "two_stage")
    }
    assert {name: shown(row) for name, row in made.items()} == {
        "1//prki": ([car], ["Car: A passage on How old is Car, 1?"], "How old is Car, 1?"),
        "1//sft": ([car], ["Car: A passage on How old is Car, 1?"], "How old is Car, 1?"),
        "1//one_stage": every("How old is Boat, 1?"),
        "2//prki": ([boat], ["Boat: A passage on How old is Boat, 2?"], "How old is Boat, 2?"),
        "2//sft": ([car], ["Car: A passage on How old is Car, 2?"], "How old is Car, 2?"),
        "2//one_stage": every("How old is Boat, 2?"),
        "5//prki": ([], every("How old is this, 5?")[1], "How old is this, 5?"),
        "5//one_stage": every("How old is Boat, 5?"),
    }


def test_what_is_trained_is_what_the_policy_is_served_with(stage: Stage, data: Path, tmp_path: Path) -> None:
    """By the policies themselves, whose prompts a server fills with the same values."""
    run(data, tmp_path / "out", stage)
    made, (sample, *_) = examples(tmp_path / "out"), read_samples("plain", [data])
    with ChatServer(model) as chat, Client(stage.target) as client:
        answerer = EndpointModel(ChatEndpoint(chat.url, "m"), Prompts(None))
        search = ServerSearch(client, tmp_path / "pictures")
        for name, task in (("core-mmrag+", "reconcile"), ("core-one-stage+", "answer")):
            turn = OfflineTurn(OfflineModels(answerer, search), sample.question, sample.pictures[0].path)
            turn.run(POLICIES[name])
            served = next(step for step in reversed(turn.steps) if step.task == task)
            trained = made["1//prki" if task == "reconcile" else "1//one_stage"]
            assert filled(trained["values"]) == filled(served.values)
            assert len(trained["pictures"]) == len(served.pictures)


def shown(row: dict[str, Any]) -> tuple[list[str], list[str], str]:
    values = row["values"]
    assert values["queries"] == [values["query"]]
    return values["seen"], values["found"], values["query"]


def every(query: str) -> tuple[list[str], list[str], str]:
    """Both entries, and a passage of each."""
    entries, passages = ["Boat: It is 0 years old.", "Car: It is 1 years old."], (f"A passage on {query}",) * 2
    return entries, [f"{name}: {text}" for name, text in zip(("Boat", "Car"), passages, strict=True)], query


def test_pictures_of_all_entries_are_shown_where_the_choice_is_by_picture(
    stage: Stage, data: Path, tmp_path: Path
) -> None:
    bodies = []

    def noting(text: str) -> str:
        bodies.append(text)
        return model(text)

    with ChatServer(noting) as chat:
        options = CoReAnnotation(
            data=(data,), out=tmp_path / "out", server=stage.target, answerer=f"{chat.url}#m", held_out=0
        )
        annotate(options, Progress(quiet=True))
    by_picture = [text for text in bodies if "pictures of all entries" in text]
    by_text = [text for text in bodies if "Choose the entry whose text" in text]
    assert {text.count("<picture>") for text in by_picture} == {3}
    assert not any("years old" in text for text in by_picture), "texts have no part in it"
    assert {text.count("<picture>") for text in by_text} == {0}
    assert {text.index("Boat: ") < text.index("Car: ") for text in by_text} == {True, False}, "no order of the search"


def test_the_adapter_of_every_objective_but_one_is_trained_and_merges(stage: Stage, data: Path, tmp_path: Path) -> None:
    run(data, tmp_path / "notes", stage)
    base = checkpoint(tmp_path / "base")
    small = {"checkpoint": base, "data": tmp_path / "notes", "steps": 2, "picture": "56x56"}
    ablated = train(CoReTraining(**small, out=tmp_path / "out", without=("prki",)), "core-mmrag")
    assert ablated["examples"] == {"sft": 2, "vtki": 2}
    assert (ablated["config"]["rank"], ablated["config"]["learning_rate"]) == (8, 1e-4)
    baseline = train(CoReTraining(**small, out=tmp_path / "one", baseline=True), "core-mmrag")
    assert baseline["examples"] == {"one_stage": 3}
    two = train(CoReTraining(**small, out=tmp_path / "two", only=("two_stage",)), "core-mmrag")
    assert two["examples"] == {"two_stage": 4}
    merge_adapter(transformers.Qwen2_5_VLForConditionalGeneration.from_pretrained(base), tmp_path / "out" / "adapter")


def test_evidence_of_the_published_policy_is_an_entry_for_the_question_as_it_was_asked(
    stage: Stage, data: Path, tmp_path: Path
) -> None:
    asked: list[str] = []

    def published(text: str) -> str:
        asked.append(text)
        letter = model(text)
        return "A" if letter == "F" else letter

    with ChatServer(published) as chat:
        options = CoReAnnotation(
            data=(data,),
            out=tmp_path / "out",
            server=stage.target,
            answerer=f"{chat.url}#m",
            held_out=0,
            published=True,
        )
        report = annotate(options, Progress(quiet=True))
    assert not [text for text in asked if "Write one search query" in text or "Say in one sentence" in text]
    assert report["D"]["int"] + report["D"]["ext"] > 0
    made = examples(tmp_path / "out")
    assert made["1//vtki"]["labels"] == [" A", " B", " C", " D", " E"]
    assert made["1//prki"]["values"]["found"] == ["Car: A passage on How old is it, 1?"]
    assert made["1//prki"]["values"]["reason"] == ""


def test_mmstar_learns_from_reasons_that_lead_to_the_answer_and_else_from_those_that_were_told_it(
    stage: Stage, data: Path, tmp_path: Path
) -> None:
    def reasoning(text: str) -> str:
        if "what follows from the picture and the sources" in text:
            return "It is told." if "(The answer is" in text else "It follows."
        if "as the reason says" in text:
            own = "How old is it, 2?" in text and "Reason: It follows." in text
            hinted = "How old is it, 1?" in text and "Reason: It is told." in text
            return "8 years" if own else "7 years" if hinted else "no"
        return model(text)

    with ChatServer(reasoning) as chat:
        options = CoReAnnotation(
            data=(data,), out=tmp_path / "out", server=stage.target, answerer=f"{chat.url}#m", held_out=0, mmstar=True
        )
        annotate(options, Progress(quiet=True))
    made = {name: row for name, row in examples(tmp_path / "out").items() if row["objective"] == "mmstar"}
    assert {name: row["target"] for name, row in made.items()} == {
        "1//mmstar/reason": "It is told.",
        "1//mmstar/conclude_from_reason": "7 years",
        "2//mmstar/reason": "It follows.",
        "2//mmstar/conclude_from_reason": "8 years",
    }
    assert made["1//mmstar/reason"]["values"]["question"] == "How old is it, 1?", "not told the answer"
    assert made["1//mmstar/conclude_from_reason"]["values"]["reason"] == "It is told."


@pytest.mark.parametrize("external_right", [True, False])
def test_a_question_without_its_entry_teaches_nothing(external_right: bool, tmp_path: Path) -> None:
    known = {"entries": (), "pictures": (), "evidence": Told(), "memory": "", "external": "", "memory_right": True}
    run = Conditions(id="1", gold=-1, chosen=-1, by_picture=-1, by_text=0, external_right=external_right, **known)
    assert (run.conflict, run.modality) == ("", "")
    assert not list(core_examples(Sample("1", "?"), run, tmp_path)), "nor the baseline, which is trained on the same"
