"""Builds from a recipe: stopped, killed, without room, and gone on with."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("optimum")

from quizglass_bundle.files import Bundle
from quizglass_export import code_digest
from quizglass_export.assembly import role_steps
from quizglass_export.assembly.carry_out import carry_out
from quizglass_export.assembly.plan import make_plan
from quizglass_export.directory import fresh_directory
from quizglass_export.recipe.read import read_recipe
from quizglass_server.roles.reader import package_detector
from tests.support.bundles.small_build import RECIPE, run, write_recipe
from tests.support.bundles.tiny_checkpoints import image_model

ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recipe(tmp_path_factory.mktemp("sources")).parent


@pytest.fixture
def recipe(sources: Path, tmp_path: Path) -> Path:
    """A recipe whose checkpoints may be damaged."""
    shutil.copytree(sources, tmp_path / "sources")
    return tmp_path / "sources" / "bundle.toml"


def inside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_build_checks_first_keeps_finished_steps_and_goes_on_with_them(recipe: Path, tmp_path: Path) -> None:
    out = tmp_path / "out" / "bundle"
    arguments = ("build", "--recipe", recipe, "--out", out)
    assert run(*arguments, "--dry-run") == 0
    assert not out.parent.exists()

    weights = recipe.parent / "text_encoder" / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-100])
    assert run(*arguments) == 2
    assert not out.exists()
    made = (out.parent / "bundle.work" / "image_encoder" / "image_encoder" / "model.onnx").stat().st_ino
    weights.write_bytes(whole)
    assert run(*arguments) == 0
    bundle = Bundle.load(out)
    assert bundle.roles.names() == ("image_encoder", "text_encoder", "reader")
    assert bundle.roles.reader is not None
    assert bundle.roles.reader.gate == 0.3
    assert bundle.path(bundle.roles.image_encoder.model).stat().st_ino == made
    assert inside(out.parent) == ["bundle", "bundle.report.json", "bundle.report.md"]
    report = json.loads((out.parent / "bundle.report.json").read_text())
    assert report["bundle"]["digest"] == bundle.digest
    assert report["roles"]["text_encoder"]["bytes"] > 0
    assert "| image_encoder | fp32 |" in (out.parent / "bundle.report.md").read_text()


def test_a_readers_detector_is_made_compared_and_shown(tmp_path: Path, capsys: Output) -> None:
    recipe, out = tmp_path / "bundle.toml", tmp_path / "bundle"
    head = RECIPE.partition("[roles.")[0]
    recipe.write_text(f'{head}[roles.reader]\ngate = 0.3\nprecision = "int8"\n')
    assert run("build", "--recipe", recipe, "--out", out) == 0
    bundle = Bundle.load(out)
    reader = bundle.roles.reader
    assert reader is not None
    assert (reader.gate, reader.detector) == (0.3, "reader/detector.onnx")
    (source,) = bundle.manifest.provenance["sources"].values()
    assert source == sha256(package_detector().read_bytes()).hexdigest()
    report = json.loads((tmp_path / "bundle.report.json").read_text())
    assert [check["role"] for check in report["checks"]] == ["reader"]
    assert report["roles"]["reader"]["float32_latency_ms"] > 0
    assert " in fp32)" in (tmp_path / "bundle.report.md").read_text()
    capsys.readouterr()
    assert run("inspect", out, "--json") == 0
    shown = json.loads(capsys.readouterr().out)["roles"]["reader"]
    assert shown["precision"] == "int8 (static)"
    assert shown["bytes"] == bundle.manifest.files["reader/detector.onnx"].bytes


def test_an_interrupted_build_without_a_work_directory_leaves_nothing(recipe: Path, tmp_path: Path) -> None:
    def interrupt(step: str) -> None:
        if step == "text encoder":
            raise KeyboardInterrupt

    out = tmp_path / "out" / "bundle"
    with pytest.raises(KeyboardInterrupt):
        carry_out(make_plan(read_recipe(recipe)), out, advance=interrupt)
    assert inside(out.parent) == []


def test_checkpoints_of_one_name_are_distinguished_in_the_provenance(recipe: Path, tmp_path: Path) -> None:
    text = RECIPE
    for part in ("image_encoder", "text_encoder"):
        elsewhere = tmp_path / part / "encoder"
        elsewhere.parent.mkdir()
        shutil.move(recipe.parent / part, elsewhere)
        text = text.replace(f'"{part}"', f'"{elsewhere}"')
    recipe.write_text(text)
    bundle = carry_out(make_plan(read_recipe(recipe)), tmp_path / "bundle").bundle
    sources = bundle.manifest.provenance["sources"]
    weights = [tmp_path / part / "encoder" / "model.safetensors" for part in ("image_encoder", "text_encoder")]
    assert {sources["encoder/model.safetensors"], sources["text_encoder/encoder/model.safetensors"]} == {
        sha256(path.read_bytes()).hexdigest() for path in weights
    }


def test_a_pooling_that_was_changed_meanwhile_is_not_that_of_the_finished_step(recipe: Path, tmp_path: Path) -> None:
    pooling = recipe.parent / "text_encoder" / "1_Pooling" / "config.json"
    pooling.parent.mkdir()
    for mode in ("mean", "cls"):
        pooling.write_text(json.dumps({f"pooling_mode_{mode}_{'tokens' if mode == 'mean' else 'token'}": True}))
        plan = make_plan(read_recipe(recipe))
        bundle = carry_out(plan, tmp_path / "bundle", replace=True, work=tmp_path / "work").bundle
        part = bundle.roles.text_encoder
        assert part is not None
        assert part.pooling == mode
        digest = bundle.manifest.provenance["sources"]["text_encoder/1_Pooling/config.json"]
        assert digest == sha256(pooling.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    "changed", ["BUNDLE/inputs/vision_inputs.py", "SERVER/roles/tagger.py", "SERVER/engines/onnx/session.py"]
)
def test_a_step_depends_on_the_code_that_feeds_and_runs_its_model(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, _, file = changed.partition("/")
    code = tmp_path / package
    shutil.copytree(getattr(code_digest, package), code)
    monkeypatch.setattr(code_digest, package, code)
    before = role_steps.code()
    (code / file).write_text((code / file).read_text() + "\n# changed\n")
    assert role_steps.code() != before


KILLED = """
import os, signal, sys
from quizglass_export import cli
from quizglass_export.roles import text_encoder

