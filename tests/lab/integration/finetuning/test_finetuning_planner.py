"""The planner's recipe, from questions over annotation to an adapter, with an endpoint on a real socket."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
import torch
import transformers
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file

from quizglass_bundle.inputs.prompts import GENERAL_PROMPTS
from quizglass_export.checkpoints.merge import merge_adapter
from quizglass_export.cli import main as build
from quizglass_export.errors import ExportError
from quizglass_lab.cli import main
from quizglass_lab.finetuning.recipes import planner
from quizglass_lab.finetuning.recipes.planner import PLANS, PlannerAnnotation, Probe, annotate, balanced, plan_of
from quizglass_lab.finetuning.shared.progress import Progress
from tests.support.training.finetuning import ChatServer, checkpoint, picture, rows

torch.set_num_threads(1)
KEY = "sk-never-to-be-seen"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoint(tmp_path_factory.mktemp("base") / "vl")


def questions(folder: Path, count: int = 6, **more: Any) -> Path:
    picture(folder / "pictures" / "boat.png")
    return rows(
        folder / "questions.jsonl",
        [
            {
                "id": str(index),
                "question": f"How old is it, {index}?",
                "answers": [f"{index} years"],
                "pictures": ["pictures/boat.png"],
                "entries": [f"entry-{index}"],
                **more,
            }
            for index in range(count)
        ],
    )


def knowing(text: str) -> str:
    """A model that writes queries, and answers by the question's number as each label needs it."""
    lines = text.splitlines()
    asked = next((line for line in reversed(lines) if line.startswith("Question: ")), "")
    number = int(next((letter for letter in asked if letter.isdigit()), "0"))
    if "asks what the thing is" in text:
        return f"What is it called, {number}?"
    if "most exact name" in text:
        return f"boat {number}"
    if "Rewrite the question" in text:
        return f"How old is boat {number}?"
    own, image, gold = {0: (1, 1, 1), 1: (0, 1, 0), 2: (0, 0, 1), 3: (0, 0, 0), 4: (0, 1, 1)}.get(number, (0, 0, 0))
    if "called" in asked:
        return f"boat {number}" if image else "a car"
    right = gold if "boat" in asked else own
    return f"{number} years" if right else "I don't know"


def options(data: Path, out: Path, server: ChatServer, **more: Any) -> PlannerAnnotation:
    model = f"{server.url}#strong"
    how = {"answerer": model, "writer": model, "held_out": 0.0, **more}
    return PlannerAnnotation(data=(data,), out=out, **how)


def test_labels_are_what_the_answering_model_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ChatServer(knowing) as server:
        report = annotate(options(questions(tmp_path), tmp_path / "out", server), Progress(quiet=True))
    assert report["dropped_as_illogical"] == 1
    assert report["annotated"] == {"none": 1, "text": 1, "image": 1, "both": 2}
    labels = [json.loads(line) for line in (tmp_path / "out" / "labels.jsonl").read_text().splitlines()]
    assert {row["id"]: row["plan"] for row in labels} == {
        "0": "none", "1": "text", "2": "image", "3": "both", "4": "", "5": "both",
    }  # fmt: skip
    assert set(server.keys) == {f"Bearer {KEY}"}
    assert not any(KEY in path.read_text() for path in (tmp_path / "out").glob("*.jsonl"))
    decomposed = json.loads((tmp_path / "out" / "decomposed.jsonl").read_text().splitlines()[0])
    assert decomposed == {
        "id": "0",
        "image_query": "What is it called, 0?",
        "image_answer": "boat 0",
        "gold_query": "How old is boat 0?",
    }
    pictures = [any("image_url" in part for part in body["messages"][-1]["content"]) for body in server.bodies]
    gold = ["How old is boat" in json.dumps(body) and "Rewrite" not in json.dumps(body) for body in server.bodies]
    assert all(shown != alone for shown, alone in zip(pictures, gold, strict=True)), "q_g is asked without the picture"


