"""QA-Dragon's recipe: the policy run with everything on, what it teaches, and the fits beside it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from safetensors.torch import load_file

from quizglass.values import Origin
from quizglass_bundle.parts import LinearDeciderPart
from quizglass_export.checkpoints.merge import merge_adapter
from quizglass_export.cli import main as build
from quizglass_export.errors import ExportError
from quizglass_lab.cli import main
from quizglass_lab.datasets.benchmarks import read_samples
from quizglass_lab.datasets.reading.sample import Sample
from quizglass_lab.finetuning.fitting import domain_router, search_router, verifier_line
from quizglass_lab.finetuning.fitting.search_router import SearchRouterTraining
from quizglass_lab.finetuning.fitting.verifier_line import VerifierLineTraining, reliability
from quizglass_lab.finetuning.recipes import reranker
from quizglass_lab.finetuning.recipes.qa_dragon import (
    DragonAnnotation,
    DragonTraining,
    DragonTurn,
    annotate,
    dragon_examples,
    subject_of,
)
from quizglass_lab.finetuning.recipes.questions import held_out_ids
from quizglass_lab.finetuning.recipes.reranker import RerankerAnnotation, RerankerTraining
from quizglass_lab.finetuning.shared.options import Options
from quizglass_lab.finetuning.shared.progress import Progress
from quizglass_lab.finetuning.training.trainer import train
from quizglass_lab.scoring.certainty import Line, best_line
from quizglass_server.domain.turns import Evidence
from quizglass_server.policies.qa_dragon import Subject
from quizglass_server.roles.decider import LinearDecider
from quizglass_server.steps.signs import SIGNS
from tests.support.bundles.tiny_checkpoints import bert_tokenizer, blip2
from tests.support.rpc_fakes import Stage
from tests.support.training.finetuning import ChatServer, checkpoint, picture, rows, searching_server

torch.set_num_threads(1)
WORDS = {"words": "No. 8"}
QUIET = Progress(quiet=True)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with searching_server(tmp_path / "server", ["boat", "car"]) as made:
        yield made


@pytest.fixture
def data(tmp_path: Path) -> Path:
    picture(tmp_path / "boat.png")
    fact = {"entries": ["boat"], "image_answer": "Boat", "gold_query": "How old is the Boat?", "pictures": ["boat.png"]}
    evidence = {"evidence": ["The Boat is 7 years old."]}
    return rows(
        tmp_path / "questions.jsonl",
        [
            {
                "id": "sum",
                "question": "What is the sum?",
                "answers": ["12"],
                "pictures": ["boat.png"],
                "domain": "math",
            },
            {"id": "sure", "question": "How old is this boat?", "answers": ["7 years"], **fact, **evidence},
            {"id": "lost", "question": "How old is that?", "answers": ["7 years"], **fact, "claims": ["7", "a boat"]},
            {
                "id": "other",
                "question": "How far is it?",
                "answers": ["3 km"],
                "entries": ["car"],
                "evidence": ["It is 3 km away."],
                "source": {"objects": ["car", "boat"], "meant": "the red car"},
            },
        ],
    )


def model(text: str) -> str:
    if "Think in at most five short lines" in text:
        return "It is a Boat.\nIts age cannot be determined." if "is that" not in text else "It is a thing."
    if "as the thoughts lead to it" in text:
        return "12" if "sum" in text else "7 years" if "this boat" in text else "I don't know"
    if "what follows from the picture and the sources" in text:
        return "It follows."
    if "Say whether the picture shows" in text:
        return "A"
    if "How old is the Boat?" in text and "Thought" not in text:
        return "a year"
    return "7 years"


def run(data: Path, out: Path, stage: Stage | None, **more: Any) -> dict[str, Any]:
    with ChatServer(model) as chat:
        server = {"server": stage.target} if stage else {}
        how = {"held_out": 0, **server, **more}
        options = DragonAnnotation(data=(data,), out=out, answerer=f"{chat.url}#m", **how)
        return annotate(options, QUIET)


def read(path: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in map(json.loads, path.read_text().splitlines())}


def test_a_run_of_the_policy_teaches_every_decision(stage: Stage, data: Path, tmp_path: Path) -> None:
    report = run(data, tmp_path / "out", stage)
    assert report["branches"] == {"direct": 1, "verify": 1, "rag": 2}
    turns, made = read(tmp_path / "out" / "turns.jsonl"), read(tmp_path / "out" / "train.jsonl")
    assert turns["sure"]["steps"] == ["It is a Boat.", "Its age cannot be determined."]
    assert turns["sure"]["features"]["undetermined"] == 1
    assert 0 < turns["sure"]["p_min"] <= turns["sure"]["p_mean"] <= 1
    target = {name: row["target"] for name, row in made.items()}
    assert target["sum//tool_router-0"] == " A"
    assert target["sum//subject-0"] == " E", "a calculation"
    assert target["lost//tool_router-0"] == " D", "the trace does not name it, and the fact is not known"
    assert made["lost//tool_router-0"]["values"]["draft"] == "I don't know"
    assert "no_answer" in made["lost//tool_router-0"]["values"]["signs"]
    assert (target["sure//entity-0"], target["sure//entity-1"]) == (" A", " B"), "the boat, not the car"
    assert made["sure//entity-1"]["values"]["entity"] == "Car"
    assert target["other//objects-0"] == "car\nboat"
    assert target["other//object-0"] == "the red car"
    judged = {name: row for name, row in made.items() if row["task"] == "verifier"}
    assert Counter(row["target"] for row in judged.values()) == {" A": 2, " B": 4, " C": 2}
    own = judged["other//verifier-1"]["values"]
    assert (own["answer"], own["reason"]) == ("7 years", "It follows."), "its own wrong answer, as it is served"
    assert judged["sum//verifier-0"]["values"]["reason"] == "", "no reason was written for another's answer"
    assert not any(row["task"] == "entity" for name, row in made.items() if name.startswith("sum"))


@pytest.fixture
def unrecorded(tmp_path: Path) -> Path:
    """Questions as CRAG-MM has them: without labels of the pictures' content or of the lookups needed."""
    picture(tmp_path / "boat.png")
    asked = {"answers": ["7 years"], "pictures": ["boat.png"]}
    return rows(
        tmp_path / "questions.jsonl",
        [
            {"id": "sure", "question": "How old is this boat?", **asked},
            {"id": "lost", "question": "How old is that?", **asked},
        ],
    )