def killed(model, path):
    path.write_bytes(b"half a model")
    os.kill(os.getpid(), signal.SIGKILL)

text_encoder.write_text_encoder = killed
cli.main(sys.argv[1:])
"""


def test_a_killed_build_leaves_no_bundle_and_the_next_one_goes_on(recipe: Path, tmp_path: Path) -> None:
    out = tmp_path / "out" / "bundle"
    arguments = ("build", "--recipe", str(recipe), "--out", str(out))
    done = subprocess.run([sys.executable, "-c", KILLED, *arguments], env=ENVIRONMENT, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert inside(out.parent) == ["bundle.work"]
    half = out.parent / "bundle.work" / ".text_encoder.new" / "text_encoder" / "model.onnx"
    assert half.read_bytes() == b"half a model"
    made = (out.parent / "bundle.work" / "image_encoder" / "image_encoder" / "model.onnx").stat().st_ino
    assert run(*arguments) == 0
    bundle = Bundle.load(out)
    assert bundle.path(bundle.roles.image_encoder.model).stat().st_ino == made
    assert inside(out.parent) == ["bundle", "bundle.report.json", "bundle.report.md"]


SWAPPED = """
import os, signal, sys
from pathlib import Path
from quizglass_export.directory import fresh_directory

out, when = Path(sys.argv[1]), sys.argv[2]
rename = Path.rename

def killed(self, target):
    if when == "swap":
        rename(self, target)
    os.kill(os.getpid(), signal.SIGKILL)

Path.rename = killed
with fresh_directory(out) as folder:
    (folder / "half").touch()