def test_a_stopped_annotation_goes_on(tmp_path: Path) -> None:
    with ChatServer(knowing) as server:
        how = options(questions(tmp_path), tmp_path / "out", server, chunk=2)
        annotate(how, Progress(quiet=True))
        asked = len(server.bodies)
        probes = tmp_path / "out" / "probes.jsonl"
        whole = probes.read_text()
        lines = whole.splitlines(keepends=True)
        probes.write_text("".join(lines[:4]) + lines[4][:10])  # killed while writing the fifth
        annotate(how, Progress(quiet=True))
        assert probes.read_text() == whole
        assert len(server.bodies) == asked + 2 * 3


def test_answers_of_another_model_are_not_taken_for_these(tmp_path: Path) -> None:
    with ChatServer(knowing) as server:
        data = questions(tmp_path)
        annotate(options(data, tmp_path / "out", server), Progress(quiet=True))
        other = options(data, tmp_path / "out", server, answerer=f"{server.url}#weak", picture="56x56", parallel=2)
        with pytest.raises(ExportError, match="out: begun with another --picture, --answerer; choose another --out"):
            annotate(other, Progress(quiet=True))


def test_answers_to_other_questions_or_prompts_are_not_taken_for_these(tmp_path: Path) -> None:
    with ChatServer(knowing) as server:
        data, added, prompts = questions(tmp_path), tmp_path / "added.jsonl", tmp_path / "prompts"
        shutil.copytree(GENERAL_PROMPTS, prompts)
        annotate(options(data, tmp_path / "out", server, prompts=prompts), Progress(quiet=True))
        asked = len(server.bodies)
        added.write_text(data.read_text().splitlines()[0].replace('"0"', '"7"') + "\n")
        how = options(data, tmp_path / "out", server, prompts=prompts)
        more = how.model_copy(update={"data": (data, added)})
        annotate(more, Progress(quiet=True))
        assert len(server.bodies) > asked, "files may be added"
        (prompts / "answer.jinja").write_text((prompts / "answer.jinja").read_text() + " ")
        data.write_text(data.read_text().replace("years", "months"))
        with pytest.raises(ExportError, match="out: begun with another --prompts, --data; choose another --out"):
            annotate(more, Progress(quiet=True))


@pytest.mark.parametrize("changed", ["model.safetensors", "adapter/adapter_model.safetensors"])
def test_answers_of_a_model_that_was_trained_again_in_its_place_are_not_taken_for_its_own(
    changed: str, base: Path, tmp_path: Path
) -> None:
    model, adapter = shutil.copytree(base, tmp_path / "model"), tmp_path / "model" / "adapter"
    get_peft_model(
        transformers.Qwen2_5_VLForConditionalGeneration.from_pretrained(model), LoraConfig(target_modules=["q_proj"])
    ).save_pretrained(adapter)
    recorded = {"image_query": "What is this?", "image_answer": "boat", "gold_query": "How old is the boat?"}
    how = {"answerer": f"{model}+{adapter}", "picture": "56x56", "held_out": 0}
    asked = PlannerAnnotation(data=(questions(tmp_path, 2, **recorded),), out=tmp_path / "out", **how)
    annotate(asked, Progress(quiet=True))
    annotate(asked, Progress(quiet=True))
    weights = load_file(model / changed)
    save_file({name: tensor + 1 for name, tensor in weights.items()}, model / changed, {"format": "pt"})
    with pytest.raises(ExportError, match="out: begun with another --answerer; choose another --out"):
        annotate(asked, Progress(quiet=True))


def test_an_annotation_that_kept_nothing_can_be_begun_otherwise(tmp_path: Path) -> None:
    with ChatServer(knowing) as server:
        wrong = options(questions(tmp_path), tmp_path / "out", server, answerer=str(tmp_path / "nothing"))
        with pytest.raises(ExportError, match="no such model"):
            annotate(wrong, Progress(quiet=True))
        annotate(options(questions(tmp_path), tmp_path / "out", server), Progress(quiet=True))


