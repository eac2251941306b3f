import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("optimum")

from safetensors.torch import load_file, save_file  # noqa: E402

from quizglass_export.bundling.build import BuildOptions, build  # noqa: E402
from quizglass_export.bundling.errors import ExportError  # noqa: E402
from quizglass_export.bundling.pack import pack  # noqa: E402
from quizglass_export.recipe.schema import Demands  # noqa: E402
from quizglass_export.retrieval.random_checkpoints import write_random_checkpoints  # noqa: E402
from quizglass_export.starter.random_checkpoint import write  # noqa: E402
from quizglass_server.bundle import Bundle  # noqa: E402
from quizglass_server.models.prompts import PromptTokenizer  # noqa: E402

CLI = [sys.executable, "-m", "quizglass_export.cli"]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "COLUMNS": "200"}
# Untrained models hardly prefer one token to the next, so quantising flips their answers: the fewer, the better.
SETTINGS = {"name": "untrained", "version": "9", "answer_tokens": 3, "thresholds": {"image_accept": 0.25}}


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Untrained checkpoints in half precision, as a repository keeps them."""
    raw = tmp_path_factory.mktemp("raw")
    write(raw)
    write_random_checkpoints(raw)
    (raw / "base" / "optimizer.safetensors").write_bytes(b"state")
    (raw / "settings.json").write_text(json.dumps(SETTINGS))
    for stage in ("joint", "planner"):
        (raw / stage).mkdir(exist_ok=True)
        (raw / stage / "done.json").write_text(json.dumps({"right": 0.25}))
    out = tmp_path_factory.mktemp("packed") / "checkpoints"
    pack(raw, out)
    return out


@pytest.fixture(scope="module")
def bundle(checkpoints: Path, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A bundle built by the command itself."""
    out = tmp_path_factory.mktemp("bundles") / "bundle"
    command = [*CLI, "build", "--checkpoints", str(checkpoints), "--out", str(out), "--samples", "10"]
    command += ["--generated", "4", "--equal-answers", "0.2", "--sample-source", "random"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "next: quizglass-server --bundle" in done.stdout
    assert [path.name for path in out.parent.iterdir()] == ["bundle"]
    return Bundle.load(out)


@pytest.fixture
def copy(checkpoints: Path, tmp_path: Path) -> Iterator[Path]:
    """Checkpoints to damage."""
    out = tmp_path / "checkpoints"
    shutil.copytree(checkpoints, out)
    yield out
    shutil.rmtree(out)


def options(checkpoints: Path, out: Path) -> BuildOptions:
    return BuildOptions(
        checkpoints, out, source="random", samples=4, generated=1, demands=Demands(answers=0), file_type="f16"
    )


def test_packed_checkpoints_are_half_precision_without_training_state(checkpoints: Path) -> None:
    assert {part.name for part in checkpoints.iterdir() if part.is_dir()} == {
        "base",
        "planner",
        "reranker_base",
        "reranker",
        "image_encoder",
        "text_encoder",
    }
    assert not [*checkpoints.rglob("optimizer*"), *checkpoints.rglob("done.json")]
    for path in checkpoints.rglob("*.safetensors"):
        assert {tensor.dtype for tensor in load_file(path).values()} <= {torch.float16, torch.int64}, path


def test_the_bundle_has_every_role_its_settings_and_where_it_came_from(bundle: Bundle, checkpoints: Path) -> None:
    roles = ("planner", "reranker", "image_encoder", "text_encoder", "generator", "reader")
    assert bundle.roles() == roles
    manifest = bundle.manifest
    assert (manifest.name, manifest.version, manifest.thresholds.image_accept) == ("untrained", "9", 0.25)
    assert bundle.generator.max_new_tokens == 3
    assert bundle.image_encoder.dimension == 128
    assert bundle.text_encoder.pooling == "mean"
    assert manifest.provenance["training"] == {"joint": {"right": 0.25}, "planner": {"right": 0.25}}
    source = "planner/adapter_model.safetensors"
    assert manifest.provenance["sources"][source] == hashlib.sha256((checkpoints / source).read_bytes()).hexdigest()
    assert manifest.provenance["packages"]["transformers"].startswith("4.")
    tokenizer = PromptTokenizer(bundle.path(bundle.planner.tokenizer))
    assert len({tokenizer.label(text) for _, text in bundle.planner.labels}) == 4


def test_the_report_says_what_was_compared_and_demanded(bundle: Bundle) -> None:
    parity = json.loads(bundle.path(bundle.manifest.parity).read_text())
    assert parity["passed"] is True
    checks = {(check["role"], check["measure"]): check for check in parity["checks"]}
    assert {role for role, _ in checks} == {"planner", "reranker", "image_encoder", "text_encoder", "generator"}
    assert checks["planner", "equal labels"]["value"] == 1
    assert checks["planner", "largest difference of logits, padded batches of 8"]["value"] < 1e-4
    assert checks["generator", "equal tokens of prompts"]["value"] == 1
    assert checks["generator", "equal greedy answers"]["demand"] == ">= 0.2"
    assert "| planner | equal labels | 1 | >= 1 | 10 | yes |" in bundle.path("report.md").read_text()


def test_weights_that_were_not_merged_take_half_the_bytes(bundle: Bundle, checkpoints: Path) -> None:
    size = (checkpoints / "image_encoder" / "model.safetensors").stat().st_size
    assert bundle.manifest.files["image_encoder/model.onnx"].bytes < 1.1 * size


def test_equal_checkpoints_give_equal_bundles(checkpoints: Path, tmp_path: Path) -> None:
    first = build(options(checkpoints, tmp_path / "first"))
    second = build(options(checkpoints, tmp_path / "second"))
    assert first.digest == second.digest
    assert first.generator.model == "generator/model-f16.gguf"


def test_without_parity_nothing_is_written_and_an_old_bundle_stays(checkpoints: Path, tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    out.mkdir()
    (out / "old").touch()
    impossible = replace(options(checkpoints, out), replace=True, demands=Demands(logits=0.0, answers=0))
    with pytest.raises(ExportError, match=r"(?s)no bundle written:.*planner: largest difference .* demanded <= 0"):
        build(impossible)
    assert [path.name for path in tmp_path.iterdir()] == ["bundle"]
    assert [path.name for path in out.iterdir()] == ["old"]


def test_an_interrupted_build_leaves_nothing(checkpoints: Path, tmp_path: Path) -> None:
    def interrupt(step: str) -> None:
        if step == "image encoder":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(options(checkpoints, tmp_path / "bundle"), interrupt)
    assert list(tmp_path.iterdir()) == []


def test_a_bundle_that_exists_is_kept_unless_told_otherwise(bundle: Bundle, checkpoints: Path) -> None:
    with pytest.raises(ExportError, match="already exists; choose another directory, or pass --replace"):
        build(options(checkpoints, bundle.root))
    assert Bundle.load(bundle.root).digest == bundle.digest


def edit(path: Path, change: Callable[[dict[str, object]], None]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def without_weights(root: Path) -> None:
    (root / "base" / "model.safetensors").unlink()


def without_adapter(root: Path) -> None:
    shutil.rmtree(root / "reranker")


def of_another_architecture(root: Path) -> None:
    edit(root / "base" / "config.json", lambda config: config.update(model_type="llama"))


def key_of(weights: dict[str, torch.Tensor], ending: str) -> str:
    return next(key for key in weights if key.endswith(ending))


def with_nan(root: Path) -> None:
    path = root / "base" / "model.safetensors"
    weights = load_file(path)
    weights[key_of(weights, "layers.1.mlp.up_proj.weight")][3, 4] = float("nan")
    save_file(weights, path, metadata={"format": "pt"})


def cut_short(root: Path) -> None:
    path = root / "base" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1000])


def with_a_missing_key(root: Path) -> None:
    path = root / "base" / "model.safetensors"
    weights = load_file(path)
    del weights[key_of(weights, ".norm.weight")]
    save_file(weights, path, metadata={"format": "pt"})


def with_a_key_too_many(root: Path) -> None:
    path = root / "base" / "model.safetensors"
    save_file(load_file(path) | {"model.language_model.extra.weight": torch.ones(2)}, path, metadata={"format": "pt"})


def with_another_bases_adapter(root: Path) -> None:
    shutil.rmtree(root / "planner")
    shutil.copytree(root / "reranker", root / "planner")


def with_labels_of_two_tokens(root: Path) -> None:
    def drop(content: dict[str, object]) -> None:
        model = content["model"]
        model["merges"] = [pair for pair in model["merges"] if pair not in ("Ġ C", ["Ġ", "C"])]  # type: ignore[index]

    edit(root / "base" / "tokenizer.json", drop)


def with_tokens_beyond_the_model(root: Path) -> None:
    edit(root / "base" / "config.json", lambda config: config["text_config"].update(vocab_size=100))  # type: ignore[attr-defined]


def with_an_unknown_setting(root: Path) -> None:
    (root / "settings.json").write_text('{"threshold": 1}')


def without_a_prompt(root: Path) -> None:
    (root / "prompts").mkdir()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (without_weights, r"base/model\.safetensors: missing"),
        (without_adapter, r"reranker/adapter_config\.json: missing"),
        (of_another_architecture, r"base/config\.json: model_type is 'llama', base must be 'qwen2_5_vl'"),
        (with_nan, r"base/model\.safetensors: \S*layers\.1\.mlp\.up_proj\.weight holds NaN"),
        (cut_short, r"base/model\.safetensors: not a readable safetensors file"),
        (with_a_missing_key, r"base/model\.safetensors: missing keys: .*language_model\.norm\.weight"),
        (with_a_key_too_many, r"base/model\.safetensors: unexpected keys: .*extra\.weight"),
        (with_another_bases_adapter, r"planner/adapter_model\.safetensors: .* the adapter is for another base"),
        (with_labels_of_two_tokens, r"label ' C' is 2 tokens in tokenizer\.json"),
        (with_tokens_beyond_the_model, r"base/tokenizer\.json: token id \d+ is beyond vocab_size 100"),
        (with_an_unknown_setting, r"settings\.json: threshold: Extra inputs"),
        (without_a_prompt, r"prompts/plan\.jinja: missing"),
    ],
)
def test_a_wrong_checkpoint_names_file_and_key_and_leaves_nothing(
    copy: Path, tmp_path: Path, damage: Callable[[Path], None], message: str
) -> None:
    damage(copy)
    with pytest.raises(ExportError, match=message):
        build(options(copy, tmp_path / "out" / "bundle"))
    assert not list((tmp_path / "out").glob("**/*"))