def test_a_missing_label_does_not_count_as_no(stage: Stage, unrecorded: Path, tmp_path: Path) -> None:
    report = run(unrecorded, tmp_path / "out", stage)
    assert report["branches"] == {"verify": 1, "rag": 1}, "only a calculation or a translation is given unchecked"
    turns = read(tmp_path / "out" / "turns.jsonl")
    assert (turns["lost"]["names_it"], turns["lost"]["gold_right"], turns["lost"]["candidates"]) == (None, None, [])
    assert {name for name, row in read(tmp_path / "out" / "train.jsonl").items() if row["task"] != "subject"} == {
        "sure//tool_router-0"
    }


def test_a_writer_says_what_was_not_recorded(stage: Stage, unrecorded: Path, tmp_path: Path) -> None:
    def writing(text: str) -> str:
        if "asks what the thing is" in text:
            return "What is it?"
        return "Boat" if "most exact name" in text else "How old is the Boat?" if "Rewrite" in text else "a boat"

    with ChatServer(writing) as writer:
        run(unrecorded, tmp_path / "out", stage, writer=f"{writer.url}#strong")
    made = read(tmp_path / "out" / "train.jsonl")
    assert made["lost//tool_router-0"]["target"] == " D", "it does not name the boat, nor know its age when it is told"
    assert [made[f"lost//entity-{number}"]["target"] for number in (0, 1)] == [" A", " B"]


def test_a_writer_names_what_a_question_with_a_gold_query_alone_shows(
    stage: Stage, unrecorded: Path, tmp_path: Path
) -> None:
    recorded = {"gold_query": "How old is the Boat?"}
    rows(unrecorded, [json.loads(line) | recorded for line in unrecorded.read_text().splitlines()])
    with ChatServer(lambda text: "Boat" if "most exact name" in text else "What is it?") as writer:
        run(unrecorded, tmp_path / "out", stage, writer=f"{writer.url}#strong")
    assert {turn["names_it"] for turn in read(tmp_path / "out" / "turns.jsonl").values()} == {True, False}


def test_a_question_that_names_its_thing_needs_no_picture(stage: Stage, data: Path, tmp_path: Path) -> None:
    rows(data, [json.loads(line) | {"pictured": False} for line in data.read_text().splitlines()])
    run(data, tmp_path / "out", stage)
    assert read(tmp_path / "out" / "train.jsonl")["lost//tool_router-0"]["target"] == " C", "text alone"


