"""Checkpoints written shard by shard equal those that were loaded whole."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

from safetensors.torch import load_file, save_file  # noqa: E402

from quizglass_bundle.fields import Patched  # noqa: E402
from quizglass_bundle.inputs.vision_inputs import patch_grid  # noqa: E402
from quizglass_export.bundles.onnx_graph import read_onnx, summarise  # noqa: E402
from quizglass_export.checkpoints.merge import merge_adapters  # noqa: E402
from quizglass_export.checkpoints.merged import MergedWeights  # noqa: E402
from quizglass_export.checkpoints.shards import Shards  # noqa: E402
from quizglass_export.checkpoints.source import Source  # noqa: E402
from quizglass_export.checkpoints.streamed_graph import write_streamed  # noqa: E402
from quizglass_export.errors import ExportError  # noqa: E402
from quizglass_export.graphs.qwen_vl import VISION_CLASSES, vision_scorer  # noqa: E402
from quizglass_export.onnx.accept import apply_precision  # noqa: E402
from quizglass_export.onnx.scorer_inputs import scorer_batch  # noqa: E402
from quizglass_export.parity import session  # noqa: E402
from quizglass_export.roles.shared.scorers import VISION_AXES  # noqa: E402
from tests.support.bundles.tiny_vision_scorers import IMAGE, LABELS, made, pictured  # noqa: E402

PICTURE = Patched(width=56, height=56, mean=(0.5,) * 3, std=(0.5,) * 3, patch=14, merge=2, temporal=2)


def checkpoint(folder: Path, kind: str) -> Source:
    """A checkpoint in several shards, in bfloat16."""
    model = made(kind).to(torch.bfloat16)
    model.save_pretrained(folder, max_shard_size="20KB")
    assert len(list(folder.glob("*.safetensors"))) > 2
    return Source(folder)


def adapted(source: Source, kind: str, folder: Path, **options: Any) -> Path:
    torch.manual_seed(9)
    model = getattr(transformers, VISION_CLASSES[kind]).from_pretrained(source.folder, dtype=torch.float32)
    config = peft.LoraConfig(r=3, lora_alpha=6, **{"init_lora_weights": False, **options})
    adapter = peft.get_peft_model(model, config)
    with torch.no_grad():
        for name, parameter in adapter.named_parameters():
            if "modules_to_save" in name:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    adapter.save_pretrained(str(folder))
    return folder


def inputs() -> dict[str, np.ndarray]:
    prompts = [pictured(PICTURE, seed, 3 + 2 * seed) for seed in range(3)]
    return scorer_batch([ids for ids, _ in prompts], IMAGE, PICTURE, [pixels for _, pixels in prompts])


def written(source: Source, kind: str, path: Path, inline: int = 1 << 30) -> np.ndarray:
    grid = patch_grid(PICTURE)
    example = {name: torch.from_numpy(value) for name, value in inputs().items()}
    write_streamed(
        MergedWeights(source, VISION_CLASSES[kind]),
        lambda model: vision_scorer(model, LABELS, grid),
        LABELS,
        lambda scorer: example,
        VISION_AXES,
        ["logits"],
        path,
        inline=inline,
    )
    return session(path).run(None, inputs())[0]


def whole(source: Source, kind: str) -> np.ndarray:
    """Logits of the model loaded and merged by transformers and PEFT."""
    model = source.load(VISION_CLASSES[kind])
    scorer = vision_scorer(model, LABELS, patch_grid(PICTURE))
    with torch.no_grad():
        return scorer(**{name: torch.from_numpy(value) for name, value in inputs().items()}).numpy()


@pytest.mark.parametrize("kind", VISION_CLASSES)
def test_a_streamed_scorer_equals_the_loaded_one(tmp_path: Path, kind: str) -> None:
    source = checkpoint(tmp_path / "c", kind)
    assert np.abs(written(source, kind, tmp_path / "m.onnx") - whole(source, kind)).max() < 1e-4
    assert np.abs(written(source, kind, tmp_path / "e.onnx", inline=0) - whole(source, kind)).max() < 1e-4
    assert summarise(tmp_path / "e.onnx").external == ("e.onnx.data",)
    assert summarise(tmp_path / "m.onnx").external == ()


@pytest.mark.parametrize("precision", ["fp16", "int8", "int8-rows", "int8-weights", "int4-weights"])
def test_weights_in_half_the_bytes_are_quantised_like_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: Any
) -> None:
    for module in ("file._SMALLEST", "products.SMALLEST", "weight_only.SMALLEST", "quantise._SMALLEST"):
        monkeypatch.setattr(f"quizglass_export.onnx.{module}", 256)
    source, path = checkpoint(tmp_path / "c", "qwen2_vl"), tmp_path / "files" / "m.onnx"
    path.parent.mkdir()
    expected = written(source, "qwen2_vl", path, inline=0)
    halves = [tensor.name for tensor in read_onnx(path).graph.initializer if tensor.name.endswith(".half")]
    notes = apply_precision(path, precision, lambda _: inputs(), 4)
    assert halves
    assert notes.get("products", 27) >= 27
    assert [file.name for file in path.parent.iterdir()] == ["m.onnx"]
    assert np.abs(session(path).run(None, inputs())[0] - expected).max() < (1 if precision == "int4-weights" else 0.5)


MODULES = ["q_proj", "k_proj", "down_proj"]


@pytest.mark.parametrize(
    "options",
    [
        {"target_modules": MODULES},
        {"target_modules": MODULES, "use_dora": True},
        {"target_modules": MODULES, "rank_pattern": {"q_proj": 2}, "alpha_pattern": {"k_proj": 9}, "use_rslora": True},
        {"target_modules": ["v_proj", "qkv"], "modules_to_save": ["lm_head"]},
        {"target_modules": ["embed_tokens", "lm_head"]},
        {"target_modules": ["embed_tokens", "q_proj"], "use_dora": True},
        {"target_modules": ["embed_tokens", "q_proj"], "ensure_weight_tying": True},
        {"target_modules": ["q_proj"], "modules_to_save": ["embed_tokens"], "ensure_weight_tying": True},
    ],
)
def test_adapters_merged_by_tensor_equal_pefts_merge(tmp_path: Path, options: dict[str, Any]) -> None:
    base = checkpoint(tmp_path / "c", "qwen2_5_vl")
    source = Source(base.folder, ((adapted(base, "qwen2_5_vl", tmp_path / "a", **options), 1.0),))
    expected = dict(source.load(VISION_CLASSES["qwen2_5_vl"]).named_parameters(remove_duplicate=False))
    found = MergedWeights(source, VISION_CLASSES["qwen2_5_vl"])
    for name, parameter in expected.items():
        assert torch.allclose(found.get(name), parameter, atol=1e-5), name


def test_several_adapters_are_weighed(tmp_path: Path) -> None:
    base = checkpoint(tmp_path / "c", "qwen2_vl")
    first = adapted(base, "qwen2_vl", tmp_path / "a", target_modules=MODULES)
    second = adapted(base, "qwen2_vl", tmp_path / "b", target_modules=["q_proj"], use_dora=True)
    adapters = ((first, 0.5), (second, -1.5))
    source = Source(base.folder, adapters)
    expected = merge_adapters(base.load(VISION_CLASSES["qwen2_vl"]), adapters)
    found = MergedWeights(source, VISION_CLASSES["qwen2_vl"])
    for name, parameter in expected.named_parameters(remove_duplicate=False):
        assert torch.allclose(found.get(name), parameter, atol=1e-5), name


def test_keys_of_older_checkpoints_are_understood(tmp_path: Path) -> None:
    source = checkpoint(tmp_path / "c", "qwen2_vl")
    expected = whole(source, "qwen2_vl")
    old = {}
    for path in source.folder.glob("*.safetensors"):
        for key, tensor in load_file(path).items():
            old[key.replace("model.language_model.", "model.").replace("model.visual.", "visual.")] = tensor
        path.unlink()
    (source.folder / "model.safetensors.index.json").unlink()
    save_file(old, source.folder / "model.safetensors", metadata={"format": "pt"})
    assert any(key.startswith("visual.") for key in old)
    assert np.abs(written(source, "qwen2_vl", tmp_path / "m.onnx") - expected).max() < 1e-4


def test_damaged_checkpoints_are_refused_by_file_and_key(tmp_path: Path) -> None:
    source = checkpoint(tmp_path / "c", "qwen2_vl")
    kind = VISION_CLASSES["qwen2_vl"]
    shard = sorted(source.folder.glob("*.safetensors"))[1]
    content = load_file(shard)
    key = sorted(content)[0]
    broken = dict(content)
    broken[key] = torch.full_like(content[key], float("nan"))
    save_file(broken, shard, metadata={"format": "pt"})
    weights = MergedWeights(source, kind)
    with pytest.raises(ExportError, match=rf"{shard.name}: \S+ holds NaN"):
        weights.get(weights.shards.name(key))
    save_file({name: tensor for name, tensor in content.items() if name != key}, shard, metadata={"format": "pt"})
    with pytest.raises(ExportError, match=rf"{shard.name}: .* is not in it"):
        MergedWeights(source, kind)
    shard.write_bytes(shard.read_bytes()[:50])
    with pytest.raises(ExportError, match=rf"{shard.name}: not a readable safetensors file"):
        MergedWeights(source, kind)
    index = source.folder / "model.safetensors.index.json"
    content = json.loads(index.read_text())
    content["weight_map"] = dict.fromkeys(content["weight_map"], "../other.safetensors")
    index.write_text(json.dumps(content))
    with pytest.raises(ExportError, match=r"index\.json: names '\.\./other\.safetensors'"):
        MergedWeights(source, kind)


def test_an_index_beside_weights_that_are_whole_is_refused_where_it_names_none(tmp_path: Path) -> None:
    save_file({"w": torch.zeros(2)}, tmp_path / "model.safetensors")
    for said in ("{}", '{"weight_map": 5}', '{"weight_map": ["w"]}'):
        (tmp_path / "model.safetensors.index.json").write_text(said)
        with pytest.raises(ExportError, match=r"index\.json: weight_map must name a shard for each key"):
            Shards(tmp_path)


def test_an_adapter_that_changes_the_base_too_is_refused(tmp_path: Path) -> None:
    base = checkpoint(tmp_path / "c", "qwen2_vl")
    folder = adapted(base, "qwen2_vl", tmp_path / "a", target_modules=["q_proj"], init_lora_weights="pissa")
    with pytest.raises(ExportError, match=r"adapter_config\.json: init_lora_weights is 'pissa', by which PEFT changes"):
        MergedWeights(Source(base.folder, ((folder, 1.0),)), VISION_CLASSES["qwen2_vl"])


@pytest.mark.parametrize("said", ["[]", "{}", '{"peft_type": 5}', "[" * 100_000])
def test_an_adapter_whose_settings_are_none_is_named(tmp_path: Path, said: str) -> None:
    base = checkpoint(tmp_path / "c", "qwen2_vl")
    folder = adapted(base, "qwen2_vl", tmp_path / "a", target_modules=["q_proj"])
    (folder / "adapter_config.json").write_text(said)
    with pytest.raises(ExportError, match=r"adapter_config\.json: "):
        MergedWeights(Source(base.folder, ((folder, 1.0),)), VISION_CLASSES["qwen2_vl"])


def test_an_adapter_of_another_base_is_refused(tmp_path: Path) -> None:
    base = checkpoint(tmp_path / "c", "qwen2_vl")
    folder = adapted(base, "qwen2_vl", tmp_path / "a", target_modules=["q_proj"])
    weights = load_file(folder / "adapter_model.safetensors")
    renamed = {key.replace("layers.1.", "layers.7."): tensor for key, tensor in weights.items()}
    save_file(renamed, folder / "adapter_model.safetensors")
    source = Source(base.folder, ((folder, 1.0),))
    with pytest.raises(ExportError, match=r"layers\.7\..*: the base has no module .*; the adapter is for another base"):
        MergedWeights(source, VISION_CLASSES["qwen2_vl"])
    one = sorted(key for key in weights if "lora_B" in key)[0]
    save_file({key: tensor for key, tensor in weights.items() if key != one}, folder / "adapter_model.safetensors")
    with pytest.raises(ExportError, match=rf"{one} is missing"):
        MergedWeights(source, VISION_CLASSES["qwen2_vl"])
    weights[one] = torch.randn(50, 3)
    save_file(weights, folder / "adapter_model.safetensors")
    with pytest.raises(ExportError, match=r"make \[50, 32\], the base's .* has \[32, 32\]; the adapter is for another"):
        MergedWeights(source, VISION_CLASSES["qwen2_vl"]).get(one[17:].split(".lora_B")[0] + ".weight")
