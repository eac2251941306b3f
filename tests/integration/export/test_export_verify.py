"""`verify` and `add-role` of a bundle that a recipe became: both need its checkpoints."""

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import numpy_helper

pytest.importorskip("torch")
pytest.importorskip("optimum")

from quizglass_export.assembly import role_steps
from tests.support.bundles.small_build import RECIPE, run, write_recipe

Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with `bundle.toml` and the bundle made of it."""
    recipe = write_recipe(tmp_path_factory.mktemp("built"))
    assert run("build", "--recipe", recipe, "--out", recipe.parent / "bundle") == 0
    return recipe.parent


def turn_a_weight(bundle: Path, name: str) -> None:
    """Change what a model computes, and list its new hash: the bundle is whole, the model another one."""
    model = onnx.load(str(bundle / name))
    largest = max((each for each in model.graph.initializer), key=lambda each: len(each.raw_data))
    largest.CopyFrom(numpy_helper.from_array(-numpy_helper.to_array(largest), largest.name))
    onnx.save(model, str(bundle / name))
    list_anew(bundle, name)


def list_anew(bundle: Path, name: str) -> None:
    """Let the manifest say what a file has become."""
    manifest = json.loads((bundle / "manifest.json").read_text())
    content = (bundle / name).read_bytes()
    manifest["files"][name] = {"sha256": sha256(content).hexdigest(), "bytes": len(content)}
    (bundle / "manifest.json").write_text(json.dumps(manifest))


def verified(capsys: Output, *arguments: str | Path) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    status = run("verify", *arguments, "--json")
    printed = capsys.readouterr()
    assert "done" in printed.err, "how far it is goes to standard error"
    return status, json.loads(printed.out)


def test_a_bundle_still_equals_the_checkpoints_of_its_recipe(built: Path, capsys: Output) -> None:
    status, found = verified(capsys, built / "bundle", "--recipe", built / "bundle.toml")
    assert (status, found["passed"]) == (0, True)
    assert {each["role"] for each in found["checks"]} == {"image_encoder", "text_encoder"}


def test_a_model_that_differs_from_its_checkpoint_fails_and_is_named(
    built: Path, tmp_path: Path, capsys: Output
) -> None:
    shutil.copytree(built / "bundle", tmp_path / "bundle")
    turn_a_weight(tmp_path / "bundle", "text_encoder/model.onnx")
    assert run("verify", tmp_path / "bundle") == 0, "the hashes alone hold"
    status, found = verified(capsys, tmp_path / "bundle", "--recipe", built / "bundle.toml")
    assert (status, found["passed"]) == (2, False)
    assert {each["role"]: each["passed"] for each in found["checks"]} == {"image_encoder": True, "text_encoder": False}
    assert run("verify", tmp_path / "bundle", "--recipe", built / "bundle.toml") == 2
    assert "NO" in capsys.readouterr().out


def test_another_tokenizer_than_the_one_that_models_are_compared_with_fails(
    built: Path, tmp_path: Path, capsys: Output
) -> None:
    shutil.copytree(built / "bundle", tmp_path / "bundle")
    name = json.loads((tmp_path / "bundle" / "manifest.json").read_text())["roles"]["text_encoder"]["tokenizer"]
    content = json.loads((tmp_path / "bundle" / name).read_text())
    words = content["model"]["vocab"]
    one, other, *_ = (word for word in sorted(words) if word.isalpha())
    words[one], words[other] = words[other], words[one]
    (tmp_path / "bundle" / name).write_text(json.dumps(content))
    list_anew(tmp_path / "bundle", name)
    status, found = verified(capsys, tmp_path / "bundle", "--recipe", built / "bundle.toml")
    assert (status, found["passed"]) == (2, False)
    wrong = [(each["role"], each["measure"]) for each in found["checks"] if not each["passed"]]
    assert wrong == [("text_encoder", "the source's own tokenizer")]


def test_inspect_names_files_that_were_exchanged_since_they_were_compared(
    built: Path, tmp_path: Path, capsys: Output
) -> None:
    def parity(bundle: Path) -> dict[str, Any]:
        capsys.readouterr()
        assert run("inspect", bundle, "--json") == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)["parity"]
        return found

    made = tmp_path / "bundle"
    shutil.copytree(built / "bundle", made)
    assert {key: parity(made)[key] for key in ("hashes", "exchanged", "uncompared")} == {
        "hashes": True,
        "exchanged": [],
        "uncompared": [],
    }
    turn_a_weight(made, "text_encoder/model.onnx")
    assert parity(made)["exchanged"] == ["text_encoder/model.onnx"]
    assert run("inspect", made) == 0
    assert "exchanged since: text_encoder/model.onnx" in capsys.readouterr().out
    assert run("repack", made, "--out", tmp_path / "again", "--drop", "image_encoder") == 0
    assert parity(tmp_path / "again")["exchanged"] == ["text_encoder/model.onnx"]
    turn_a_weight(made, "text_encoder/model.onnx")
    assert parity(made)["exchanged"] == []


def test_a_role_that_the_bundle_lacks_is_an_error(built: Path, tmp_path: Path, capsys: Output) -> None:
    made = tmp_path / "small"
    assert run("repack", built / "bundle", "--out", made, "--drop", "text_encoder") == 0
    assert run("verify", made, "--recipe", built / "bundle.toml") == 2
    assert "roles.text_encoder: in the recipe, but not in" in capsys.readouterr().err


def test_a_role_is_exported_and_added(built: Path, tmp_path: Path, capsys: Output) -> None:
    base, made = tmp_path / "base", tmp_path / "made"
    assert run("repack", built / "bundle", "--out", base, "--drop", "text_encoder", "--drop", "reader") == 0
    recipe = write_text_recipe(built)
    capsys.readouterr()
    assert run("add-role", base, "--recipe", recipe, "--out", made, "--json") == 0
    assert json.loads(capsys.readouterr().out)["roles"] == ["image_encoder", "text_encoder"]
    assert run("verify", made, "--recipe", recipe) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base", "made"]


@pytest.mark.parametrize(
    ("drop", "out", "message"),
    [
        ("image_encoder", "made", r"roles.text_encoder: already in "),
        ("text_encoder", "base", "base: already exists; choose another directory, or pass --replace"),
    ],
)
def test_what_cannot_be_added_is_refused_before_anything_is_exported(
    built: Path, tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch, drop: str, out: str, message: str
) -> None:
    def exported(*_: object) -> None:
        raise AssertionError("nothing may be exported")

    assert run("repack", built / "bundle", "--out", tmp_path / "base", "--drop", drop) == 0
    monkeypatch.setattr(role_steps.RoleSteps, "all", exported)
    arguments = ("--recipe", write_text_recipe(built), "--out", tmp_path / out)
    assert run("add-role", tmp_path / "base", *arguments) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["base"]


def write_text_recipe(built: Path) -> Path:
    """A recipe with the text encoder alone."""
    recipe = built / "text.toml"
    recipe.write_text(
        RECIPE.replace('[roles.image_encoder]\ncheckpoint = "image_encoder"\n', "").replace(
            "[roles.reader]\ngate = 0.3\n", ""
        )
    )
    return recipe