def test_what_is_measured_on_is_no_evidence_in_training(data: Path, tmp_path: Path) -> None:
    every = list(read_samples("plain", [data]))
    seed = next(seed for seed in count() if held_out_ids(every, 0.25, seed) == {"other"})
    run(data, tmp_path / "out", None, held_out=0.25, seed=seed)
    assert "3 km" in (tmp_path / "out" / "held-out.jsonl").read_text()
    assert "3 km" not in (tmp_path / "out" / "train.jsonl").read_text()


def test_the_verifier_is_shown_of_an_answer_what_it_is_shown_where_it_is_served() -> None:
    own = DragonTurn(**turn(0.8), answer="7", reason="It follows.")
    shown = Sample("1", "How old is the Boat?", ("7",), evidence=("It is 7 years.",), image_answer="Boat", source=WORDS)
    other = Sample("2", "How old is it?", ("8",), evidence=("It is 8 years.",), image_answer="Car")
    made = {each.id: each.values for each in dragon_examples(shown, own, other, ()) if each.task == "verifier"}
    keys = ("answer", "evidence", "certainty", "standing", "unmatched", "reason")
    assert [tuple(values[key] for key in keys) for values in made.values()] == [
        ("7", ["Boat: It is 7 years."], "40", "evidence", ["old"], "It follows."),
        ("8", ["Boat: It is 7 years."], "", "picture", ["old"], ""),
        ("7", ["Car: It is 8 years."], "40", "nowhere", ["old", "Boat"], "It follows."),
    ]
    untold = own.model_copy(update={"p_min": 0.0, "p_mean": 0.0})
    first = next(each for each in dragon_examples(shown, untold, other, ()) if each.task == "verifier")
    assert first.values["certainty"] == "", "of a model that tells no probabilities"


def test_an_answer_that_says_nothing_contradicts_nothing() -> None:
    silent = DragonTurn(**turn(0.55), answer="I don't know", reason="Nothing tells.")
    sample, other = Sample("1", "?", ("7",), evidence=("It is 7.",)), Sample("2", "?", ("8",), evidence=("It is 8.",))
    made = [each for each in dragon_examples(sample, silent, other, ()) if each.task == "verifier"]
    assert [(each.target, each.values["answer"]) for each in made] == [(" A", "7"), (" C", "8"), (" B", "7")]


def test_another_writing_of_a_right_answer_contradicts_nothing() -> None:
    silent = DragonTurn(**turn(0.55), answer="I don't know")
    sample, other = Sample("1", "?", ("7 Years",), evidence=("It is 7.",)), Sample("2", "?", ("7 years.",))
    made = [each for each in dragon_examples(sample, silent, other, ()) if each.task == "verifier"]
    assert [each.target for each in made] == [" A"]


@pytest.mark.parametrize(
    ("said", "targets"),
    [("Ana built it in 1924.", [" A", " D"]), ("In 1924.", [" A", " D"]), ("In 1925.", [" A", " C", " D"])],
)
def test_an_answer_that_holds_a_right_one_or_a_part_of_it_contradicts_nothing(said: str, targets: list[str]) -> None:
    judged_wrong = DragonTurn(**turn(0.55), answer=said)
    gold, claims = ("Ana, 1924",), ("Ana", "1924")
    sample = Sample("1", "?", gold, claims=claims, evidence=("Ana built it in 1924.",))
    made = dragon_examples(sample, judged_wrong, Sample("2", "?", ("",)), ())
    assert sorted(each.target for each in made if each.task == "verifier") == targets


def test_without_a_server_the_recorded_evidence_is_searched(data: Path, tmp_path: Path) -> None:
    run(data, tmp_path / "out", None)
    made = read(tmp_path / "out" / "train.jsonl")
    assert made["sure//entity-0"]["values"]["seen"] == ["Boat: The Boat is 7 years old."]


@pytest.mark.parametrize("begun_with_it", [False, True])
def test_turns_of_recorded_evidence_and_of_a_servers_are_not_mixed(
    begun_with_it: bool, stage: Stage, data: Path, tmp_path: Path
) -> None:
    servers = [stage.target, ""] if begun_with_it else ["", stage.target]
    with ChatServer(model) as chat:
        first, second = (
            DragonAnnotation(data=(data,), out=tmp_path / "out", answerer=f"{chat.url}#m", held_out=0, server=server)
            for server in servers
        )
        annotate(first, QUIET)
        with pytest.raises(ExportError, match="out: begun with another --server; choose another --out"):
            annotate(second, QUIET)


