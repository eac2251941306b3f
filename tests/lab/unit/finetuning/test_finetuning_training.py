"""The trainer of all recipes: what it writes merges, goes on where it was stopped, and refuses what does not fit."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
from argparse import Namespace
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import settings as unhurried
from hypothesis import strategies as st
from pydantic import ValidationError
from safetensors.torch import load_file, save_file

from quizglass_bundle.inputs.prompts import EMPTY, GENERAL_PROMPTS, PromptTemplate
from quizglass_export.checkpoints.merge import merge_adapter
from quizglass_export.errors import ExportError
from quizglass_lab.finetuning.models.checkpoint import load
from quizglass_lab.finetuning.recipes.cogplanner import CogPlannerTraining
from quizglass_lab.finetuning.recipes.core_mmrag import CoReTraining
from quizglass_lab.finetuning.shared.options import read_options
from quizglass_lab.finetuning.training import time_limit
from quizglass_lab.finetuning.training import trainer as training
from quizglass_lab.finetuning.training.examples import TrainingExample, mixed, read_examples
from quizglass_lab.finetuning.training.rows import ExampleRows, collated
from quizglass_lab.finetuning.training.sampler import SimilarLengths
from quizglass_lab.finetuning.training.settings import FULL_RATE, Training
from quizglass_lab.finetuning.training.time_limit import rate_share
from quizglass_lab.finetuning.training.trainer import train
from tests.support.training.finetuning import checkpoint, picture, rows

torch.set_num_threads(1)
LETTERS = [" A", " B", " C", " D"]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkpoint(tmp_path_factory.mktemp("base") / "vl")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    picture(folder / "pictures" / "0.png")
    rows(folder / "train.jsonl", examples())
    rows(folder / "held-out.jsonl", list(examples())[:3])
    return folder


def examples() -> Iterator[dict[str, Any]]:
    for index in range(8):
        letter = LETTERS[index % 4]
        yield example(f"plan-{index}", target=letter, labels=LETTERS)
    for index in range(4):
        yield example(f"answer-{index}", objective="answer", task="answer", target="a red boat")


def example(name: str, **more: Any) -> dict[str, Any]:
    values = {"question": f"What is this, {name}?"}
    return {"id": name, "objective": "plan", "task": "plan", "values": values, "pictures": ["pictures/0.png"], **more}


def settings(base: Path, data: Path, out: Path, **more: Any) -> Training:
    how = {"steps": 4, "accumulation": 2, "evaluate_every": 2, "picture": "56x56"}
    how |= {} if more.get("full") else {"rank": 4, "alpha": 8}
    return Training(checkpoint=base, data=data, out=out, **{"learning_rate": 1e-2, **how, **more})


def adapter(out: Path) -> dict[str, torch.Tensor]:
    return load_file(out / "adapter" / "adapter_model.safetensors")


def test_a_run_leaves_an_adapter_that_merges_its_prompts_curves_and_facts(
    base: Path, data: Path, tmp_path: Path
) -> None:
    facts = train(settings(base, data, tmp_path / "out"), "planner")
    model = transformers.Qwen2_5_VLForConditionalGeneration.from_pretrained(base)
    before = model.lm_head.weight.detach().clone(), model.model.language_model.layers[0].mlp.up_proj.weight.clone()
    merged = merge_adapter(model, tmp_path / "out" / "adapter")
    assert not torch.equal(merged.model.language_model.layers[0].mlp.up_proj.weight, before[1])
    assert torch.equal(merged.lm_head.weight, before[0]), "an adapter of linear layers leaves the head as it was"
    for path in GENERAL_PROMPTS.glob("*.jinja"):
        assert (tmp_path / "out" / "prompts" / path.name).read_text() == path.read_text(), "it speaks ChatML"
    assert list((tmp_path / "out" / "tensorboard").glob("events.out.tfevents.*"))
    assert facts == json.loads((tmp_path / "out" / "training.json").read_text())
    assert facts["steps"] == 4
    assert facts["minutes"] > 0
    assert facts["peak_memory_bytes"] > 1 << 20
    assert facts["examples"] == {"answer": 4, "plan": 8}
    assert 0 <= facts["held_out"]["right"] <= 1
    assert [entry["step"] for entry in facts["curve"] if "eval_right" in entry][:2] == [2, 4]
    config = json.loads((tmp_path / "out" / "adapter" / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == "vl", "no path of this machine"
    kept = {path.name for path in (tmp_path / "out" / "adapter").iterdir()}
    assert kept == {"adapter_config.json", "adapter_model.safetensors"}


def test_what_is_learned_is_said(base: Path, data: Path, tmp_path: Path) -> None:
    rows(data / "train.jsonl", [example("one", target=" C", labels=LETTERS)])
    rows(data / "held-out.jsonl", [example("one", target=" C", labels=LETTERS)])
    facts = train(settings(base, data, tmp_path / "out", steps=20, accumulation=1, evaluate_every=20), "planner")
    assert facts["held_out"]["right"] == 1
    assert facts["held_out"]["loss"] < 0.5


def test_each_objective_is_measured_by_itself(base: Path, data: Path, tmp_path: Path) -> None:
    some = [example("one", target=" C", labels=LETTERS), example("two", objective="answer", target="boat")]
    rows(data / "train.jsonl", some[:1])
    rows(data / "held-out.jsonl", [*some, some[1] | {"id": "three"}])
    facts = train(settings(base, data, tmp_path / "out", steps=20, accumulation=1, evaluate_every=20), "planner")
    assert facts["held_out"]["right_plan"] == 1
    assert facts["held_out"]["right_answer"] == 0
    assert facts["held_out"]["right"] == pytest.approx(1 / 3)


def test_a_run_goes_on_from_an_adapter(base: Path, data: Path, tmp_path: Path) -> None:
    train(settings(base, data, tmp_path / "first", half=True), "planner")
    first = tmp_path / "first" / "adapter"
    how = Training(checkpoint=base, data=data, out=tmp_path / "second", adapter=first, steps=1, picture="56x56")
    facts = train(how.model_copy(update={"learning_rate": 1e-9}), "planner")
    torch.testing.assert_close(
        adapter(tmp_path / "second"), {k: v.float() for k, v in adapter(tmp_path / "first").items()}
    )
    assert (
        facts["base"]["adapter_sha256"]
        == hashlib.sha256((first / "adapter_model.safetensors").read_bytes()).hexdigest()
    )
    assert "adapter" not in facts["config"], "no path of this machine"
    moved = train(how.model_copy(update={"out": tmp_path / "third", "learning_rate": 1e-2, "steps": 2}), "planner")
    assert moved["steps"] == 2
    assert not all(torch.equal(v, adapter(tmp_path / "second")[k]) for k, v in adapter(tmp_path / "third").items())


@pytest.mark.parametrize("said", [{"rank": 8}, {"alpha": 16}, {"dropout": 0.1}, {"layers": "attention"}])
def test_an_adapter_that_goes_on_keeps_its_shape(said: dict[str, Any], data: Path, tmp_path: Path) -> None:
    (name,) = said
    with pytest.raises(ValidationError, match=f"--{name}: is as the adapter has it"):
        Training(checkpoint=tmp_path, data=data, out=tmp_path, adapter=tmp_path, **said)


def test_the_loss_of_a_batch_is_the_mean_of_its_examples(base: Path, data: Path, tmp_path: Path) -> None:
    loaded = load(base, picture=(56, 56))
    every = [TrainingExample.model_validate(each) for each in examples()][6:10]
    every[0] = every[0].model_copy(update={"pictures": ()})
    rows_ = list(ExampleRows(loaded, every, data))
    arguments = transformers.TrainingArguments(str(tmp_path), use_cpu=True)
    trainer = training._AnswerTrainer(model=loaded.model, args=arguments)
    with torch.no_grad():
        alone = [float(trainer.compute_loss(loaded.model, collated(loaded.inputs, [row]))) for row in rows_]
        loss, outputs = trainer.compute_loss(loaded.model, collated(loaded.inputs, rows_), return_outputs=True)
    assert float(loss) == pytest.approx(sum(alone) / 4, abs=1e-4)
    assert outputs["right"].shape == (4,)
    assert [row.answer for row in rows_] == [1, 1, 11, 11], "a letter; a text and the token that ends it"


def test_examples_of_a_short_last_batch_count_as_much_as_the_others(base: Path, data: Path, tmp_path: Path) -> None:
    rows(data / "train.jsonl", list(examples())[6:9])
    how = {"steps": 1, "evaluate_every": 1}
    short = train(settings(base, data, tmp_path / "short", batch=2, accumulation=2, **how), "planner")
    alone = train(settings(base, data, tmp_path / "alone", batch=1, accumulation=3, **how), "planner")
    told = [facts["curve"][0] for facts in (short, alone)]
    assert told[0]["loss"] == pytest.approx(told[1]["loss"], abs=2e-4)
    assert told[0]["grad_norm"] == pytest.approx(told[1]["grad_norm"], rel=1e-3)


@pytest.mark.parametrize("schedule", ["linear", "cosine", "constant"])
def test_every_schedule_warms_up(schedule: str, base: Path, data: Path, tmp_path: Path) -> None:
    how = {"schedule": schedule, "warm_up": 0.5, "evaluate_every": 1, "accumulation": 1}
    facts = train(settings(base, data, tmp_path / "out", **how), "planner")
    rates = [entry["learning_rate"] for entry in facts["curve"] if "learning_rate" in entry]
    assert rates[:3] == pytest.approx([0, 0.005, 0.01]), "half of four steps"


class Killed(Exception):
    pass


def test_an_interrupted_run_ends_with_the_weights_of_an_uninterrupted_one(
    base: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(settings(base, data, tmp_path / "whole", dropout=0.2), "planner")
    end = training.Diary.on_step_end

    def killed(self: Any, args: Any, state: Any, *rest: Any, **more: Any) -> None:
        end(self, args, state, *rest, **more)
        if state.global_step == 3:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(training.Diary, "on_step_end", killed)
        with pytest.raises(Killed):
            train(settings(base, data, tmp_path / "parts", dropout=0.2), "planner")
    torch.rand(5)  # what else a process did with its random numbers
    train(settings(base, data, tmp_path / "parts", dropout=0.2), "planner")
    whole, parts = adapter(tmp_path / "whole"), adapter(tmp_path / "parts")
    # Not bit by bit: a process multiplies its first matrices differently in the last place. Examples in another order
    # move the weights by 0.05.
    torch.testing.assert_close(parts, whole, rtol=1e-3, atol=1e-4)


def test_what_a_kill_left_of_a_checkpoint_is_not_taken_for_one(
    base: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(settings(base, data, tmp_path / "whole"), "planner")
    save = transformers.TrainerState.save_to_json

    def killed(self: Any, path: str) -> None:
        if self.global_step == 4:
            Path(path).write_text('{"global_step": 4, "max_')
            raise Killed
        save(self, path)

    with monkeypatch.context() as patch:
        patch.setattr(transformers.TrainerState, "save_to_json", killed)
        with pytest.raises(Killed):
            train(settings(base, data, tmp_path / "parts"), "planner")
    facts = train(settings(base, data, tmp_path / "parts"), "planner")
    assert facts["steps"] == 4
    torch.testing.assert_close(adapter(tmp_path / "parts"), adapter(tmp_path / "whole"), rtol=1e-3, atol=1e-4)


def test_what_is_left_of_a_model_that_was_being_written_is_not_taken_for_one(
    base: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(source: Path, target: Path) -> None:
        Path(target).write_bytes(Path(source).read_bytes()[:10])
        raise Killed

    how = settings(base, data, tmp_path / "out", full=True, steps=1)
    with monkeypatch.context() as patch:
        patch.setattr(training.shutil, "copyfile", killed)
        with pytest.raises(Killed):
            train(how, "planner")
    assert not (tmp_path / "out" / "model").exists()
    train(how, "planner")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert (tmp_path / "out" / "model" / name).read_bytes() == (base / name).read_bytes()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:500])


def resized(path: Path) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | {"hidden_size": 128, "text_config": None}))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("model.safetensors", cut, "vl: its weights cannot be read: "),
        ("tokenizer.json", cut, "vl: its tokenizer cannot be read: "),
        ("tokenizer_config.json", cut, "vl: its tokenizer cannot be read: "),
        ("config.json", resized, "vl: its weights cannot be read: "),
    ],
)
def test_a_damaged_checkpoint_is_named(
    name: str, change: Callable[[Path], None], message: str, base: Path, data: Path, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged" / "vl"
    shutil.copytree(base, damaged)
    if name == "tokenizer_config.json":
        (damaged / name).write_text("{" * 600)
    change(damaged / name)
    with pytest.raises(ExportError, match=message):
        train(settings(damaged, data, tmp_path / "out"), "planner")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"task": "nothing", "labels": []}, r"no template nothing\.jinja"),
        ({"target": "two words", "labels": ["two words"]}, r"data: example 'late': label 'two words' is \d+ tokens"),
    ],
)
def test_an_example_that_cannot_be_filled_ends_a_run_before_its_first_step(
    more: dict[str, Any], message: str, base: Path, data: Path, tmp_path: Path
) -> None:
    rows(data / "train.jsonl", [*examples(), example("late", **{"target": " A", **more})])
    with pytest.raises(ExportError, match=message):
        train(settings(base, data, tmp_path / "out"), "planner")
    assert not list((tmp_path / "out" / "progress").glob("checkpoint-*"))


def test_a_run_that_never_began_can_be_begun_otherwise(base: Path, data: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="--picture 55x55"):
        train(settings(base, data, tmp_path / "out", steps=1, picture="55x55"), "planner")
    assert train(settings(base, data, tmp_path / "out", steps=1), "planner")["config"]["picture"] == "56x56"


def test_another_base_of_the_same_name_and_config_is_another(base: Path, data: Path, tmp_path: Path) -> None:
    train(settings(base, data, tmp_path / "out", steps=1), "planner")
    other = tmp_path / "other" / base.name
    shutil.copytree(base, other)
    weights = load_file(other / "model.safetensors")
    save_file({name: tensor + 1 for name, tensor in weights.items()}, other / "model.safetensors", {"format": "pt"})
    with pytest.raises(ExportError, match=r"begun with another base \(weights_sha256\)"):
        train(settings(other, data, tmp_path / "out", steps=1), "planner")


def test_a_finished_run_is_not_taken_further(base: Path, data: Path, tmp_path: Path) -> None:
    first = train(settings(base, data, tmp_path / "out"), "planner")
    assert train(settings(base, data, tmp_path / "out"), "planner") == first
    before = adapter(tmp_path / "out")
    for lost in ("training.json", "adapter/adapter_model.safetensors"):  # killed between the last step and the end
        (tmp_path / "out" / lost).unlink()
    again = train(settings(base, data, tmp_path / "out"), "planner")
    assert (again["steps"], again["minutes"]) == (first["steps"], first["minutes"])
    assert all(torch.equal(tensor, before[key]) for key, tensor in adapter(tmp_path / "out").items())


def test_going_on_with_another_configuration_or_other_data_is_refused(base: Path, data: Path, tmp_path: Path) -> None:
    train(settings(base, data, tmp_path / "out", steps=1), "planner")
    with pytest.raises(ExportError, match=r"begun with another config \(rank\)"):
        train(settings(base, data, tmp_path / "out", steps=1, rank=8), "planner")
    general = rows(tmp_path / "train.jsonl", [example("general", target=" A", pictures=[])])
    rows(data / "train.jsonl", list(examples())[:5])
    (data / "held-out.jsonl").unlink()
    with pytest.raises(ExportError, match=r"begun with another data \(train.jsonl, held-out.jsonl, --general\)"):
        train(settings(base, data, tmp_path / "out", steps=1, general=general), "planner")


@pytest.mark.parametrize("kind", ["qwen3", "qwen2", "llama"])
def test_models_of_text_alone_are_trained(kind: str, data: Path, tmp_path: Path) -> None:
    base = checkpoint(tmp_path / "base", kind)
    facts = train(settings(base, data, tmp_path / "out", batch=3, accumulation=1), "planner")
    assert facts["steps"] == 4
    model = transformers.AutoModelForCausalLM.from_pretrained(base)
    assert merge_adapter(model, tmp_path / "out" / "adapter") is not None


def test_a_model_of_another_chat_format_is_trained_on_prompts_in_that_format(data: Path, tmp_path: Path) -> None:
    train(settings(checkpoint(tmp_path / "base", "llama"), data, tmp_path / "out", steps=1), "planner")
    source = (tmp_path / "out" / "prompts" / "plan.jinja").read_text()
    assert source.startswith("<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nYou help")
    assert source.endswith("<|start_header_id|>assistant<|end_header_id|>\n\nLetter:")
    assert "{{ question }}" in source, "values are filled in by the server"
    written = PromptTemplate((tmp_path / "out" / "prompts" / "answer.jinja").read_text(), "answer")
    segments = written.render(**{**EMPTY, "question": "<|eot_id|>"})
    assert segments[-1].text.endswith("assistant<|end_header_id|>\n\n"), "the newline that the format ends with stays"


@pytest.fixture
def six_seconds_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is six seconds later whenever it is read, which is once a step."""
    seconds = count(0, 6)
    monkeypatch.setattr(time_limit, "time", SimpleNamespace(monotonic=lambda: next(seconds)))


