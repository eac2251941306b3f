"""Deciders from a recipe: two on one graph and one by numbers, built, verified, inspected, loaded and served."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from quizglass_bundle.files import Bundle  # noqa: E402
from quizglass_bundle.inputs import vision_inputs  # noqa: E402
from quizglass_export.assembly.carry_out import carry_out  # noqa: E402
from quizglass_export.assembly.plan import make_plan  # noqa: E402
from quizglass_export.errors import ExportError  # noqa: E402
from quizglass_export.recipe.read import read_recipe  # noqa: E402
from quizglass_export.roles.shared.samples import random_samples  # noqa: E402
from quizglass_export.roles.shared.scorers import vision_logits  # noqa: E402
from quizglass_server.config.settings import EngineOptions  # noqa: E402
from quizglass_server.domain.turns import Picture  # noqa: E402
from quizglass_server.roles.load import load_models  # noqa: E402
from tests.support.bundles.small_build import run  # noqa: E402
from tests.support.bundles.tiny_checkpoints import scatter  # noqa: E402
from tests.support.bundles.tiny_qwen import qwen2_vl, write_tokenizer  # noqa: E402

RECIPE = """
format = 1
name = "deciders"
version = "1"
prompts = "prompts"
samples = { source = "random", count = 4 }

[roles.planner]
checkpoint = "c"
picture = { width = 56, height = 56 }

[roles.deciders.act]
shares = "planner"
prompt = "act"
labels = [["text", " C"], ["same", " yes"], ["none", " A"]]

[roles.deciders.select]
shares = "planner"
prompt = "select"
labels = [["1", " A"], ["2", " B"], ["none", " no"]]

[roles.deciders.search_router]
linear = "search.json"
"""
LINEAR = {"features": ["p_min"], "labels": ["direct", "rag"], "weights": [[1.0], [-1.0]], "bias": [0.0, 0.5]}
PROMPTS = {
    "plan": "<|im_start|>{{ image }}{{ question }} Plan:",
    "act": "<|im_start|>{{ image }}{{ query }} Act:",
    "select": "<|im_start|>{% for each in images %}{{ loop.index }}{{ each }}{% endfor %}{{ question }} Entry:",
}


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("recipe")
    for folder in ("c", "prompts"):
        (root / folder).mkdir()
    scatter(qwen2_vl(write_tokenizer(root / "c" / "tokenizer.json"))).save_pretrained(root / "c")
    for name, text in PROMPTS.items():
        (root / "prompts" / f"{name}.jinja").write_text(text)
    (root / "search.json").write_text(json.dumps(LINEAR))
    (root / "bundle.toml").write_text(RECIPE)
    return root / "bundle.toml"


async def test_deciders_that_share_a_graph_equal_pytorch(
    recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "bundle"
    assert run("build", "--recipe", recipe, "--out", out) == 0
    assert re.search(
        r"\| planner \| fp32 \|.* \d+\.\d\d \+ \d+\.\d\d a picture \|", (tmp_path / "bundle.report.md").read_text()
    )
    assert run("verify", out, "--recipe", recipe) == 0
    capsys.readouterr()
    assert run("inspect", out, "--json") == 0
    roles = json.loads(capsys.readouterr().out)["roles"]
    assert roles["deciders.act"]["model"] == roles["planner"]["model"]
    assert roles["deciders.act"]["labels"] == ["text", "same", "none"]
    assert roles["deciders.search_router"]["engine"] == "numpy"
    bundle = Bundle.load(out)
    planner, act = bundle.roles.planner, bundle.roles.part("deciders.act")
    assert planner is not None
    assert (planner.rows, act.rows) == ((0, 1, 2, 3), (2, 4, 0))  # type: ignore[union-attr]
    assert planner.most_pictures == bundle.roles.part("deciders.select").most_pictures == 7  # type: ignore[union-attr]
    spans = 6 * (vision_inputs.image_tokens(planner.picture) + 2)  # type: ignore[union-attr]
    assert planner.max_tokens == 512 + spans, "the pictures of all entries fit beside the text"  # type: ignore[union-attr]
    assert [name for name in bundle.manifest.files if name.endswith(".onnx")] == [
        "planner/model.onnx",
        "planner/tower.onnx",
    ]
    assert {check["role"] for check in json.loads((out / "parity.json").read_text())["checks"]} == {
        "planner",
        "deciders.act",
        "deciders.select",
    }
    await _serves(recipe, bundle)


def test_who_shares_a_graph_is_compared_again_when_its_owner_makes_another(recipe: Path, tmp_path: Path) -> None:
    """The ranges of static INT8 are found on the owner's prompts, so another prompt of it is another graph."""
    shutil.copytree(recipe.parent, tmp_path / "recipe")
    recipe = tmp_path / "recipe" / "bundle.toml"
    lossy = 'checkpoint = "c"\nprecision = "int8"\naccept = { labels = 0, drift = 1 }'
    recipe.write_text(RECIPE.replace('checkpoint = "c"', lossy))
    made, checks = [], []
    for prompt in (PROMPTS["plan"], "<|im_start|>{{ image }}{{ question }} Another plan, please:"):
        (recipe.parent / "prompts" / "plan.jinja").write_text(prompt)
        bundle = carry_out(make_plan(read_recipe(recipe)), tmp_path / "b", replace=True, work=tmp_path / "work").bundle
        made.append(bundle.manifest.files["planner/model.onnx"].sha256)
        document = json.loads(bundle.path("parity.json").read_text())
        checks.append([each["value"] for each in document["checks"] if each["role"] == "deciders.act"])
    assert made[0] != made[1]
    assert checks[0] != checks[1]


