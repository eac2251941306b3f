"""`precision = "quickest"`: candidates made, compared, timed and chosen among, as a build and its commands do it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import onnx
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("optimum")

from quizglass_bundle.files import Bundle  # noqa: E402
from quizglass_export.assembly import quickest  # noqa: E402
from quizglass_export.assembly.carry_out import Built, carry_out, step_names  # noqa: E402
from quizglass_export.assembly.plan import make_plan  # noqa: E402
from quizglass_export.assembly.quickest import MeasuredPrecision, quickest_of  # noqa: E402
from quizglass_export.bundles.onnx_graph import chosen_precision  # noqa: E402
from quizglass_export.recipe.read import read_recipe  # noqa: E402
from tests.support.bundles.exported_bundle import exported_role  # noqa: E402
from tests.support.bundles.small_build import run  # noqa: E402
from tests.support.bundles.tiny_checkpoints import (  # noqa: E402
    bert_tokenizer,
    grounding_dino,
    image_model,
    owlv2,
    scatter,
    text_model,
)
from tests.support.bundles.tiny_qwen import qwen2_vl, write_tokenizer  # noqa: E402

HEAD = """
format = 1
name = "quick"
version = "1"
samples = { source = "random", count = 4 }
quickest = { samples = 12, seconds = 120 }
"""
TEXTS = (
    HEAD
    + """
[roles.text_encoder]
checkpoint = "texts"
precision = "quickest"
accept.cosine = 0.9
"""
)
DECIDERS = (
    HEAD
    + """
prompts = "prompts"
[roles.planner]
checkpoint = "seeing"
picture = { width = 56, height = 56 }
precision = "quickest"
accept = { labels = 0.5, drift = 0.5 }
[roles.deciders.act]
shares = "planner"
prompt = "act"
labels = [["text", " C"], ["same", " yes"], ["none", " A"]]
"""
)
WIDE = {"hidden_size": 128, "intermediate_size": 256}
Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoints whose products are large enough for INT8, and one whose are not."""
    root = tmp_path_factory.mktemp("sources")
    text_model(root / "texts", "bert", **WIDE)
    image_model(root / "pictures", "clip_vision_model")
    owlv2(bert_tokenizer(root / "boxes"), 128).save_pretrained(root / "boxes")
    for folder in ("seeing", "prompts"):
        (root / folder).mkdir()
    tokenizer = write_tokenizer(root / "seeing" / "tokenizer.json")
    scatter(qwen2_vl(tokenizer, intermediate_size=256)).save_pretrained(root / "seeing")
    for name, ending in (("plan", "Plan:"), ("act", "Act:")):
        (root / "prompts" / f"{name}.jinja").write_text(f"<|im_start|>{{{{ image }}}}{{{{ question }}}} {ending}")
    return root


def written(sources: Path, text: str, name: str = "bundle.toml") -> Path:
    path = sources / name
    path.write_text(text)
    return path


def built(recipe: Path, folder: Path, **options: Any) -> Built:
    return carry_out(make_plan(read_recipe(recipe)), folder / "bundle", replace=True, **options)


def by_name(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["precision"]: each for each in found["candidates"]}


def test_a_build_takes_one_that_is_accepted_and_says_why(sources: Path, tmp_path: Path, capsys: Output) -> None:
    recipe, out = written(sources, DECIDERS, "deciders.toml"), tmp_path / "bundle"
    assert run("build", "--recipe", recipe, "--out", out) == 0
    printed = capsys.readouterr().out
    found = json.loads((tmp_path / "bundle.report.json").read_text())["roles"]["planner"]["quickest"]
    candidates = by_name(found)
    assert list(candidates) == ["fp32", "int8-rows", "int8"]
    assert found["roles"] == ["planner", "deciders.act"]
    assert found["runs"] == 24, "each decider of the graph reads every sample"
    assert not candidates["int8-rows"]["refused"], candidates["int8-rows"]
    assert {check["role"]: check["samples"] for check in candidates["int8-rows"]["checks"]} == {
        "planner": 12,
        "deciders.act": 12,
    }
    assert candidates["int8-rows"]["bytes"] < candidates["fp32"]["bytes"]
    assert all(low <= each["milliseconds"] <= high for each in candidates.values() for low, high in [each["quartiles"]])
    chosen, bundle = found["chosen"], Bundle.load(out)
    assert chosen in candidates
    assert not candidates[chosen]["refused"]
    assert chosen_precision(bundle.path("planner/model.onnx")) == chosen
    assert chosen_precision(bundle.path("planner/tower.onnx")) == chosen
    assert f"roles.planner.precision: {chosen}, {found['why']}; measured on {found['cpu']}" in printed
    assert "int8-rows: " in printed
    report = (tmp_path / "bundle.report.md").read_text()
    assert f"| planner | {chosen} |" in report
    assert f"- planner: {chosen}, {found['why']}; 24 runs of each, on {found['cpu']}" in report
    assert "| planner | int8-rows | " in report.partition("chosen by measurement")[2]
    assert run("verify", out, "--recipe", recipe) == 0, "compared as what it is"