def test_objects_that_are_not_recorded_are_asked_for(data: Path, tmp_path: Path) -> None:
    with ChatServer(lambda text: "red car\nboat" if "List the things" in text else "the boat") as writer:
        run(data, tmp_path / "out", None, writer=f"{writer.url}#strong")
    made = read(tmp_path / "out" / "train.jsonl")
    assert (made["sum//objects-0"]["target"], made["sum//object-0"]["target"]) == ("red car\nboat", "the boat")


def test_the_decider_is_trained_on_all_of_them(stage: Stage, data: Path, tmp_path: Path) -> None:
    run(data, tmp_path / "notes", stage)
    how = {"checkpoint": checkpoint(tmp_path / "base"), "data": tmp_path / "notes", "steps": 2, "picture": "56x56"}
    facts = train(DragonTraining(**how, out=tmp_path / "out", accumulation=2), "qa-dragon")
    assert set(facts["examples"]) == set(DragonTraining.objectives)
    assert {path.stem for path in (tmp_path / "out" / "prompts").iterdir()} >= set(DragonTraining.objectives)


@pytest.mark.parametrize(
    ("more", "subject"),
    [
        ({"domain": "plants plant"}, Subject.PLANT),
        ({"category": "translation"}, Subject.TRANSLATION),
        ({"answer_type": "number"}, Subject.CALCULATION),
        ({}, Subject.OTHER),
    ],
)
def test_exceptions_come_from_the_data_sets_own_words(more: dict[str, str], subject: Subject) -> None:
    assert subject_of(Sample("1", "?", **more)) is subject  # type: ignore[arg-type]


def turn(sure: float, name: str = "1") -> dict[str, Any]:
    """One whose branch and rightness follow from its draft; without its answer."""
    signs = dict.fromkeys(SIGNS, 0.0) | {"no_answer": float(sure < 0.5)}
    return {
        "id": name,
        "steps": [],
        "draft": "a",
        "draft_right": sure >= 0.5,
        "features": signs | {"p_min": sure, "p_mean": sure},
        "branch": "rag" if sure < 0.5 else "verify",
        "names_it": True,
        "gold_right": True,
        "answer_right": sure > 0.6,
        "p_min": sure / 2,
        "p_mean": sure,
    }


def turns_file(path: Path, count: int = 60, **more: Any) -> Path:
    """Turns whose branch and rightness follow from their draft."""
    random = np.random.default_rng(0)
    return rows(path, [{**turn(float(random.random()), str(index)), "answer": "a", **more} for index in range(count)])


async def test_the_search_router_is_a_linear_decider_that_a_server_takes(tmp_path: Path) -> None:
    out = tmp_path / "router.json"
    report = search_router.fit(SearchRouterTraining(turns=turns_file(tmp_path / "turns.jsonl"), out=out), QUIET)
    assert report["right"] == 1
    decider = json.loads(out.read_text())
    part = LinearDeciderPart.model_validate({"engine": "numpy", "kind": "linear", **decider})
    chosen = LinearDecider("deciders.search_router", part)
    for sure, branch in ((0.1, "rag"), (0.9, "verify")):
        signs = dict.fromkeys(SIGNS, 0.0) | {"no_answer": float(sure < 0.5)}
        shares = dict(await chosen.probabilities((), {**signs, "p_min": sure, "p_mean": sure}))
        assert max(shares, key=lambda name: shares[name]) == branch


def test_turns_of_one_branch_alone_fit_nothing(tmp_path: Path) -> None:
    path = turns_file(tmp_path / "turns.jsonl", count=1)
    with pytest.raises(ExportError, match=r"turns.jsonl: branch: all turns are (rag|verify); nothing to tell apart"):
        search_router.fit(SearchRouterTraining(turns=path, out=tmp_path / "x.json"), QUIET)


def test_the_line_refuses_what_is_more_often_wrong_than_right(tmp_path: Path) -> None:
    path = turns_file(tmp_path / "turns.jsonl")
    report = verifier_line.fit(VerifierLineTraining(turns=path, out=tmp_path / "line"), QUIET)
    assert report["truthfulness"] > report["truthfulness_of_all"]
    written = json.loads((tmp_path / "line" / "line.json").read_text())["line"]
    assert written["p_min"] + written["p_mean"] == pytest.approx(1)
    assert (tmp_path / "line" / "reliability.png").stat().st_size > 1000


