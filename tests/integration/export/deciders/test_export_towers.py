"""Deciders of one checkpoint with adapters of their own: a tower for those that have it in common, built and served."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
peft = pytest.importorskip("peft")
prometheus = pytest.importorskip("prometheus_client", reason="the extra web is not installed")

from quizglass_bundle.errors import BundleError  # noqa: E402
from quizglass_bundle.files import Bundle  # noqa: E402
from quizglass_bundle.inputs import vision_inputs  # noqa: E402
from quizglass_export.assembly.carry_out import carry_out  # noqa: E402
from quizglass_export.assembly.plan import make_plan  # noqa: E402
from quizglass_export.bundles.change import add_roles, repack  # noqa: E402
from quizglass_export.errors import ExportError  # noqa: E402
from quizglass_export.recipe.read import read_recipe  # noqa: E402
from quizglass_export.roles.shared.samples import random_samples  # noqa: E402
from quizglass_export.roles.shared.scorers import VisionPrompts, vision_logits  # noqa: E402
from quizglass_server.config.settings import EngineOptions  # noqa: E402
from quizglass_server.domain.turns import Picture  # noqa: E402
from quizglass_server.observe import metrics  # noqa: E402
from quizglass_server.roles.load import load_models  # noqa: E402
from tests.support.bundles.small_build import run  # noqa: E402
from tests.support.bundles.tiny_checkpoints import scatter  # noqa: E402
from tests.support.bundles.tiny_qwen import qwen3, qwen3_vl, write_tokenizer  # noqa: E402

KIND = "Qwen3VLForConditionalGeneration"
HEAD = """
format = 1
name = "towers"
version = "1"
prompts = "prompts"
samples = { source = "random", count = 4 }
"""
ROLE = """
[roles.{role}]
checkpoint = "c"
adapters = "{adapter}"
picture = {{ width = 56, height = 56 }}
prompt = "{prompt}"
labels = {labels}
"""
PROMPTS = {
    "plan": "<|im_start|>{{ image }}{{ question }} Plan:",
    "act": "<|im_start|>{{ image }}{{ query }} Act:",
    "select": "<|im_start|>{% for each in images %}{{ loop.index }}{{ each }}{% endfor %}{{ question }} Entry:",
}
ADAPTERS = {"speaks": ["q_proj", "v_proj"], "answers": ["k_proj", "down_proj"], "sees": ["qkv"]}
"""The last one changes the vision tower, and nothing else."""
LABELS = '[["none", " A"], ["image", " B"], ["text", " C"]]'


def role(name: str, adapter: str, prompt: str) -> str:
    return ROLE.format(role=name, adapter=adapter, prompt=prompt, labels=LABELS)


RECIPE = (
    HEAD
    + role("planner", "speaks", "plan")
    + role("deciders.act", "answers", "act")
    + role("deciders.select", "sees", "select")
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("recipe")
    for name in ("c", "prompts"):
        (root / name).mkdir()
    base = scatter(qwen3_vl(write_tokenizer(root / "c" / "tokenizer.json")))
    base.save_pretrained(root / "c")
    for name, modules in ADAPTERS.items():
        torch.manual_seed(len(name))
        config = peft.LoraConfig(r=4, lora_alpha=8, init_lora_weights=False, target_modules=modules)
        model = scatter(qwen3_vl(root / "c" / "tokenizer.json"))
        peft.get_peft_model(model, config).save_pretrained(str(root / name))
    for name, text in PROMPTS.items():
        (root / "prompts" / f"{name}.jinja").write_text(text)
    return root


def recipe(folder: Path, text: str, name: str = "bundle") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def built(folder: Path) -> Bundle:
    return carry_out(make_plan(read_recipe(recipe(folder, RECIPE))), folder / "out").bundle


@pytest.fixture
def runs() -> Iterator[Any]:
    registry = metrics.collect()

    def counted() -> int:
        named = {"cache": "towers", "result": "miss"}
        return int(registry.get_sample_value("quizglass_cache_lookups_total", named) or 0)

    yield counted
    for metric in metrics.EVERY.values():
        metric.bind(None)


def graphs(bundle: Bundle) -> list[str]:
    return sorted(name for name in bundle.manifest.files if name.endswith(".onnx"))


def towers(bundle: Bundle) -> dict[str, Any]:
    return {name: bundle.roles.part(name).tower for name in bundle.roles.names()}  # type: ignore[union-attr]


def test_a_tower_is_written_once_for_deciders_whose_adapters_leave_it_alone(
    folder: Path, built: Bundle, capsys: pytest.CaptureFixture[str]
) -> None:
    assert graphs(built) == [
        "deciders.act/model.onnx",
        "deciders.select/model.onnx",
        "deciders.select/tower.onnx",
        "planner/model.onnx",
        "planner/tower.onnx",
    ]
    assert towers(built) == {
        "planner": "planner/tower.onnx",
        "deciders.act": "planner/tower.onnx",
        "deciders.select": "deciders.select/tower.onnx",
    }
    assert run("verify", built.root, "--recipe", folder / "bundle.toml") == 0
    capsys.readouterr()
    assert run("inspect", built.root, "--json") == 0
    told = json.loads(capsys.readouterr().out)["roles"]
    assert told["deciders.act"]["files"][:2] == ["deciders.act/model.onnx", "planner/tower.onnx"]
    assert told["deciders.act"]["tower"]["outputs"] == {"image_features": [1, 4, 3 * 64]}
    assert told["planner"]["tower"]["inputs"] == {"pixel_values": [1, 16, 1176]}
    assert run("tensorrt", built.root, "--role", "deciders.act", "--json") == 0
    assert {"deciders.act", "deciders.act.tower", "planner.tower"} <= set(json.loads(capsys.readouterr().out))


async def test_every_decider_equals_transformers_and_a_picture_goes_through_each_tower_once(
    folder: Path, built: Bundle, runs: Any
) -> None:
    plan = make_plan(read_recipe(folder / "bundle.toml"))
    models = await load_models(built, EngineOptions(threads=1, provider="cpu"))
    samples = random_samples(6)
    try:
        for name, count, further in (
            ("planner", 1, 6),
            ("deciders.act", 1, 0),
            ("planner", 1, 0),
            ("deciders.select", 2, 6),
            ("deciders.select", 1, 0),
        ):
            before = runs()
            await equals_transformers(plan, models, name, count, samples)
            assert runs() - before == further, name
    finally:
        await models.close()


async def equals_transformers(plan: Any, models: Any, name: str, count: int, samples: Any) -> None:
    """A decider's probabilities for prompts with so many pictures are its merged checkpoint's own."""
    part = models.parts[name]
    job = plan.job(name, Path(), part.tokenizer, ())
    model = plan.sources[name].load(KIND)
    tokenizer, template = job.prompt_tokenizer(), job.prompt(Path(part.prompt).stem)
    span = vision_inputs.image_span(tokenizer, part.image_token, part.picture)
    for place, sample in enumerate(samples):
        shown = [samples[(place + further) % len(samples)].picture for further in range(count)]
        ids = tokenizer.encode(template.render(pictures=count, **sample.values()), span)
        fitted = [vision_inputs.fit(pixels, part.picture) for pixels in shown]
        logits = vision_logits(model, ids, fitted, part.picture)[job.tokens([text for _, text in part.labels])]
        pictures = [Picture(pixels.tobytes()[:32], pixels) for pixels in shown]
        weighed = await models.deciders[name.removeprefix("deciders.")].probabilities(pictures, sample.values())
        assert [p for _, p in weighed] == pytest.approx(torch.tensor(logits).softmax(-1).tolist(), abs=1e-4)


@pytest.mark.parametrize("name", ["planner", "deciders.select"])
def test_precisions_are_measured_with_tower_and_decisions(folder: Path, built: Bundle, name: str) -> None:
    plan = make_plan(read_recipe(folder / "bundle.toml"))
    part: Any = built.roles.part(name)
    job = plan.job(name, built.root, part.tokenizer, random_samples(4))
    runs_of = plan.exporter(name).runs
    assert runs_of is not None
    runs = runs_of(job, plan.spec(name), part)
    run, prompts, model = runs.opened(built.root), VisionPrompts(job, part), plan.sources[name].load(KIND)
    places = job.tokens([text for _, text in part.labels])
    for index in range(runs.count):
        logits = vision_logits(model, prompts.rows[index], prompts.pictures[index], part.picture)[places]
        assert run(runs.inputs(index))[0][0] == pytest.approx(logits, abs=1e-4)
    assert {len(shown) for shown in prompts.pictures} == ({1, 2} if name == "deciders.select" else {1})


def test_without_a_tower_of_its_own_a_decider_is_one_graph(folder: Path, tmp_path: Path) -> None:
    text = HEAD + role("planner", "speaks", "plan") + "tower = false\n"
    bundle = carry_out(make_plan(read_recipe(recipe(folder, text, "whole"))), tmp_path / "out").bundle
    assert graphs(bundle) == ["planner/model.onnx"]
    assert towers(bundle) == {"planner": None}


def test_roles_that_are_added_share_the_tower_that_is_there_or_bring_their_own(
    folder: Path, built: Bundle, tmp_path: Path
) -> None:
    alone = repack(built, tmp_path / "alone", drop=["planner", "deciders.select"])
    assert graphs(alone) == ["deciders.act/model.onnx", "planner/tower.onnx"], "who shares it keeps it"

    def addition(name: str, adapter: str, prompt: str, as_: str) -> Bundle:
        path = recipe(folder, HEAD + role(name, adapter, prompt), as_)
        return carry_out(make_plan(read_recipe(path)), tmp_path / as_).bundle

    speaking = addition("deciders.weigh", "speaks", "act", "speaking")
    assert graphs(speaking) == ["deciders.weigh/model.onnx", "deciders.weigh/tower.onnx"]
    both = add_roles(alone, speaking, tmp_path / "both")
    assert towers(both) == dict.fromkeys(("deciders.act", "deciders.weigh"), "planner/tower.onnx")
    assert graphs(both) == ["deciders.act/model.onnx", "deciders.weigh/model.onnx", "planner/tower.onnx"]
    seeing = add_roles(both, addition("planner", "sees", "plan", "seeing"), tmp_path / "three")
    assert towers(seeing) == {
        "planner": "planner/towers-2/tower.onnx",
        "deciders.act": "planner/tower.onnx",
        "deciders.weigh": "planner/tower.onnx",
    }
    assert run("verify", seeing.root) == 0


def test_towers_of_one_name_that_are_added_stay_apart(folder: Path, built: Bundle, tmp_path: Path) -> None:
    alone = repack(built, tmp_path / "alone", drop=["planner", "deciders.select"])
    small = "picture = { width = 56, height = 56 }"
    planner = role("planner", "speaks", "plan").replace(small, "picture = { width = 84, height = 84 }")
    sizes = "picture = { width = 112, height = 84 }\ngrids = [{ width = 84, height = 84 }]"
    weigh = role("deciders.weigh", "answers", "act").replace(small, sizes)
    path = recipe(folder, HEAD + planner + weigh, "sizes")
    addition = carry_out(make_plan(read_recipe(path)), tmp_path / "sizes").bundle
    assert "planner/tower.onnx" in graphs(addition)
    assert "deciders.weigh/tower.onnx" in graphs(addition)
    added = add_roles(alone, addition, tmp_path / "three")
    part: Any = added.roles.part("deciders.weigh")
    assert (part.tower, part.grids[0].tower) == ("deciders.weigh/towers-2/tower.onnx", "planner/towers-2/tower.onnx")
    for name, before in ((part.tower, "deciders.weigh/tower.onnx"), (part.grids[0].tower, "planner/tower.onnx")):
        assert added.sha256(name) == addition.sha256(before)
    assert towers(added)["deciders.act"] == "planner/tower.onnx"
    assert sum("tower" in name for name in graphs(added)) == 3
    assert run("verify", added.root) == 0


def test_a_tower_that_was_exchanged_is_refused(built: Bundle, tmp_path: Path) -> None:
    shutil.copytree(built.root, tmp_path / "b")
    (tmp_path / "b/planner/tower.onnx").write_bytes(built.path("deciders.select/tower.onnx").read_bytes())
    with pytest.raises(BundleError, match=r"planner/tower\.onnx"):
        Bundle.load(tmp_path / "b")


@pytest.mark.parametrize("value", ["true", "false"])
def test_a_model_of_texts_has_no_tower(folder: Path, value: str) -> None:
    if not (folder / "t").is_dir():
        qwen3(folder / "c" / "tokenizer.json").save_pretrained(folder / "t")
        shutil.copyfile(folder / "c" / "tokenizer.json", folder / "t" / "tokenizer.json")
    text = f'{HEAD}[roles.planner]\ncheckpoint = "t"\ntower = {value}\n'
    with pytest.raises(ExportError, match=r"roles\.planner\.tower: qwen3 reads text alone; leave it out"):
        make_plan(read_recipe(recipe(folder, text, "texts")))
