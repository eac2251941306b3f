import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

from safetensors.torch import load_file, save_file  # noqa: E402

from quizglass_export.bundling.errors import ExportError  # noqa: E402
from quizglass_export.bundling.merge import merge_adapter, merge_adapters  # noqa: E402

IDS = torch.tensor([[3, 14, 15, 9, 26]])


def base(width: int = 32, layers: int = 2) -> Any:
    torch.manual_seed(0)
    config = transformers.Qwen3Config(
        vocab_size=40,
        hidden_size=width,
        intermediate_size=48,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        tie_word_embeddings=True,
        initializer_range=0.2,
    )
    return transformers.Qwen3ForCausalLM(config).eval()


def adapter(folder: Path, **options: Any) -> Any:
    """Save an adapter that changes the output; returns the logits [5, 40] of the unmerged model."""
    torch.manual_seed(5)
    chosen = {"target_modules": ["q_proj", "down_proj"], **options}
    model = peft.get_peft_model(base(), peft.LoraConfig(r=4, lora_alpha=16, init_lora_weights=False, **chosen)).eval()
    model.save_pretrained(str(folder), save_embedding_layers=False)
    with torch.no_grad():
        return model(input_ids=IDS).logits[0]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"use_dora": True},
        {"rank_pattern": {"q_proj": 2}, "alpha_pattern": {"q_proj": 5}},
        {"target_modules": ["q_proj", "lm_head"]},
        {"use_rslora": True},
        {"modules_to_save": ["lm_head"]},
        {"modules_to_save": ["embed_tokens", "norm"]},
    ],
)
def test_the_merged_model_equals_the_adapted_one(tmp_path: Path, options: dict[str, Any]) -> None:
    expected = adapter(tmp_path, **options)
    merged = merge_adapter(base(), tmp_path)
    assert type(merged).__name__ == "Qwen3ForCausalLM"
    with torch.no_grad():
        found = merged(input_ids=IDS).logits[0]
        untouched = base()(input_ids=IDS).logits[0]
    assert (found - expected).abs().max() < 1e-4
    assert (found - untouched).abs().max() > 1e-2


def test_several_adapters_add_their_weighed_changes(tmp_path: Path) -> None:
    adapter(tmp_path / "a")
    adapter(tmp_path / "b", target_modules=["k_proj", "lm_head"], use_dora=True)
    plain = dict(base().named_parameters())
    alone = {name: dict(merge_adapter(base(), tmp_path / name).named_parameters()) for name in "ab"}
    merged = merge_adapters(base(), [(tmp_path / "a", 0.5), (tmp_path / "b", -2.0)])
    for key, tensor in merged.named_parameters():
        origin = plain.get(key, plain["model.embed_tokens.weight"])  # the head was tied to the embedding
        expected = origin + 0.5 * (alone["a"][key] - origin) - 2.0 * (alone["b"][key] - origin)
        assert torch.allclose(tensor, expected, atol=1e-6), key


def test_an_adapter_of_a_deeper_base_is_refused(tmp_path: Path) -> None:
    adapter(tmp_path)
    with pytest.raises(ExportError, match=r"adapter_model\.safetensors: .*layers\.1.*another base"):
        merge_adapter(base(layers=1), tmp_path)


def test_an_adapter_of_a_wider_base_is_refused_with_its_key_and_shape(tmp_path: Path) -> None:
    adapter(tmp_path)
    with pytest.raises(ExportError, match=r"lora_B\.weight has shape \[32, 4\], .* needs 64; the adapter is for"):
        merge_adapter(base(width=64), tmp_path)


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    adapter(tmp_path)
    path = tmp_path / "adapter_model.safetensors"
    weights = load_file(path)
    gone = sorted(key for key in weights if "lora_B" in key)[0]
    del weights[gone]
    save_file(weights, path)
    with pytest.raises(ExportError, match=rf"{gone} is missing"):
        merge_adapter(base(), tmp_path)


def test_nan_in_an_adapter_is_named(tmp_path: Path) -> None:
    adapter(tmp_path)
    path = tmp_path / "adapter_model.safetensors"
    weights = load_file(path)
    key = sorted(weights)[1]
    weights[key][0, 0] = float("nan")
    save_file(weights, path)
    with pytest.raises(ExportError, match=rf"{key} holds NaN"):
        merge_adapter(base(), tmp_path)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    adapter(tmp_path)
    path = tmp_path / "adapter_model.safetensors"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ExportError, match=r"adapter_model\.safetensors: not a readable safetensors file"):
        merge_adapter(base(), tmp_path)


def test_the_adapters_own_idea_of_its_base_is_not_looked_up(tmp_path: Path) -> None:
    expected = adapter(tmp_path)
    path = tmp_path / "adapter_config.json"
    config = json.loads(path.read_text())
    config["base_model_name_or_path"] = "somebody/else"
    path.write_text(json.dumps(config))
    with torch.no_grad():
        assert (merge_adapter(base(), tmp_path)(input_ids=IDS).logits[0] - expected).abs().max() < 1e-4
