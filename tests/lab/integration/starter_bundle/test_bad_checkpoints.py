"""What is wrong with a checkpoint: named by file and key, before anything is left behind."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("optimum")

from safetensors.torch import load_file, save_file  # noqa: E402

from quizglass_export.errors import ExportError  # noqa: E402
from quizglass_lab.starter_bundle.layout import BuildOptions, build  # noqa: E402
from quizglass_lab.starter_bundle.pack import pack  # noqa: E402


@pytest.fixture
def damaged(checkpoints: Path, tmp_path: Path) -> Iterator[Path]:
    """Checkpoints to damage."""
    out = tmp_path / "checkpoints"
    shutil.copytree(checkpoints, out)
    yield out
    shutil.rmtree(out)


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
    damaged: Path, tmp_path: Path, damage: Callable[[Path], None], message: str
) -> None:
    damage(damaged)
    with pytest.raises(ExportError, match=message):
        build(BuildOptions(damaged, tmp_path / "out" / "bundle", source="random", samples=4, generated=1))
    assert not list((tmp_path / "out").glob("**/*"))


def test_values_beyond_half_precision_are_not_packed(damaged: Path, tmp_path: Path) -> None:
    path = damaged / "text_encoder" / "model.safetensors"
    weights = {key: tensor.float() for key, tensor in load_file(path).items()}
    key = sorted(weights)[0]
    weights[key].view(-1)[0] = 1e6
    save_file(weights, path, metadata={"format": "pt"})
    with pytest.raises(ExportError, match=rf"text_encoder/model\.safetensors: {key} has values beyond float16"):
        pack(damaged, tmp_path / "packed")
    assert not (tmp_path / "packed").exists()


@pytest.mark.parametrize(
    ("dtype", "message"),
    [
        (torch.float8_e4m3fn, r"base/model\.safetensors: \S+ is stored as torch\.float8_e4m3fn; save it as"),
        (torch.int8, r"base: weights do not fit config\.json"),
    ],
)
def test_weights_of_a_type_that_no_export_reads_are_refused(
    damaged: Path, tmp_path: Path, dtype: torch.dtype, message: str
) -> None:
    path = damaged / "base" / "model.safetensors"
    weights = {key: tensor.to(dtype) if tensor.ndim == 2 else tensor for key, tensor in load_file(path).items()}
    save_file(weights, path, metadata={"format": "pt"})
    with pytest.raises(ExportError, match=message):
        build(BuildOptions(damaged, tmp_path / "bundle", source="random", samples=4, generated=1))
