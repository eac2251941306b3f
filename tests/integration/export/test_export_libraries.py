"""Picture models of timm and torchvision, which are not installed here: stand-ins with the calls that are made."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("optimum")

from safetensors.torch import save_file  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from bench.export.parity import plan_role  # noqa: E402
from quizglass_export.assembly.estimate import estimate  # noqa: E402
from quizglass_export.checkpoints import libraries  # noqa: E402
from quizglass_export.errors import ExportError  # noqa: E402
from quizglass_export.parity import session  # noqa: E402
from tests.support.bundles.exported_bundle import exported_role  # noqa: E402

PICTURE = {"width": 64, "height": 48, "mean": [0.5, 0.4, 0.3], "std": [0.2, 0.3, 0.4]}


class Net(nn.Module):
    """A network of either library's form: features, and a head of several layers."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.classifier = nn.Sequential(nn.Linear(8, 12), nn.Hardswish(), nn.Linear(12, classes))

    def forward(self, pixels: Tensor) -> Tensor:
        vectors: Tensor = self.classifier(self.features(pixels).flatten(1))
        return vectors


class Timm(nn.Module):
    """timm's: without classes it has no head, and says what the head is called."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.pretrained_cfg = {"classifier": "head.fc", "mean": (0.5, 0.4, 0.3)}
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.head = nn.ModuleDict({"fc": nn.Linear(8, classes)}) if classes else nn.ModuleDict()

    def forward(self, pixels: Tensor) -> Tensor:
        features: Tensor = self.stem(pixels)
        return self.head["fc"](features.flatten(1)) if len(self.head) else features


def create_model(name: str, pretrained: bool, num_classes: int) -> nn.Module:
    assert not pretrained
    if name != "tinynet":
        raise RuntimeError(f"Unknown model ({name})")
    return Timm(num_classes)


def get_model(name: str, weights: Any, num_classes: int) -> nn.Module:
    assert weights is None
    if name != "tinynet":
        raise ValueError(f"Unknown model {name}")
    return Net(num_classes)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both libraries, as far as they are called."""
    made = {
        "timm": SimpleNamespace(create_model=create_model),
        "torchvision.models": SimpleNamespace(get_model=get_model),
    }
    monkeypatch.setattr(libraries, "import_module", made.__getitem__)


def spec(library: str, weights: Path, **more: Any) -> dict[str, Any]:
    return {"library": library, "architecture": "tinynet", "weights": weights, "picture": PICTURE, **more}


