import hashlib
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("optimum")

from safetensors.torch import load_file  # noqa: E402

from quizglass_bundle.files import Bundle  # noqa: E402
from quizglass_bundle.inputs.prompts import PromptTokenizer  # noqa: E402
from quizglass_export.errors import ExportError  # noqa: E402
from quizglass_export.roles.shared.entry import Demands  # noqa: E402
from quizglass_lab import cli  # noqa: E402
from quizglass_lab.starter_bundle import layout as building  # noqa: E402
from quizglass_lab.starter_bundle.layout import BuildOptions, build  # noqa: E402

CLI = [sys.executable, "-m", "quizglass_lab.cli"]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "COLUMNS": "200"}


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def bundle(checkpoints: Path, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """A bundle built by the command itself."""
    out = tmp_path_factory.mktemp("bundles") / "bundle"
    command = [*CLI, "build", "--checkpoints", str(checkpoints), "--out", str(out), "--samples", "4"]
    command += ["--generated", "2", "--equal-answers", "0.2", "--sample-source", "random"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "next: quizglass-server --bundle" in done.stdout
    assert [path.name for path in out.parent.iterdir()] == ["bundle"]
    return Bundle.load(out)


def options(checkpoints: Path, out: Path) -> BuildOptions:
    return BuildOptions(checkpoints, out, source="random", samples=4, generated=2, demands=Demands(answers=0.2))


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
    assert bundle.roles.names() == roles
    manifest = bundle.manifest
    assert (manifest.name, manifest.version, manifest.thresholds.image_accept) == ("untrained", "9", 0.25)
    assert bundle.roles.generator.max_new_tokens == 3
    assert bundle.roles.image_encoder.dimension == 128
    assert bundle.roles.text_encoder.pooling == "mean"
    assert manifest.provenance["training"] == {"joint": {"right": 0.25}, "planner": {"right": 0.25}}
    source = "planner/adapter_model.safetensors"
    assert manifest.provenance["sources"][source] == hashlib.sha256((checkpoints / source).read_bytes()).hexdigest()
    assert manifest.provenance["packages"]["transformers"].startswith("4.")
    tokenizer = PromptTokenizer(bundle.path(bundle.roles.planner.tokenizer))
    assert len({tokenizer.label(text) for _, text in bundle.roles.planner.labels}) == 4


def test_the_report_says_what_was_compared_and_demanded(bundle: Bundle) -> None:
    parity = json.loads(bundle.path(bundle.manifest.parity).read_text())
    assert parity["passed"] is True
    checks = {(check["role"], check["measure"]): check for check in parity["checks"]}
    assert {role for role, _ in checks} == {"planner", "reranker", "image_encoder", "text_encoder", "generator"}
    assert checks["planner", "equal labels"]["value"] == 1
    assert checks["planner", "largest difference of logits, padded batches of 8"]["value"] < 1e-4
    assert checks["generator", "equal tokens of prompts"]["value"] == 1
    assert checks["generator", "equal greedy answers"]["demand"] == ">= 0.2"
    assert "| planner | equal labels | 1 | >= 1 | 4 | yes |" in bundle.path("report.md").read_text()


def test_weights_that_were_not_merged_take_half_the_bytes(bundle: Bundle, checkpoints: Path) -> None:
    size = (checkpoints / "image_encoder" / "model.safetensors").stat().st_size
    assert bundle.manifest.files["image_encoder/model.onnx"].bytes < 1.1 * size


def test_equal_checkpoints_give_equal_bundles(bundle: Bundle, checkpoints: Path, tmp_path: Path) -> None:
    assert build(options(checkpoints, tmp_path / "again")).digest == bundle.digest


def test_a_bundle_still_equals_its_checkpoints(
    bundle: Bundle, checkpoints: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = partial(BuildOptions, source="random", samples=2, generated=1, demands=Demands(answers=0))
    monkeypatch.setattr(building, "BuildOptions", few)
    assert cli.main(["verify", str(bundle.root), "--checkpoints", str(checkpoints), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {check["role"] for check in found["checks"]} == set(bundle.roles.names()) - {"reader"}
    assert all(check["passed"] for check in found["checks"])


def test_a_bundle_that_exists_is_kept_unless_told_otherwise(bundle: Bundle, checkpoints: Path) -> None:
    with pytest.raises(ExportError, match="already exists; choose another directory, or pass --replace"):
        build(options(checkpoints, bundle.root))
    assert Bundle.load(bundle.root).digest == bundle.digest


def test_the_command_fails_with_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["build", "--checkpoints", str(tmp_path), "--out", str(tmp_path / "b")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("quizglass-lab build:")
    assert "base/config.json: missing" in line


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--samples", "1", "--samples must be at least 2"),
        ("--threads", "0", "--threads 0: must be at least 1"),
        ("--equal-answers", "1.5", "--equal-answers 1.5: must be between 0 and 1"),
        ("--equal-answers", "nan", "--equal-answers nan: must be between 0 and 1"),
    ],
)
def test_an_option_out_of_range_is_named(
    checkpoints: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, value: str, message: str
) -> None:
    places = ["--checkpoints", str(checkpoints), "--out", str(tmp_path / "b")]
    assert cli.main(["build", *places, option, value]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_completion_is_printed_without_loading_models() -> None:
    code = (
        "import sys; from quizglass_lab.cli import main\n"
        "try: main(['--print-completion', 'bash'])\n"
        "finally: assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "pack-checkpoints" in done.stdout
    assert "_score___bem_COMPGEN=_shtab_compgen_files" in done.stdout, "paths are completed"