def test_a_measurement_is_kept_with_the_steps_and_made_again_on_another_cpu(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, work = written(sources, TEXTS), tmp_path / "work"
    plan, told = make_plan(read_recipe(recipe)), list[str]()
    first = carry_out(plan, tmp_path / "bundle", work=work, advance=told.append)
    assert [step for step in told if step in step_names(plan)] == list(step_names(plan))
    assert any(step.startswith("text encoder: which is quickest: 1 of 12 samples") for step in told)
    again = built(recipe, tmp_path, work=work)
    assert json.dumps(again.measured) == json.dumps(first.measured)
    assert again.bundle.digest == first.bundle.digest
    monkeypatch.setattr(quickest, "cpu_name", lambda: "another CPU")
    elsewhere = built(recipe, tmp_path, work=work).measured["text_encoder"]
    assert elsewhere["cpu"] == "another CPU"
    assert by_name(elsewhere)["fp32"]["quartiles"] != by_name(first.measured["text_encoder"])["fp32"]["quartiles"]


def test_every_decider_is_compared_in_every_round_however_short_the_time(sources: Path, tmp_path: Path) -> None:
    recipe = written(sources, DECIDERS.replace("seconds = 120", "seconds = 0.000001"), "short.toml")
    found = built(recipe, tmp_path).measured["planner"]
    assert (found["runs"], found["roles"]) == (14, ["planner", "deciders.act"])


def test_the_manifest_is_as_if_the_precision_had_been_named(sources: Path, tmp_path: Path) -> None:
    (tmp_path / "named").mkdir()
    measured = built(written(sources, TEXTS), tmp_path)
    chosen = measured.measured["text_encoder"]["chosen"]
    named = built(written(sources, TEXTS.replace('"quickest"', f'"{chosen}"'), "named.toml"), tmp_path / "named")
    assert named.measured == {}
    assert named.bundle.digest == measured.bundle.digest


def test_what_passes_the_few_samples_and_not_the_many_is_refused(sources: Path, tmp_path: Path) -> None:
    """Bounded by the worst of four samples, INT8 is beyond the bound on one of 60 others."""
    plain = TEXTS.replace('"quickest"', '"int8-rows"').replace("accept.cosine = 0.9\n", "accept.cosine = 0.5\n")
    (check,) = built(written(sources, plain, "plain.toml"), tmp_path).checks
    bound = check.value - 1e-7
    text = TEXTS.replace("accept.cosine = 0.9\n", f"accept.cosine = {bound}\n").replace("samples = 12", "samples = 60")
    found = built(written(sources, text, "strict.toml"), tmp_path).measured["text_encoder"]
    rows = by_name(found)["int8-rows"]
    assert rows["refused"].startswith("text_encoder: smallest cosine is ")
    assert rows["checks"][0]["samples"] == 60
    assert found["chosen"] != "int8-rows"


def test_candidates_that_cannot_be_taken_say_why_and_float32_stays(sources: Path, tmp_path: Path) -> None:
    pictures = HEAD + '[roles.image_encoder]\ncheckpoint = "pictures"\nprecision = "quickest"\n'
    boxes = '[roles.detector]\ncheckpoint = "boxes"\nprecision = "quickest"\n'
    found = built(written(sources, pictures + boxes, "pictures.toml"), tmp_path).measured
    encoder, detector = found["image_encoder"], found["detector"]
    rows = by_name(encoder)["int8-rows"]
    assert (rows["refused"], rows["milliseconds"]) == ("no product is large enough", None)
    assert list(by_name(detector)) == ["fp32", "int8-rows"]
    assert "detector: largest difference of boxes, in pixels is " in by_name(detector)["int8-rows"]["refused"]
    assert (detector["chosen"], detector["why"], detector["runs"]) == ("fp32", "no other is accepted", 0)


@pytest.mark.parametrize("kind", ["owlv2", "grounding_dino"])
def test_a_detector_computes_in_int8_rows_and_is_held_to_half_a_pixel(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "c"
    words = bert_tokenizer(folder)
    (owlv2(words, 128) if kind == "owlv2" else grounding_dino()).save_pretrained(folder)
    size = {} if kind == "owlv2" else {"picture": {"width": 128, "height": 128}}
    spec = {"checkpoint": folder, "precision": "int8-rows", "accept": {"drift": 0.1}, **size}
    part, (boxes, moved) = exported_role(tmp_path, "detector", spec, 4)
    assert (boxes.measure, boxes.demand) == ("largest difference of boxes, in pixels", "<= 0.5")
    assert moved.passed, moved
    assert moved.value > 0
    operators = [node.op_type for node in onnx.load(str(tmp_path / "files" / part.model)).graph.node]
    assert operators.count("MatMulIntegerToFloat") >= 4


def test_where_float32_is_not_accepted_nothing_is(sources: Path, tmp_path: Path, capsys: Output) -> None:
    recipe = written(sources, TEXTS + "[demands]\ncosine = 1.0\n", "exact.toml")
    broken = tmp_path / "texts"
    shutil.copytree(sources / "texts", broken)
    recipe.write_text(recipe.read_text().replace('"texts"', f'"{broken}"').replace("cosine = 0.9\n", "cosine = 1.0\n"))
    assert run("build", "--recipe", recipe, "--out", tmp_path / "bundle") == 2
    error = capsys.readouterr().err
    assert 'roles.text_encoder.precision: "quickest" accepts no candidate, since fp32' in error
    assert "  fp32: text_encoder: smallest cosine is " in error
    assert "  int8-rows: text_encoder: smallest cosine is " in error
    assert not (tmp_path / "bundle").exists()


def test_json_is_all_that_is_printed(sources: Path, tmp_path: Path, capsys: Output) -> None:
    recipe, out = written(sources, TEXTS), tmp_path / "bundle"
    assert run("build", "--recipe", recipe, "--out", out, "--dry-run", "--json") == 0
    (estimate,) = json.loads(capsys.readouterr().out)["estimates"]
    assert estimate["scratch"] > estimate["result"], "all candidates lie there"
    assert run("build", "--recipe", recipe, "--out", out, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads((tmp_path / "bundle.report.json").read_text())
    assert document["roles"]["text_encoder"]["quickest"]["chosen"] == document["roles"]["text_encoder"]["precision"]


def test_a_build_without_a_named_precision_proposes_to_measure(sources: Path, tmp_path: Path, capsys: Output) -> None:
    recipe = written(sources, TEXTS.replace('precision = "quickest"\n', ""), "default.toml")
    assert run("build", "--recipe", recipe, "--out", tmp_path / "bundle") == 0
    assert "text_encoder computes in float32, as the recipe names no precision; precision" in capsys.readouterr().out
    recipe = written(sources, TEXTS.replace('"quickest"', '"fp32"'), "named.toml")
    assert run("build", "--recipe", recipe, "--out", tmp_path / "bundle", "--replace") == 0
    assert "computes in float32" not in capsys.readouterr().out


def measured(**sizes: int) -> list[MeasuredPrecision]:
    return [MeasuredPrecision(name.replace("_", "-"), size) for name, size in sizes.items()]


@pytest.mark.parametrize(
    ("rows", "static", "expected", "why"),
    [
        ([2.0, 2.1, 2.0, 2.2], [3.0, 3.1, 3.0, 3.2], "int8-rows", "0.50 of fp32's time"),
        ([2.0, 2.1, 2.0, 2.2], [1.8, 2.1, 1.9, 2.2], "int8-rows", "as quick as int8 within"),
        ([2.0, 2.1, 2.0, 2.2], [1.5, 1.6, 1.5, 1.7], "int8", "0.38 of fp32's time"),
        ([5.0, 5.1, 5.0, 5.2], [4.5, 4.6, 4.5, 4.7], "fp32", "no other is quicker"),
        ([4.0, 4.1, 4.1, 4.2], [4.5, 4.6, 4.5, 4.7], "int8-rows", "as quick as fp32 within"),
    ],
)
def test_of_equally_quick_ones_the_smallest_is_taken(
    rows: list[float], static: list[float], expected: str, why: str
) -> None:
    rounds = {"fp32": [4.0, 4.2, 4.0, 4.4], "int8-rows": rows, "int8": static}
    chosen, told = quickest_of(measured(fp32=90, int8_rows=40, int8=45), rounds)
    assert chosen == expected
    assert why in told