@pytest.mark.usefixtures("installed")
def test_timm_models_give_the_features_before_their_classifier(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Timm(5).eval()
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    part, checks = exported_role(tmp_path, "image_encoder", spec("timm", tmp_path / "model.safetensors"), 10)
    assert (part.dimension, part.picture.width, part.picture.height, part.picture.mean) == (8, 64, 48, (0.5, 0.4, 0.3))
    assert all(check.passed for check in checks), checks
    pixels = torch.rand(2, 3, 48, 64)
    (vectors,) = session(tmp_path / "files" / part.model).run(None, {"pixel_values": pixels.numpy()})
    assert torch.allclose(torch.from_numpy(vectors), model.stem(pixels).flatten(1), atol=1e-5)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("wrapped", [True, False])
def test_torchvision_models_lose_their_last_linear_layer(tmp_path: Path, wrapped: bool) -> None:
    torch.manual_seed(0)
    model, weights = Net(7).eval(), tmp_path / "model.pth"
    state = {key: each for key, each in model.state_dict().items() if not key.endswith("num_batches_tracked")}
    torch.save({"state_dict": state, "epoch": 3} if wrapped else state, weights)
    assert estimate(plan_role(tmp_path, "image_encoder", spec("torchvision", weights), {}))[0].parameters > 100
    part, checks = exported_role(tmp_path, "image_encoder", spec("torchvision", weights), 10)
    assert part.dimension == 12
    assert all(check.passed for check in checks), checks
    pixels = torch.rand(2, 3, 48, 64)
    (vectors,) = session(tmp_path / "files" / part.model).run(None, {"pixel_values": pixels.numpy()})
    expected = model.classifier[:2](model.features(pixels).flatten(1))
    assert torch.allclose(torch.from_numpy(vectors), expected, atol=1e-5)


@pytest.mark.usefixtures("installed")
def test_a_number_that_is_none_is_named_in_either_form(tmp_path: Path) -> None:
    bad = {**Net(7).state_dict(), "features.0.bias": torch.full((8,), float("nan"))}
    for name, save in (("model.safetensors", save_file), ("model.pth", torch.save)):
        save(bad, tmp_path / name)
        with pytest.raises(ExportError, match=rf"{name}: features\.0\.bias holds NaN or infinity; train again"):
            exported_role(tmp_path, "image_encoder", spec("torchvision", tmp_path / name), 2)


@pytest.mark.usefixtures("installed")
def test_weights_that_are_not_the_models_are_refused(tmp_path: Path) -> None:
    weights, state = tmp_path / "model.pth", Net(7).state_dict()
    less = {key: each for key, each in state.items() if key != "features.0.bias"}
    narrow = {**state, "features.0.weight": torch.zeros(4, 3, 3, 3)}
    for content, message in (
        (less, r"features\.0\.bias is missing \(1 keys\)"),
        ({**state, "extra.weight": torch.zeros(1)}, r"has extra\.weight besides \(1 keys\); these are no weights of"),
        (narrow, r"features\.0\.weight is \[4, 3, 3, 3\], not \[8, 3, 3, 3\]"),
        ({"features.0.bias": state["features.0.bias"]}, r"no weights of a classifier, named fc, classifier"),
        ([1, 2], "not a state dict"),
        (Net(7), "cannot be read as weights"),  # a whole module is code
    ):
        torch.save(content, weights)
        with pytest.raises(ExportError, match=message):
            exported_role(tmp_path, "image_encoder", spec("torchvision", weights), 2)
    with pytest.raises(ExportError, match=r"timm has no model 'other' of this kind: Unknown model"):
        exported_role(tmp_path, "image_encoder", spec("timm", _saved(tmp_path), architecture="other"), 2)
    with pytest.raises(ExportError, match=r"none\.pth: missing; roles\.image_encoder\.weights must name a state dict"):
        exported_role(tmp_path, "image_encoder", spec("timm", tmp_path / "none.pth"), 2)


def test_a_library_that_cannot_be_imported_is_named_with_the_other_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ExportError, match=r"timm cannot be imported: .*write the model as ONNX"):
        exported_role(tmp_path, "image_encoder", spec("timm", _saved(tmp_path)), 2)


def test_any_module_comes_in_as_onnx_that_its_library_wrote(tmp_path: Path) -> None:
    """The command of docs/bundles.md, for a model of any library."""
    torch.manual_seed(0)
    model = Timm(0).eval()
    file = tmp_path / "encoder.onnx"
    torch.onnx.export(
        nn.Sequential(model, nn.Flatten()),
        (torch.zeros(2, 3, 48, 64),),
        str(file),
        input_names=["pixel_values"],
        output_names=["image_embeds"],
        dynamic_axes={"pixel_values": {0: "batch"}, "image_embeds": {0: "batch"}},
        dynamo=False,
    )
    part, checks = exported_role(tmp_path, "image_encoder", {"model": file, "picture": PICTURE, "dimension": 8}, 4)
    assert all(check.passed for check in checks), checks
    pixels = torch.rand(3, 3, 48, 64)
    (vectors,) = session(tmp_path / "files" / part.model).run(None, {"pixel_values": pixels.numpy()})
    assert torch.allclose(torch.from_numpy(vectors), model(pixels).flatten(1), atol=1e-5)


def _saved(folder: Path) -> Path:
    save_file(Timm(5).state_dict(), folder / "saved.safetensors")
    return folder / "saved.safetensors"
