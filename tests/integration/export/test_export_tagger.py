"""Taggers: classifiers exported with their labels and compared with transformers, and ready-made files."""

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import onnx
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("optimum")

from bench.export.parity import plan_role  # noqa: E402
from quizglass_export.cli import main  # noqa: E402
from quizglass_export.errors import ExportError  # noqa: E402
from quizglass_export.everyday import imagenet_labels  # noqa: E402
from quizglass_export.everyday.weights import LABELS  # noqa: E402
from quizglass_export.roles.image_encoder import CONVOLUTIONAL  # noqa: E402
from tests.support.bundles.exported_bundle import exported_role  # noqa: E402
from tests.support.bundles.tiny_checkpoints import convolutional  # noqa: E402


@pytest.mark.parametrize("kind", CONVOLUTIONAL)
def test_classifiers_equal_transformers_and_bring_their_labels(tmp_path: Path, kind: str) -> None:
    spec = {"checkpoint": convolutional(tmp_path / "checkpoint", kind), "least": 0.3, "most": 2}
    part, checks = exported_role(tmp_path, "tagger", spec, 8)
    assert (part.picture.width, part.picture.mean, part.least, part.most) == (64, (0.5, 0.4, 0.3), 0.3, 2)
    assert (tmp_path / "files" / part.labels).read_text() == "tench\nkoala\ntower\n"
    assert [check.measure.partition(",")[0] for check in checks] == [
        "largest difference of logits",
        "largest difference of logits",
        "equal labels",
    ]
    assert all(check.passed for check in checks), checks


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}, r"config\.json: id2label names no labels"),
        ({"0": "tench", "1": "", "2": "tower"}, r"config\.json: id2label: label 2 is empty"),
        ({"0": "tench", "1": "koala", "2": "t" * 99}, r"config\.json: id2label: label 3 has 99 characters"),
    ],
)
def test_a_checkpoint_without_usable_labels_is_refused_before_the_export(
    tmp_path: Path, labels: dict[str, str], message: str
) -> None:
    checkpoint = convolutional(tmp_path / "checkpoint", "resnet")
    config = json.loads((checkpoint / "config.json").read_text()) | {"id2label": labels}
    (checkpoint / "config.json").write_text(json.dumps(config))
    with pytest.raises(ExportError, match=message):
        plan_role(tmp_path, "tagger", {"checkpoint": checkpoint}, {})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder with a checkpoint and the classifier exported from it, and the recipe that takes the latter in."""
    folder, work = tmp_path_factory.mktemp("made"), tmp_path_factory.mktemp("work")
    checkpoint = convolutional(folder / "checkpoint", "mobilenet_v2")
    exported, _ = exported_role(work, "tagger", {"checkpoint": checkpoint}, 4)
    for name, source in (("theirs.onnx", exported.model), ("labels.txt", exported.labels)):
        (folder / name).write_bytes((work / "files" / source).read_bytes())
    return folder, {"model": "theirs.onnx", "labels": "labels.txt", "picture": exported.picture.model_dump()}


@pytest.fixture
def theirs(tmp_path: Path, made: tuple[Path, dict[str, Any]]) -> dict[str, Any]:
    """The recipe of a classifier as if ready-made, whose files are the test's own."""
    folder, recipe = made
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return recipe


def test_a_ready_made_tagger_is_taken_in_as_it_is(tmp_path: Path, theirs: dict[str, Any]) -> None:
    spec = theirs | {"sha256": sha256((tmp_path / "theirs.onnx").read_bytes()).hexdigest(), "least": 0.2}
    part, checks = exported_role(tmp_path, "tagger", spec, 4)
    assert (part.kind, part.least, part.most) == ("image-classifier", 0.2, 3)
    assert (tmp_path / "files" / part.model).read_bytes() == (tmp_path / "theirs.onnx").read_bytes()
    assert [check.measure for check in checks] == ["largest difference of logits, batches beside one at a time"]
    _, checks = exported_role(tmp_path, "tagger", spec | {"checkpoint": "checkpoint"}, 4)
    assert [check.measure for check in checks][1:] == ["largest difference of logits", "equal labels"]
    assert all(check.passed for check in checks), checks