def test_answers_that_refuse_by_themselves_move_no_line(tmp_path: Path) -> None:
    path = turns_file(tmp_path / "turns.jsonl")
    plain = verifier_line.fit(VerifierLineTraining(turns=path, out=tmp_path / "line"), QUIET)
    lost = turn(1.0, "lost") | {"answer": "I don't know.", "answer_right": False}
    rows(path, [*map(json.loads, path.read_text().splitlines()), *[lost] * 40])
    again = verifier_line.fit(VerifierLineTraining(turns=path, out=tmp_path / "line"), QUIET)
    assert again == plain | {"refused_by_the_model": 40}


def test_a_line_that_refuses_everything_does_so_as_it_is_written(tmp_path: Path) -> None:
    path = turns_file(tmp_path / "turns.jsonl", p_min=0.12, p_mean=0.12, answer_right=False)
    verifier_line.fit(VerifierLineTraining(turns=path, out=tmp_path / "line"), QUIET)
    written = Line(**json.loads((tmp_path / "line" / "line.json").read_text())["line"])
    assert not written.accepts(np.array([[0.12, 0.12]])).any()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"p_min": 0.0, "p_mean": 0.0}, "turns.jsonl: p_mean: no answer has probabilities"),
        ({"p_mean": "high"}, "turns.jsonl:1: p_mean: Input should be a valid number"),
    ],
)
def test_answers_that_no_line_can_be_fitted_on_are_named(more: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = turns_file(tmp_path / "turns.jsonl", count=6, **more)
    with pytest.raises(ExportError, match=re.escape(message)):
        verifier_line.fit(VerifierLineTraining(turns=path, out=tmp_path / "line"), QUIET)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"features": {"doubt": 1.0}}, "turns.jsonl:1: features: no_answer is missing; annotate again"),
        ({"branch": "left"}, "turns.jsonl:1: branch: Input should be 'direct', 'verify' or 'rag'"),
    ],
)
def test_drafts_that_no_router_can_be_fitted_on_are_named(more: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = turns_file(tmp_path / "turns.jsonl", count=6, **more)
    with pytest.raises(ExportError, match=re.escape(message)):
        search_router.fit(SearchRouterTraining(turns=path, out=tmp_path / "router.json"), QUIET)


Answers = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.booleans()), min_size=1, max_size=12)


@given(Answers)
def test_no_pair_of_thresholds_on_one_of_the_two_earns_more_than_the_line(answers: list[tuple[int, int, bool]]) -> None:
    points = np.array([[low / 8, mean / 8] for low, mean, _ in answers])
    right = np.array([good for *_, good in answers])
    worth = np.where(right, 1, -1)
    line = best_line(points, right)
    earned = worth[line.accepts(points)].sum()
    for place in np.linspace(0, 1.125, 19):
        assert earned >= worth[points[:, 0] >= place].sum()
        assert earned >= worth[points[:, 1] >= place].sum()
    assert earned >= 0, "everything may be refused"
    assert line.p_min + line.p_mean == pytest.approx(1)


def test_reliability_counts_each_tenth() -> None:
    points = np.array([0.05, 0.15, 0.15, 1.0])
    assert reliability(points, np.array([False, True, False, True])) == [(0.05, 0, 1), (0.15, 0.5, 2), (1, 1, 1)]
    assert Line(1, 0, 0.5).accepts(np.array([[0.5, 0], [0.4, 1]])).tolist() == [True, False]


def test_a_domain_router_learns_a_data_sets_domains_and_can_be_exported(tmp_path: Path) -> None:
    base, out = tmp_path / "blip", tmp_path / "router"
    vocabulary = bert_tokenizer(base)
    blip2(vocabulary).save_pretrained(base)
    asked = [
        {"id": f"{color}-{index}", "question": "what is this", "domain": color, "pictures": [f"{color}.png"]}
        for color in ("red", "blue")
        for index in range(4)
    ]
    for color in ("red", "blue"):
        Image.new("RGB", (28, 28), color).save(tmp_path / f"{color}.png")
    data = rows(tmp_path / "questions.jsonl", asked)
    flags = ["--data", str(data), "--checkpoint", str(base), "--out", str(out), "--decay", "0"]
    assert main(["train", "domain-router", *flags]) == 0
    recipe = tmp_path / "bundle.toml"
    recipe.write_text(
        f'format = 1\nname = "x"\nversion = "1"\nsamples = {{ source = "random", count = 2, generated = 2 }}\n'
        f'[roles.domain_router]\ncheckpoint = "{out}"\nlabels = ["blue", "red"]\n'
    )
    assert build(["build", "--recipe", str(recipe), "--out", str(tmp_path / "bundle"), "--dry-run"]) == 0
    head = load_file(out / "classifier.safetensors")
    assert head["weight"].shape == (2, 32)
    assert head["weight"].abs().sum() > 0