@pytest.mark.usefixtures("six_seconds_a_step")
def test_a_time_limit_ends_a_run_with_the_rate_near_nought(base: Path, data: Path, tmp_path: Path) -> None:
    facts = train(settings(base, data, tmp_path / "out", minutes=0.95, steps=50), "planner")
    assert facts["steps"] == 10
    assert facts["minutes"] == 1
    rates = [entry["learning_rate"] for entry in facts["curve"] if "learning_rate" in entry]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] == pytest.approx(1e-2, rel=0.05)
    assert rates[-1] <= 2e-3
    before = adapter(tmp_path / "out")
    (tmp_path / "out" / "training.json").unlink()  # killed between the last step and the end
    assert train(settings(base, data, tmp_path / "out", minutes=0.95, steps=50), "planner")["steps"] == 10
    assert all(torch.equal(tensor, before[key]) for key, tensor in adapter(tmp_path / "out").items())


@pytest.mark.usefixtures("six_seconds_a_step")
def test_minutes_of_earlier_sittings_count(
    base: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = settings(base, data, tmp_path / "out", minutes=0.45, steps=50, evaluate_every=2)
    end = training.Diary.on_step_end

    def killed(self: Any, args: Any, state: Any, *rest: Any, **more: Any) -> None:
        end(self, args, state, *rest, **more)
        if state.global_step == 3:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(training.Diary, "on_step_end", killed)
        with pytest.raises(Killed):
            train(how, "planner")
    assert train(how, "planner")["steps"] == 5


@unhurried(deadline=None)
@given(st.floats(0, 2), st.sampled_from(("linear", "cosine", "constant")), st.floats(0, 0.9))
def test_the_rate_is_a_share_of_its_peak_and_ends_at_nought(progress: float, schedule: str, warm_up: float) -> None:
    how = Training(checkpoint=Path(), data=Path(), out=Path(), schedule=schedule, warm_up=warm_up, minutes=1)
    assert 0 <= rate_share(progress, how) <= 1 + 1e-9
    assert rate_share(1.0, how) == (1.0 if schedule == "constant" else pytest.approx(0, abs=1e-9))
    assert rate_share(warm_up, how) == pytest.approx(1)


@unhurried(deadline=None)
@given(st.lists(st.integers(1, 300), max_size=300), st.integers(2, 16), st.integers(0, 3))
def test_batches_are_of_similar_lengths_and_every_example_comes_once(
    lengths: list[int], batch: int, epoch: int
) -> None:
    sampler = SimilarLengths(lengths, batch, 7)
    sampler.set_epoch(epoch)
    order = list(sampler)
    assert sorted(order) == list(range(len(lengths))) == list(range(len(sampler)))
    sampler.set_epoch(0)
    assert order == list(sampler), "the same for the same epoch, so that a run can go on"
    padded = sum(
        max(lengths[at] for at in order[start : start + batch]) * len(order[start : start + batch])
        for start in range(0, len(order), batch)
    )
    in_order = sorted(lengths)
    best = sum(max(in_order[at : at + batch]) * len(in_order[at : at + batch]) for at in range(0, len(order), batch))
    assert len(lengths) > 50 * batch or padded == best


def test_an_adapter_in_half_precision_is_half_as_large(base: Path, data: Path, tmp_path: Path) -> None:
    train(settings(base, data, tmp_path / "out", half=True, steps=1, layers="attention"), "planner")
    tensors = adapter(tmp_path / "out")
    assert {tensor.dtype for tensor in tensors.values()} == {torch.float16}
    assert not any("up_proj" in key for key in tensors), "the attention alone"
    model = transformers.Qwen2_5_VLForConditionalGeneration.from_pretrained(base)
    assert merge_adapter(model, tmp_path / "out" / "adapter") is not None


def test_a_run_in_bfloat16_learns_the_same(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "has_tiles", lambda: True)  # slower without them, and no other
    rows(data / "train.jsonl", [example("one", target=" C", labels=LETTERS)])
    rows(data / "held-out.jsonl", [example("one", target=" C", labels=LETTERS)])
    how = settings(checkpoint(tmp_path / "base", "llama"), data, tmp_path / "out", bfloat16=True, steps=20)
    facts = train(how.model_copy(update={"batch": 2, "accumulation": 1, "evaluate_every": 20}), "planner")
    assert facts["held_out"]["loss"] < 0.5
    assert {tensor.dtype for tensor in adapter(tmp_path / "out").values()} == {torch.float32}


def test_full_tuning_writes_a_checkpoint(base: Path, data: Path, tmp_path: Path) -> None:
    how = settings(base, data, tmp_path / "out", full=True, steps=1)
    train(how, "planner")
    tuned = transformers.Qwen2_5_VLForConditionalGeneration.from_pretrained(tmp_path / "out" / "model")
    old = transformers.Qwen2_5_VLForConditionalGeneration.from_pretrained(base)
    assert not torch.equal(tuned.model.visual.patch_embed.proj.weight, old.model.visual.patch_embed.proj.weight)
    copied = tmp_path / "out" / "model" / "tokenizer.json"
    assert copied.read_bytes() == (base / "tokenizer.json").read_bytes()
    assert not (copied.parent / "training_args.bin").exists(), "no path of this machine"
    assert Training(checkpoint=base, data=data, out=tmp_path, full=True).learning_rate == FULL_RATE


def test_general_examples_are_mixed_one_to_one() -> None:
    own = [TrainingExample(id=str(index), objective="act", task="act", target="x") for index in range(5)]
    general = [TrainingExample(id=f"g{index}", objective="general", task="answer", target="x") for index in range(2)]
    both = mixed(own, general, seed=0)
    assert len(both) == 10
    assert sum(each.objective == "general" for each in both) == 5


def test_objectives_can_be_left_out(base: Path, data: Path, tmp_path: Path) -> None:
    how = settings(base, data, tmp_path / "out", steps=1).model_copy(update={"without": ("answer",)})
    assert train(how, "planner")["examples"] == {"plan": 8}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "a"}', r"train.jsonl:1: objective: Field required"),
        ("nonsense", r"train.jsonl:1: Invalid JSON"),
        (
            "\n\n" + json.dumps(example("a", target="x", pictures=["no.png"])),
            r"train.jsonl:3: pictures: .*no.png is missing",
        ),
        (
            json.dumps(example("a", values={"qestion": "Who?"})),
            r"train.jsonl:1: values: 'qestion' is nothing that a prompt may name; there are question, history",
        ),
        (json.dumps(example("a", target=" E", labels=LETTERS)), r"train.jsonl:1: target: ' E' is none of the labels"),
        (json.dumps(example("a", target="x", pictures=["no.png"])), r"train.jsonl:1: pictures: .*no.png is missing"),
        (json.dumps(example("a", target="x", wrong=1)), r"train.jsonl:1: wrong: Extra inputs"),
        ("", r"no examples"),
    ],
)
def test_a_wrong_line_is_named(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text(line + "\n")
    with pytest.raises(ExportError, match=message):
        read_examples(tmp_path / "train.jsonl")


@pytest.mark.parametrize(
    "said",
    [
        *({"rank": 8}, {"alpha": 16}, {"dropout": 0.1}, {"layers": "attention"}, {"half": True}, {"bfloat16": True}),
        {"adapter": Path("adapter")},
    ],
)
def test_what_is_said_of_an_adapter_is_refused_where_all_weights_are_trained(
    said: dict[str, Any], data: Path, tmp_path: Path
) -> None:
    folders = {"checkpoint": tmp_path, "data": data, "out": tmp_path}
    (name,) = said
    with pytest.raises(ValidationError, match=f"--{name}: is of adapters; --full trains all weights"):
        Training(**folders, full=True, **said)
    with pytest.raises(ValidationError, match=f"--{name}: is of adapters"):
        CogPlannerTraining(**folders, **said)
    assert CogPlannerTraining(**folders, full=False, **said).full is False


@pytest.mark.parametrize("more", [{"without": ("sft",)}, {"only": ("sft",)}])
def test_the_baseline_has_one_objective(more: dict[str, Any], data: Path, tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="--baseline: has one objective"):
        CoReTraining(checkpoint=tmp_path, data=data, out=tmp_path, baseline=True, **more)
    with pytest.raises(ValidationError, match="without"):
        CoReTraining(checkpoint=tmp_path, data=data, out=tmp_path, without=3)


def test_a_file_of_options_for_something_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "planner.toml"
    file.write_text("[tarin]\nrank = 8\n")
    with pytest.raises(ExportError, match=r"planner\.toml: train: missing; options stand in a table \[train\]"):
        read_options(Training, Namespace(config=file), "train")


def test_a_picture_has_two_sides(data: Path, tmp_path: Path) -> None:
    for size in ("0x0", "448x", "448x0", "9999999x1"):
        with pytest.raises(ValidationError, match="picture"):
            Training(checkpoint=tmp_path, data=data, out=tmp_path, picture=size)


def test_an_objective_that_the_recipe_lacks_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(
        ValidationError, match="'prky' is no objective; there are prki, vtki, sft, one_stage, two_stage, mmstar"
    ):
        CoReTraining(checkpoint=tmp_path, data=data, out=tmp_path, without=("prky",))
    assert CoReTraining(checkpoint=tmp_path, data=data, out=tmp_path).without == ("mmstar", "one_stage", "two_stage")
    assert CoReTraining(checkpoint=tmp_path, data=data, out=tmp_path, baseline=True).only == ("one_stage",)


@pytest.mark.parametrize("without", itertools.permutations(("prki", "vtki", "sft")))
def test_objectives_have_one_order_so_that_a_run_goes_on(without: tuple[str, ...], data: Path, tmp_path: Path) -> None:
    how = CoReTraining(checkpoint=tmp_path, data=data, out=tmp_path, without=without)
    assert how.without == ("mmstar", "one_stage", "prki", "sft", "two_stage", "vtki")


def test_questions_that_are_not_all_asked_yet_are_told_as_that(data: Path, tmp_path: Path) -> None:
    (data / "train.jsonl").unlink()
    with pytest.raises(ExportError, match=r"train\.jsonl: is not there; quizglass-lab annotate writes it once"):
        train(Training(checkpoint=tmp_path, data=data, out=tmp_path / "out"), "planner")


def test_where_no_example_is_left_the_objectives_there_are_named(data: Path) -> None:
    with pytest.raises(ExportError, match="no examples to train on; there are answer, plan"):
        read_examples(data / "train.jsonl", only=("prki",))