RECIPE = """
format = 1
name = "small"
version = "1"
[samples]
source = "random"
count = 4
[roles.image_encoder]
checkpoint = "image_encoder"
[roles.text_encoder]
checkpoint = "text_encoder"
[roles.reader]
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*CLI, *arguments], env=ENVIRONMENT, capture_output=True, text=True, check=False)


def test_a_recipe_builds_the_roles_it_names_and_goes_on_where_it_was_stopped(copy: Path, tmp_path: Path) -> None:
    recipe, out = copy / "bundle.toml", tmp_path / "out" / "bundle"
    recipe.write_text(RECIPE)
    arguments = ("build", "--recipe", str(recipe), "--out", str(out))
    dry = run(*arguments, "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert "image_encoder" in dry.stdout
    assert not out.parent.exists()

    weights = copy / "text_encoder" / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-100])
    assert run(*arguments).returncode == 2
    assert not out.exists()
    kept = out.parent / "bundle.work" / "image_encoder" / "image_encoder" / "model.onnx"
    made = kept.stat().st_ino
    weights.write_bytes(whole)
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    bundle = Bundle.load(out)
    assert bundle.roles() == ("image_encoder", "text_encoder", "reader")
    assert bundle.path(bundle.image_encoder.model).stat().st_ino == made
    assert sorted(path.name for path in out.parent.iterdir()) == ["bundle", "bundle.report.json", "bundle.report.md"]
    report = json.loads((out.parent / "bundle.report.json").read_text())
    assert report["bundle"]["digest"] == bundle.digest
    assert report["roles"]["text_encoder"]["bytes"] > 0
    assert "| image_encoder | fp32 |" in (out.parent / "bundle.report.md").read_text()


def test_a_recipe_for_a_checkpoint_of_another_architecture_is_refused(copy: Path, tmp_path: Path) -> None:
    (copy / "bundle.toml").write_text(RECIPE.replace('checkpoint = "image_encoder"', 'checkpoint = "text_encoder"'))
    done = run("build", "--recipe", str(copy / "bundle.toml"), "--out", str(tmp_path / "b"))
    assert done.returncode == 2
    assert "text_encoder/config.json: model_type is 'bert'; image_encoder can be clip, clip_vision_model" in done.stderr
    assert not (tmp_path / "b").exists()


def test_values_beyond_half_precision_are_not_packed(copy: Path, tmp_path: Path) -> None:
    path = copy / "text_encoder" / "model.safetensors"
    weights = {key: tensor.float() for key, tensor in load_file(path).items()}
    key = sorted(weights)[0]
    weights[key].view(-1)[0] = 1e6
    save_file(weights, path, metadata={"format": "pt"})
    with pytest.raises(ExportError, match=rf"text_encoder/model\.safetensors: {key} has values beyond float16"):
        pack(copy, tmp_path / "packed")
    assert not (tmp_path / "packed").exists()


def test_the_command_fails_with_one_line(tmp_path: Path) -> None:
    command = [*CLI, "build", "--checkpoints", str(tmp_path), "--out", str(tmp_path / "b")]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "quizglass-export build:" in done.stderr
    assert "base/config.json: missing" in done.stderr
    assert "Traceback" not in done.stderr


def test_completion_is_printed_without_loading_models() -> None:
    code = (
        "import sys; from quizglass_export.cli import main\n"
        "try: main(['--print-completion', 'bash'])\n"
        "finally: assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "pack-checkpoints" in done.stdout