@pytest.mark.parametrize("kind", [RerankerAnnotation, domain_router.DomainRouterTraining])
def test_where_no_model_is_asked_there_is_no_option_of_one(kind: type[Options]) -> None:
    assert not {"judge", "prompts", "max_tokens", "device", "key_variable", "logprobs"} & kind.model_fields.keys()


def test_a_domain_router_is_measured_on_other_things_than_it_was_fitted_on() -> None:
    samples = [Sample(str(index), "?", session=f"s{index // 4}", domain="d") for index in range(40)]
    tested = domain_router._held_out(samples, 0.1, seed=0)
    assert tested.sum() == 4
    assert len({sample.session for sample, held in zip(samples, tested, strict=True) if held}) == 1
    assert domain_router._held_out(samples[:4], 0.1, seed=0).all(), "of one thing there is no other part"


class Passages:
    """A search that brings these back, each as (entry, text)."""

    def __init__(self, *hits: tuple[str, str]) -> None:
        self.hits = [Evidence("", Origin.TEXT_SEARCH, name, name.title(), text) for name, text in hits]

    def text(self, queries: Any, limit: int) -> list[Evidence]:
        return self.hits[:limit]


def test_a_passage_is_relevant_by_words_and_one_that_says_the_answer_is_no_negative(tmp_path: Path) -> None:
    hits = ("boat", "Built in 1924."), ("boat", "It has 2 masts."), ("car", "Two, or 2."), ("car", "Built in 1952.")
    how = RerankerAnnotation(data=(tmp_path,), out=tmp_path, server="x")
    sample = Sample("1", "How many masts?", ("2",), entries=("boat",), evidence=("2 masts.",), image_answer="Boat")
    ranked = reranker._ranked(sample, Passages(*hits), how)  # type: ignore[arg-type]
    assert ranked.relevant == ("Boat: 2 masts.", "Boat: It has 2 masts."), "1924 does not say 2; both with their title"
    assert ranked.hard == ("Car: Built in 1952.",)


def test_a_recorded_passage_of_an_unknown_entry_is_no_negative(tmp_path: Path) -> None:
    hits = ("boat", "It has a mast, and sails."), ("car", "It has four doors.")
    how = RerankerAnnotation(data=(tmp_path,), out=tmp_path, server="x")
    sample = Sample("1", "Does the boat sail?", ("yes",), evidence=("It has a mast, and sails.",))
    ranked = reranker._ranked(sample, Passages(*hits), how)  # type: ignore[arg-type]
    assert ranked.relevant == ("It has a mast, and sails.",)
    assert ranked.hard == ("Car: It has four doors.",)


def test_a_passage_says_a_chinese_answer_where_its_characters_stand_in_a_row(tmp_path: Path) -> None:
    hits = ("tower", "它在巴黎。"), ("bridge", "它不在黎巴嫩。")
    how = RerankerAnnotation(data=(tmp_path,), out=tmp_path, server="x")
    sample = Sample("1", "它在哪里？", ("巴黎",), entries=("tower",), image_answer="塔")
    ranked = reranker._ranked(sample, Passages(*hits), how)  # type: ignore[arg-type]
    assert ranked.relevant == ("Tower: 它在巴黎。",)
    assert ranked.hard == ("Bridge: 它不在黎巴嫩。",)


def test_hard_negatives_come_from_the_servers_own_search(stage: Stage, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    how = RerankerAnnotation(data=(data,), out=out, server=stage.target, held_out=0)
    report = reranker.annotate(how, QUIET)
    made = read(out / "train.jsonl")
    assert made["sure//0"]["values"] == {"query": "How old is the Boat?", "passage": "Boat: The Boat is 7 years old."}
    assert [made[f"sure//{index}"]["target"] for index in (0, 1)] == [" yes", " no"]
    assert made["sure//1"]["values"]["passage"] == "Car: It is 1 years old."
    assert report["without_a_relevant_passage"] >= 1
    base = checkpoint(tmp_path / "base", "qwen3")
    facts = train(RerankerTraining(checkpoint=base, data=out, out=tmp_path / "reranker", steps=2), "reranker")
    assert facts["config"]["max_tokens"] == 256
    merge_adapter(transformers.AutoModelForCausalLM.from_pretrained(base), tmp_path / "reranker" / "adapter")