def test_probabilities_are_compared_with_those_of_the_checkpoint(tmp_path: Path, theirs: dict[str, Any]) -> None:
    model = onnx.load(str(tmp_path / "theirs.onnx"))
    model.graph.node.append(onnx.helper.make_node("Softmax", ["logits"], ["probabilities"], axis=1))
    model.graph.output[0].name = "probabilities"
    onnx.save(model, str(tmp_path / "softmax.onnx"))
    spec = theirs | {"model": "softmax.onnx", "output": "probabilities", "checkpoint": "checkpoint"}
    part, checks = exported_role(tmp_path, "tagger", spec, 4)
    assert part.output == "probabilities"
    assert len(checks) == 3
    assert all(check.passed for check in checks), checks
    model.graph.node[-1].op_type = "Neg"
    del model.graph.node[-1].attribute[:]
    onnx.save(model, str(tmp_path / "softmax.onnx"))
    with pytest.raises(ExportError, match=r"softmax\.onnx: gives probabilities outside 0 to 1"):
        plan_role(tmp_path, "tagger", spec, {})


@pytest.mark.parametrize(
    ("labels", "change", "message"),
    [
        (b"tench\nkoala\n", {}, r"labels\.txt: 2 labels, and .*theirs\.onnx gives \[1, 3\] for one picture"),
        (b"tench\n\nkoala\n", {}, r"labels\.txt: label 2 is empty"),
        (b"tench\nkoala\n\xff\n", {}, r"labels\.txt: cannot be read"),
        (b"tench\nkoala\ntower\n", {"labels": "no.txt"}, r"no\.txt: missing; roles\.tagger\.labels must name a file"),
        (b"tench\nkoala\ntower\n", {"sha256": "0" * 64}, r"SHA-256 is .*, the recipe says 0000"),
        (b"tench\nkoala\ntower\n", {"output": "probabilities"}, r"outputs are logits; probabilities is not among them"),
    ],
)
def test_a_ready_made_tagger_that_does_not_fit_is_refused(
    tmp_path: Path, theirs: dict[str, Any], labels: bytes, change: dict[str, Any], message: str
) -> None:
    (tmp_path / "labels.txt").write_bytes(labels)
    with pytest.raises(ExportError, match=message):
        plan_role(tmp_path, "tagger", theirs | change, {})


def test_a_bundle_with_a_tagger_is_built_verified_and_inspected(
    tmp_path: Path, theirs: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    picture = "{ width = 64, height = 64, mean = [0.5, 0.4, 0.3], std = [0.2, 0.3, 0.4] }"
    lines = ["format = 1", 'name = "tags"', 'version = "1"', "[samples]", 'source = "random"', "count = 2"]
    lines += ["[roles.tagger]", 'model = "theirs.onnx"', 'labels = "labels.txt"', f"picture = {picture}"]
    (tmp_path / "bundle.toml").write_text("\n".join(lines))
    assert main(["build", "--recipe", str(tmp_path / "bundle.toml"), "--out", str(tmp_path / "bundle")]) == 0
    assert main(["verify", str(tmp_path / "bundle")]) == 0
    capsys.readouterr()
    assert main(["inspect", str(tmp_path / "bundle"), "--json"]) == 0
    role = json.loads(capsys.readouterr().out)["roles"]["tagger"]
    sources = json.loads((tmp_path / "bundle" / "manifest.json").read_text())["provenance"]["sources"]
    assert sources == {"theirs.onnx": sha256((tmp_path / "theirs.onnx").read_bytes()).hexdigest()}
    assert (role["kind"], role["files"]) == ("image-classifier", ["tagger/labels.txt", "tagger/model.onnx"])
    (tmp_path / "labels.txt").write_text("tench\nkoala\nbridge\n")
    again = ["build", "--recipe", str(tmp_path / "bundle.toml"), "--out", str(tmp_path / "bundle"), "--replace"]
    assert main(again) == 0
    assert "bridge" in (tmp_path / "bundle" / "tagger" / "labels.txt").read_text()


def test_imagenets_labels_are_the_first_names_in_the_order_of_the_classes(tmp_path: Path) -> None:
    folder = tmp_path / LABELS.folder
    folder.mkdir()
    (folder / "imagenet_synsets.txt").write_text("n02\nn01\n")
    (folder / "imagenet_synset_to_lemma.txt").write_text("n01\ttench, Tinca tinca\nn02\tkoala, koala bear\nn03\tx\n")
    assert imagenet_labels.write_labels(tmp_path, tmp_path / "labels.txt") == 2
    assert (tmp_path / "labels.txt").read_text() == "koala\ntench\n"
    (folder / "imagenet_synsets.txt").write_text("n02\nn04\n")
    with pytest.raises(ExportError, match=r"has no name for a class"):
        imagenet_labels.write_labels(tmp_path, tmp_path / "labels.txt")
