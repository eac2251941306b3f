"""What `build --dry-run` refuses by name, before anything is exported: all that a build or the server would refuse."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("optimum")

import peft

from quizglass_export.gguf.text import write_text_gguf
from tests.support.bundles.small_build import run
from tests.support.bundles.tiny_checkpoints import image_model, text_model
from tests.support.bundles.tiny_qwen import qwen2_vl, qwen3

HEAD = {"format": 1, "name": "n", "version": "1", "samples": {"source": "random", "count": 2}}
ANSWER, REWRITE = "{{ question }} Answer:", "{{ question }} Rewrite:"
TEXTS = {
    "plan": "{{ image }}{{ question }}",
    "rerank": "{{ query }} {{ passage }}",
    "answer": ANSWER,
    "rewrite": REWRITE,
}


@pytest.fixture(scope="module")
def sources(tokenizer: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoints and a ready-made generator."""
    root = tmp_path_factory.mktemp("sources")
    for name, make in (("seeing", qwen2_vl), ("reading", qwen3)):
        make(tokenizer).save_pretrained(root / name)
        (root / name / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    write_text_gguf(qwen3(tokenizer), tokenizer, root / "m.gguf", "theirs")
    image_model(root / "pictures", "clip_vision_model")
    text_model(root / "texts", "bert")
    config = peft.LoraConfig(r=2, target_modules=["q_proj"])
    peft.get_peft_model(qwen3(tokenizer, width=96), config).save_pretrained(str(root / "wide"))
    return root


def dry_run(root: Path, sources: Path, roles: dict[str, Any], prompts: dict[str, str] | None = None) -> int:
    """The status of a dry run of a recipe with these roles, whose paths are below `sources`."""
    (root / "prompts").mkdir()
    for name, text in {**TEXTS, **(prompts or {})}.items():
        (root / "prompts" / f"{name}.jinja").write_text(text)
    lines = [f"{key} = {json.dumps(value)}" for key, value in HEAD.items() if key != "samples"]
    lines += ['prompts = "prompts"', "[samples]", 'source = "random"', "count = 2"]
    for role, spec in roles.items():
        lines.append(f"[roles.{role}]")
        lines += [f"{key} = {_toml(value, sources)}" for key, value in spec.items()]
    (root / "bundle.toml").write_text("\n".join(lines))
    status = run("build", "--recipe", root / "bundle.toml", "--out", root / "bundle", "--dry-run")
    assert sorted(path.name for path in root.iterdir()) == ["bundle.toml", "prompts"]
    return status


def _toml(value: Any, sources: Path) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {json.dumps(each)}" for key, each in value.items()) + " }"
    if isinstance(value, str) and (sources / value).exists():
        value = str(sources / value)
    return json.dumps(value)


PLANNER = {"checkpoint": "seeing", "picture": {"width": 112, "height": 84}}
RERANKER = {"checkpoint": "reading"}
GENERATOR: dict[str, Any] = {"checkpoint": "reading", "context": 512}
READY = {"model": "m.gguf", "tokenizer": "reading/tokenizer.json", "context": 256}


def test_roles_that_fit_pass(sources: Path, tmp_path: Path) -> None:
    assert dry_run(tmp_path, sources, {"planner": PLANNER, "reranker": RERANKER, "generator": GENERATOR}) == 0