def test_what_is_recorded_is_not_asked_for(tmp_path: Path) -> None:
    recorded = {"image_query": "What is it called?", "image_answer": "boat", "gold_query": "How old is boat 1?"}
    with ChatServer(lambda text: "nothing") as server:
        data = questions(tmp_path, **recorded)
        annotate(options(data, tmp_path / "out", server, writer="recorded"), Progress(quiet=True))
        assert len(server.bodies) == 6 * 3


def test_a_question_that_names_its_thing_has_no_image_query_to_ask(tmp_path: Path) -> None:
    with ChatServer(lambda text: "nothing") as server:
        data = questions(tmp_path, gold_query="How old is boat 1?", pictured=False)
        report = annotate(options(data, tmp_path / "out", server, writer="recorded"), Progress(quiet=True))
        assert len(server.bodies) == 6 * 2
    assert report["annotated"] == {"text": 6}


def test_a_question_with_a_gold_query_alone_has_its_image_query_written(tmp_path: Path) -> None:
    records = [
        {"image_url": "", "question": f"How old is it, {name}?", "question_id": name, "answer": [f"{name} years"]}
        for name in "123"
    ]
    for each in records:
        picture(tmp_path / "pictures" / f"{each['question_id']}.png")
    data = rows(
        tmp_path / "DynVQA_en.202502.jsonl",
        [each | {"golden_query": f"How old is boat {each['question_id']}?"} for each in records],
    )
    with ChatServer(knowing) as server:
        kind = {"dataset": "dyn-vqa", "pictures": tmp_path / "pictures"}
        report = annotate(options(data, tmp_path / "out", server, **kind), Progress(quiet=True))
        assert report["annotated"] == {"text": 1, "image": 1, "both": 1}
        alone = options(data, tmp_path / "alone", server, writer="recorded", **kind)
        with pytest.raises(ExportError, match=r'image_query: is not recorded; .*--writer, or record "pictured": false'):
            annotate(alone, Progress(quiet=True))


def test_a_writer_is_asked_about_several_questions_at_once(tmp_path: Path) -> None:
    both = Barrier(2)

    def writing(text: str) -> str:
        if "You prepare questions" in text:
            both.wait(60)
        return knowing(text)

    with ChatServer(writing) as server:
        annotate(options(questions(tmp_path, count=2), tmp_path / "out", server), Progress(quiet=True))
    assert not both.broken


def test_without_a_writer_what_is_missing_is_named(tmp_path: Path) -> None:
    with ChatServer(knowing) as server:
        data = questions(tmp_path)
        with pytest.raises(ExportError, match=r"questions.jsonl:1: gold_query: is not recorded; name a model with"):
            annotate(options(data, tmp_path / "out", server, writer="recorded"), Progress(quiet=True))


def test_a_judge_may_be_a_model(tmp_path: Path) -> None:
    with ChatServer(lambda text: "4" if "You grade answers" in text else knowing(text)) as server:
        model = f"{server.url}#strong"
        report = annotate(options(questions(tmp_path), tmp_path / "out", server, judge=model), Progress(quiet=True))
    assert report["annotated"] == {"none": 6}, "a lenient judge: 4 of 5 is right"