async def _serves(recipe: Path, bundle: Bundle) -> None:
    """The loaded deciders' probabilities are transformers' own for the same prompts."""
    plan = make_plan(read_recipe(recipe))
    model = plan.sources["planner"].load("Qwen2VLForConditionalGeneration")
    models = await load_models(bundle, EngineOptions(threads=1, provider="cpu"))
    try:
        for role, count in (("planner", 1), ("deciders.act", 1), ("deciders.select", 1), ("deciders.select", 2)):
            part: Any = bundle.roles.part(role)
            job = plan.job(role, bundle.root, part.tokenizer, ())
            tokenizer = job.prompt_tokenizer()
            template = job.prompt(Path(part.prompt).stem)
            span = vision_inputs.image_span(tokenizer, part.image_token, part.picture)
            for sample, *others in zip(*[random_samples(4 + place)[place:] for place in range(count)], strict=True):
                ids = tokenizer.encode(template.render(pictures=count, **sample.values()), span)
                shown = [each.picture for each in (sample, *others)]
                fitted = [vision_inputs.fit(pixels, part.picture) for pixels in shown]
                logits = vision_logits(model, ids, fitted, part.picture)[job.tokens([t for _, t in part.labels])]
                expected = torch.tensor(logits).softmax(-1).tolist()
                pictures = [Picture(pixels.tobytes()[:32], pixels) for pixels in shown]
                name = role.removeprefix("deciders.")
                weighed = await models.deciders[name].probabilities(pictures, sample.values())
                assert [label for label, _ in weighed] == [label for label, _ in part.labels]
                assert [p for _, p in weighed] == pytest.approx(expected, abs=1e-4)
        direct, _ = await models.deciders["search_router"].probabilities((), {"p_min": 2.0})
        assert direct == ("direct", pytest.approx(1 / (1 + float(torch.exp(torch.tensor(-3.5))))))
    finally:
        await models.close()


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('shares = "planner"', 'shares = "verifier"', r"roles\.deciders\.act\.shares: verifier is no decider"),
        ('shares = "planner"', 'shares = "deciders.act"', r"deciders\.act is no decider with a checkpoint of its own"),
        ('prompt = "act"', 'prompt = "gone"', r"gone\.jinja: missing; roles\.deciders\.act needs the prompt"),
        ('prompt = "act"', "prompts = 1", r"roles\.deciders\.act\.prompt"),
        ('linear = "search.json"', 'linear = "gone.json"', r"gone\.json"),
        ('["none", " A"]', '["text", " A"]', r"roles\.deciders\.act\.labels: 'text' is there twice"),
        ("deciders.search_router", "verifier", r"roles\.verifier\.labels: direct, rag: none is 'supported'"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_made(recipe: Path, old: str, new: str, reason: str) -> None:
    path = recipe.with_name("other.toml")
    path.write_text(RECIPE.replace(old, new))
    with pytest.raises(ExportError, match=reason):
        make_plan(read_recipe(path))
