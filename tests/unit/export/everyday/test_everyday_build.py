"""When the everyday bundle is built anew; nothing is built here."""

import shutil
from pathlib import Path

import pytest

from quizglass_export import code_digest
from quizglass_export.everyday import build


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the bundle is made by, copied elsewhere."""
    copied = tmp_path / "elsewhere" / "quizglass_export"
    shutil.copytree(build.EXPORT / "everyday", copied / "everyday")
    for name in ("onnx", "roles"):
        shutil.copytree(build.EXPORT / name, copied / name)
    shutil.copy(build.EXPORT / "parity.py", copied)
    for name in ("roles",):
        shutil.copytree(code_digest.SERVER / name, copied.with_name("quizglass_server") / name)
    shutil.copytree(code_digest.BUNDLE, copied.with_name("quizglass_bundle"))
    monkeypatch.setattr(build, "EXPORT", copied)
    monkeypatch.setattr(code_digest, "BUNDLE", copied.with_name("quizglass_bundle"))
    monkeypatch.setattr(code_digest, "SERVER", copied.with_name("quizglass_server"))
    monkeypatch.setattr(build, "RECIPE", copied / "everyday" / "bundle.toml")
    monkeypatch.setattr(build, "PROMPTS", copied / "everyday" / "prompts")
    return copied


def adapters(folder: Path) -> Path:
    """A planner's adapter in a folder."""
    (folder / "planner").mkdir(parents=True)
    (folder / "planner" / "adapter_config.json").write_text("{}")
    return folder


def test_a_bundle_is_not_taken_for_the_one_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build is stopped between the new bundle and the note of its sources, and its sources are put back."""
    for prepared in ("fetch_everything", "write_merged", "write_encoder", "write_classifier", "write_labels"):
        monkeypatch.setattr(build, prepared, lambda *_, **__: None)
    made: list[str] = []

    def built(of: str, *, stopped: bool = False) -> None:
        def run(recipe: Path, out: Path) -> None:
            out.mkdir(exist_ok=True)
            (out / "manifest.json").write_text(of)
            made.append(of)
            if stopped:
                raise KeyboardInterrupt

        monkeypatch.setattr(build, "_run_build", run)
        monkeypatch.setattr(build, "_key", lambda adapters: {"code": of})
        build.build_bundle(tmp_path, adapters=tmp_path / "none")

    built("old")
    with pytest.raises(KeyboardInterrupt):
        built("new", stopped=True)
    built("old")
    assert made == ["old", "new", "old"]
    assert (tmp_path / build.BUNDLE / "manifest.json").read_text() == "old"


def test_a_bundle_is_the_same_wherever_its_sources_lie(package: Path, tmp_path: Path) -> None:
    key = build._key(adapters(tmp_path / "one"))
    assert key == build._key(adapters(tmp_path / "two"))
    assert not any(str(tmp_path) in name for name in key)
    moved = package.rename(package.with_name("moved"))
    build.EXPORT, build.RECIPE, build.PROMPTS = moved, moved / "everyday/bundle.toml", moved / "everyday/prompts"
    assert key == build._key(tmp_path / "one")


@pytest.mark.parametrize(
    "changed",
    [
        *(
            "everyday/bundle.toml",
            "everyday/prompts/taught/plan.jinja",
            "onnx/file.py",
            "parity.py",
        ),
        *("../quizglass_bundle/inputs/vision_inputs.py", "../quizglass_server/roles/tagger.py"),
    ],
)
def test_what_it_is_made_of_or_by_makes_another_one(changed: str, package: Path, tmp_path: Path) -> None:
    folder = adapters(tmp_path / "adapters")
    before = build._key(folder)
    (package / changed).write_text((package / changed).read_text() + "\n# changed\n")
    assert build._key(folder) != before
    (folder / "planner" / "adapter_model.safetensors").write_bytes(b"trained further")
    assert build._key(folder)["planner adapter"] != before["planner adapter"]