def test_policies_that_are_lost_for_want_of_a_prompt_are_named(
    sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    encoders = {"image_encoder": {"checkpoint": "pictures"}, "text_encoder": {"checkpoint": "texts"}}
    roles = {"planner": PLANNER, **encoders, "generator": {**GENERATOR, "prompts": {"plan": ""}}}
    assert dry_run(tmp_path, sources, roles, {"grade": "{{ question }}", "again": "{{ question }}"}) == 0
    warning, *lines = capsys.readouterr().err.splitlines()
    assert warning.startswith("warning: the bundle cannot serve, for want of prompts of the generator")
    lost = dict(line.strip().split(": ") for line in lines)
    assert lost["prompt-based, prompt-based+"] == "no plan"
    assert lost["core-mmrag+"] == "no select and 2 more"
    assert not any("self-reflective" in policies for policies in lost)


@pytest.mark.parametrize(
    ("roles", "prompts", "message"),
    [
        ({"planner": {**PLANNER, "picture": {"width": 100, "height": 84}}}, {},
         "roles.planner.picture: width 100 and height 84 must be multiples of 28"),
        ({"planner": {**PLANNER, "labels": [["none", " A"], ["web", " B"]]}}, {},
         "roles.planner.labels: none, web: not all are plans; use none, image, text, both"),
        ({"planner": PLANNER}, {"plan": "{{ image }}{{ weather }}"}, "template plan.jinja: 'weather' is undefined"),
        ({"planner": PLANNER}, {"plan": "{% if %}"}, "prompt template plan.jinja: "),
        ({"reranker": {**RERANKER, "labels": [["good", " yes"], ["no", " no"]]}}, {},
         "roles.reranker.labels: good, no: none is 'yes'"),
        ({"reranker": {**RERANKER, "labels": [["yes", " yes"], ["no", " yes"]]}}, {},
         "labels ' yes' and ' yes' are one token"),
        ({"reranker": {**RERANKER, "labels": [["yes", " absolutely"], ["no", " no"]]}}, {},
         "label ' absolutely' is 11 tokens in tokenizer.json; choose a text of one token"),
        ({"reranker": {**RERANKER, "adapters": "wide"}}, {}, "needs 64; the adapter is for another base"),
        ({"reranker": {**RERANKER, "picture": {"width": 112, "height": 84}}}, {},
         "roles.reranker.picture: qwen3 reads text alone; leave it out"),
        ({"generator": {**GENERATOR, "stop": ["The end"]}}, {},
         "roles.generator.stop: stop text 'The end' is "),
        ({"generator": GENERATOR}, {"answer": "{{ history[0].question }}"}, "prompt template answer.jinja: "),
        ({"generator": {**GENERATOR, "picture": {"width": 112, "height": 84}}}, {},
         "roles.generator.picture: qwen3 reads text alone; leave it out"),
        ({"generator": {**GENERATOR, "context": 513}}, {},
         "reading/config.json: max_position_embeddings is 512, roles.generator.context 513; choose a shorter one"),
        ({"planner": {**PLANNER, "checkpoint": "Qwen/Qwen2.5-VL-3B-Instruct"}}, {},
         "If that is a name on the Hugging Face Hub: hf download Qwen/Qwen2.5-VL-3B-Instruct --local-dir /"),
        ({"generator": {**GENERATOR, "context": 70}}, {},
         "roles.generator.context: 70; the longest prompt of the samples has "),
        ({"planner": {**PLANNER, "max_tokens": 20}}, {"plan": "Say what is to be looked up. {{ image }}{{ question }}"},
         "roles.planner.max_tokens: 20; the prompt 'plan' alone has 42 tokens, 14 of them its picture's"),
        ({"reranker": {**RERANKER, "max_tokens": 8}}, {"rerank": "Does this answer? {{ query }} {{ passage }}"},
         "roles.reranker.max_tokens: 8; the prompt 'rerank' alone has 15 tokens"),
        ({"generator": {**READY, "context": 4096}}, {}, "m.gguf: qwen3.context_length is 512, the recipe's"),
        ({"generator": {**READY, "quantisation": "q4_0"}}, {}, "quantisation: ready-made GGUF files are taken as they"),
    ],
)  # fmt: skip
def test_what_would_be_refused_later_is_refused_at_once(
    sources: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    roles: dict[str, Any],
    prompts: dict[str, str],
    message: str,
) -> None:
    assert dry_run(tmp_path, sources, roles, prompts) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "pydantic" not in error


def test_facts_of_the_training_are_read_before_the_build(
    sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "facts.json").write_text("{")
    (tmp_path / "bundle.toml").write_text(
        f'format = 1\nname = "n"\nversion = "1"\ntraining = "facts.json"\n[roles.reranker]\n'
        f'checkpoint = "{sources / "reading"}"\n'
    )
    assert run("build", "--recipe", tmp_path / "bundle.toml", "--out", tmp_path / "bundle", "--dry-run") == 2
    assert "facts.json: not readable JSON" in capsys.readouterr().err


def test_a_damaged_gguf_is_named(sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "files").mkdir()
    cut = tmp_path / "files" / "cut.gguf"
    cut.write_bytes((sources / "m.gguf").read_bytes()[:-400])
    root = tmp_path / "recipe"
    root.mkdir()
    assert dry_run(root, sources, {"generator": {**READY, "model": str(cut)}}) == 2
    assert "cut.gguf: not a usable GGUF file: tensor" in capsys.readouterr().err


def test_a_tokenizer_of_another_model_is_named(
    sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "files").mkdir()
    content = (sources / "reading" / "tokenizer.json").read_text()
    other = tmp_path / "files" / "tokenizer.json"
    other.write_text(content.replace('"<|vision_start|>"', '"<repo_name>"'))
    root = tmp_path / "recipe"
    root.mkdir()
    assert dry_run(root, sources, {"generator": {**READY, "tokenizer": str(other)}}) == 2
    assert "is '<|vision_start|>'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("role", "file", "changed", "message"),
    [
        ("reranker", "config.json", {"vocab_size": "many"}, "config.json: cannot be used: "),
        ("generator", "config.json", {"layer_types": -1}, "config.json: cannot be used: TypeError"),
        ("generator", "config.json", {"rope_scaling": {}}, "config.json: cannot be used: KeyError"),
        ("generator", "config.json", {"dtype": "fp99"}, "config.json: cannot be used: "),
        ("generator", "config.json", {"quantization_config": {"quant_method": "gptq"}},
         "config.json: quantization_config is 'gptq'; take the checkpoint that was quantised"),
        ("generator", "config.json", {"hidden_act": "gelu"}, "config.json: hidden_act is 'gelu'; llama.cpp runs silu"),
        ("generator", "config.json", {"rope_scaling": {"rope_type": "yarn", "factor": 4.0}},
         "config.json: rope_scaling is of type 'yarn', which is not written to GGUF"),
        ("generator", "config.json", {"use_sliding_window": True, "sliding_window": 64, "layer_types": [
            "sliding_attention", "full_attention"]}, "config.json: sliding_window is 64, and llama.cpp attends to all"),
        ("reranker", "tokenizer.json", {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": [["a", "b"]],
                                                  "continuing_subword_prefix": "much too long"}},
         "tokenizer.json: not a tokenizer: "),
    ],
)  # fmt: skip
def test_a_value_that_transformers_cannot_use_is_named_with_its_file(
    sources: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    role: str,
    file: str,
    changed: dict[str, Any],
    message: str,
) -> None:
    damaged, root = tmp_path / "damaged", tmp_path / "recipe"
    shutil.copytree(sources / "reading", damaged)
    root.mkdir()
    (damaged / file).write_text(json.dumps(json.loads((damaged / file).read_text()) | changed))
    spec = {"checkpoint": str(damaged)} | ({"context": 512} if role == "generator" else {})
    assert dry_run(root, sources, {role: spec}) == 2
    assert f"damaged/{message}" in capsys.readouterr().err