@pytest.mark.parametrize(
    ("recipe", "row", "message"),
    [
        ("planner", {}, "answers: no question, of 1, has a gold answer"),
        ("qa-dragon", {"answers": ["7"], "answerable": False}, "answers: no question, of 1, has a gold answer"),
        ("verifier-line", {}, "answers: no question, of 1, has a gold answer, or cannot have one"),
        ("core-mmrag", {"answers": ["7"]}, "pictures: no question, of 1, has one, and a gold answer"),
        ("reranker", {"pictures": ["x.png"]}, "gold_query: no question, of 1, stands without its picture"),
    ],
)
def test_questions_that_nothing_can_be_learned_from_are_named(
    recipe: str, row: dict[str, Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = rows(tmp_path / "questions.jsonl", [{"id": "1", "question": "How old is it?", **row}])
    nowhere = "127.0.0.1:9"
    flags = ["--data", str(data), "--out", str(tmp_path / "out")]
    flags += [] if recipe in ("reranker", "verifier-line") else ["--answerer", f"http://{nowhere}/v1#m"]
    flags += [] if recipe == "planner" else ["--server", nowhere]
    assert main(["annotate", recipe, *flags, "--json"]) == 2
    assert f"{data}:1: {message}; nothing can be annotated" in capsys.readouterr().err
    assert not list((tmp_path / "out").glob("*.jsonl"))


def test_an_endpoint_that_is_busy_is_asked_again_and_one_that_refuses_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    data = questions(tmp_path, count=1)
    with ChatServer(knowing) as server:
        server.failures = [429, 503]
        annotate(options(data, tmp_path / "busy", server), Progress(quiet=True))
        server.failures = [401]
        model = f"{server.url}#strong"
        flags = ["--data", str(data), "--out", str(tmp_path / "refused"), "--answerer", model, "--writer", model]
        assert main(["annotate", "planner", *flags, "--json"]) == 2
    said = capsys.readouterr().err
    assert "HTTP 401" in said
    assert "set OPENAI_API_KEY to a valid key" in said
    assert KEY not in said


def test_an_endpoint_is_not_asked_for_probabilities_that_it_refuses_to_tell(tmp_path: Path) -> None:
    with ChatServer(knowing) as server:
        annotate(options(questions(tmp_path, count=1), tmp_path / "out", server, logprobs=False), Progress(quiet=True))
        assert not any("logprobs" in body for body in server.bodies)


def test_annotate_train_and_merge_by_the_command_line(
    base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded = {"image_query": "What is this?", "image_answer": "boat", "gold_query": "How old is the boat?"}
    data, notes, out = questions(tmp_path, **recorded), tmp_path / "notes", tmp_path / "out"
    small = ["--picture", "56", "--json"]  # 56 x 56
    asked = ["--data", str(data), "--out", str(notes), "--answerer", str(base), "--held-out", "0.3"]
    assert main(["annotate", "planner", *asked, *small]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["annotated"] == {"both": 6}, "random weights know nothing"
    assert report["examples"] == {"train.jsonl": {"plan": 4}, "held-out.jsonl": {"plan": 2}}
    config = tmp_path / "train.toml"
    config.write_text("[train]\nsteps = 4\naccumulation = 1\nevaluate_every = 2\n")
    trained = ["--checkpoint", str(base), "--data", str(notes), "--out", str(out), "--config", str(config)]
    assert main(["train", "planner", *trained, *small, "--rank", "8"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["recipe"], facts["steps"], facts["config"]["rank"], facts["config"]["alpha"]) == (
        "planner",
        4,
        8,
        128,
    )
    model = transformers.Qwen2_5_VLForConditionalGeneration.from_pretrained(base)
    merge_adapter(model, out / "adapter")
    recipe = tmp_path / "bundle.toml"
    recipe.write_text(
        f'format = 1\nname = "planned"\nversion = "1"\nprompts = "{out / "prompts"}"\n'
        f'samples = {{ source = "random", count = 3 }}\n[roles.planner]\ncheckpoint = "{base}"\n'
        f'adapters = ["{out / "adapter"}"]\npicture = {{ width = 56, height = 56 }}\n'
    )
    assert build(["build", "--recipe", str(recipe), "--out", str(tmp_path / "bundle")]) == 0, "as PEFT's layers have it"
    capsys.readouterr()
    served = tmp_path / "bundle" / "prompts" / "plan.jinja"
    assert served.read_bytes() == (out / "prompts" / "plan.jinja").read_bytes(), "what was trained is served"
    again = [*asked[:4], "--answerer", f"{base}+{out / 'adapter'}", *asked[6:]]
    again[3] = str(tmp_path / "second")
    assert main(["annotate", "planner", *again, *small]) == 0, "an adapter beside its base is a model to ask"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--rank", "0"], "--rank: Input should be greater than or equal to 1"),
        (["--picture", "big"], "--picture: 'big' is no size of a picture; give WIDTHxHEIGHT, as in 448x448"),
        (["--picture", "56x"], "--picture: '56x' is no size of a picture"),
        (["--config", "{toml}"], "train.toml: train.ranc: unknown key"),
        ([], "--checkpoint: Field required"),
    ],
)
def test_a_wrong_option_is_named(
    flags: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toml = tmp_path / "train.toml"
    toml.write_text("[train]\nranc = 3\n")
    assert main(["train", "planner", *[flag.replace("{toml}", str(toml)) for flag in flags]]) == 2
    assert message in capsys.readouterr().err


def test_the_training_set_has_the_papers_shape() -> None:
    plans = {
        f"{plan}-{index}": plan
        for plan, count in zip(PLANS, (900, 500, 600, 3000), strict=True)
        for index in range(count)
    }
    counts = Counter(plans[name] for name in balanced(plans, seed=0))
    assert counts == {"none": 600, "text": 600, "both": 600, "image": 176}, "8,806 to 30,000 of image"
    many = {f"{plan}-{index}": plan for plan in PLANS for index in range(31_000)}
    assert dict(Counter(many[name] for name in balanced(many, seed=0))) == planner.TARGET


@pytest.mark.parametrize(
    ("scores", "asks", "plan"),
    [
        ((100, 0, 0), True, "none"),
        ((75, 100, 100), True, "none"),
        ((50, 100, 0), True, "text"),
        ((0, 0, 75), True, "image"),
        ((0, 0, 0), True, "both"),
        ((0, 75, 75), True, ""),
        ((0, 0, 0), False, "text"),
    ],
)
def test_a_label_follows_from_three_scores(scores: tuple[float, float, float], asks: bool, plan: str) -> None:
    assert plan_of(Probe(id="1", answers=("", "", ""), scores=scores), asks_picture=asks) == plan


@pytest.mark.parametrize(
    ("scores", "plan"),
    [((100, 0, 0), "none"), ((0, 100, 0), "text"), ((0, 0, 0), "image"), ((0, 0, 100), "image"), ((0, 100, 100), "")],
)
def test_an_entry_that_says_it_saves_the_search_of_texts(scores: tuple[float, float, float], plan: str) -> None:
    probe = Probe(id="1", answers=("", "", ""), scores=scores, from_entry="9 years", from_entry_score=100)
    assert plan_of(probe, asks_picture=True) == plan


def reading(text: str) -> str:
    """Knows nothing by heart, and says the years that a note has."""
    note = next((line for line in text.splitlines() if "is 5 years old" in line), "")
    return "5 years" if note else "I don't know"


@pytest.mark.parametrize(
    ("passages", "shown", "plan"),
    [
        (2, "boat: The boat is blue. The boat is 5 years old.", "image"),
        (1, "boat: The boat is blue.", "both"),
        (0, "", "both"),
    ],
)
def test_a_question_is_asked_beside_what_the_bundle_will_show_of_its_entry(
    tmp_path: Path, passages: int, shown: str, plan: str
) -> None:
    evidence = ["The boat is blue.", "The boat is 5 years old.", "The boat is 5 years old, they say."]
    recorded = {"image_query": "What is it called?", "image_answer": "boat", "gold_query": "How old is boat 1?"}
    with ChatServer(reading) as server:
        data = questions(tmp_path, 1, **recorded | {"answers": ["5 years"], "evidence": evidence})
        how = options(data, tmp_path / "out", server, writer="recorded", own_passages=passages)
        assert annotate(how, Progress(quiet=True))["annotated"] == {plan: 1}
        asked = [json.dumps(body) for body in server.bodies]
    assert len(asked) == (4 if passages else 3)
    assert not shown or any(shown in each for each in asked)
    assert not any("they say" in each for each in asked)


def test_a_question_that_names_its_thing_is_not_asked_beside_the_entry_of_the_picture(tmp_path: Path) -> None:
    with ChatServer(reading) as server:
        named = {"gold_query": "How old is boat 1?", "pictured": False}
        data = questions(tmp_path, 1, **named, evidence=["The boat is 5 years old."])
        report = annotate(
            options(data, tmp_path / "out", server, writer="recorded", own_passages=2), Progress(quiet=True)
        )
        assert len(server.bodies) == 2
    assert report["annotated"] == {"text": 1}