"""


@pytest.mark.parametrize("when", ["before", "swap"])
def test_what_a_killed_replacement_left_is_cleared_and_the_old_bundle_given_back(tmp_path: Path, when: str) -> None:
    out = tmp_path / "bundle"
    out.mkdir()
    (out / "old").touch()
    command = [sys.executable, "-c", SWAPPED, str(out), when]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert out.exists() == (when == "before")
    with fresh_directory(out) as folder:
        assert inside(out) == ["old"]
        (folder / "whole").touch()
    assert inside(tmp_path) == ["bundle"]
    assert inside(out) == ["whole"]


def test_what_a_killed_replacement_of_another_bundle_left_is_not_taken(tmp_path: Path) -> None:
    other = tmp_path / "bundle.2"
    other.mkdir()
    (other / "old").touch()
    done = subprocess.run([sys.executable, "-c", SWAPPED, str(other), "swap"], check=False)
    assert done.returncode == -signal.SIGKILL
    with fresh_directory(tmp_path / "bundle") as folder:
        (folder / "whole").touch()
    assert inside(tmp_path / "bundle") == ["whole"]
    with fresh_directory(other):
        assert inside(other) == ["old"]


def test_directories_of_a_build_under_way_are_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    with fresh_directory(out) as first:
        (first / "model").touch()
        with fresh_directory(out) as second:
            (second / "other").touch()
        assert inside(first) == ["model"]
    assert inside(out) == ["model"]
    assert inside(tmp_path) == ["bundle"]


@pytest.fixture
def little_room(recipe: Path) -> Iterator[Path]:
    """A recipe where no file may grow beyond 40 kB: less than either model, more than what else is written."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, before[1]))
    yield recipe
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_fills_up_is_an_error_that_leaves_nothing(
    little_room: Path, tmp_path: Path, capsys: Output
) -> None:
    out = tmp_path / "out" / "bundle"
    assert run("build", "--recipe", little_room, "--out", out) == 2
    assert "bundle.work: no room for roles.image_encoder (File too large); free some" in capsys.readouterr().err
    assert not out.exists()
    assert not [path for path in out.parent.rglob("*") if path.suffix in (".onnx", ".data")]


def test_without_parity_nothing_is_written_and_an_old_bundle_stays(
    recipe: Path, tmp_path: Path, capsys: Output
) -> None:
    out = tmp_path / "bundle"
    out.mkdir()
    (out / "manifest.json").write_text("old")
    shutil.rmtree(recipe.parent / "image_encoder")
    image_model(recipe.parent / "image_encoder", "clip_vision_model", hidden_size=64, intermediate_size=128)
    recipe.write_text(RECIPE.replace('checkpoint = "image_encoder"', PICKY))
    assert run("build", "--recipe", recipe, "--out", out, "--replace") == 2
    assert "no bundle written:\n  image_encoder: smallest cosine is" in capsys.readouterr().err
    assert (out / "manifest.json").read_text() == "old"


def test_a_report_says_where_a_precision_changed_nothing(recipe: Path, tmp_path: Path) -> None:
    recipe.write_text(RECIPE.replace('checkpoint = "image_encoder"', SMALL))
    assert run("build", "--recipe", recipe, "--out", tmp_path / "bundle") == 0
    report = (tmp_path / "bundle.report.md").read_text()
    assert "| image_encoder | int4-weights: no product is large enough |" in report
    assert "| text_encoder | fp32 |" in report


SMALL = 'checkpoint = "image_encoder"\nprecision = "int4-weights"'
PICKY = 'checkpoint = "image_encoder"\nprecision = "int4-weights"\naccept = { cosine = 1 }'
"""More than four bits can do, where products are large enough to be stored so."""


def test_a_checkpoint_of_another_architecture_is_refused(recipe: Path, tmp_path: Path, capsys: Output) -> None:
    recipe.write_text(RECIPE.replace('checkpoint = "image_encoder"', 'checkpoint = "text_encoder"'))
    assert run("build", "--recipe", recipe, "--out", tmp_path / "b") == 2
    error = capsys.readouterr().err
    assert "text_encoder/config.json: model_type is 'bert'; image_encoder can be clip, clip_vision_model" in error
    assert not (tmp_path / "b").exists()
