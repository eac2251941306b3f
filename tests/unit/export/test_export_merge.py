import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

from safetensors.torch import load_file, save_file  # noqa: E402

from quizglass_export.checkpoints.merge import merge_adapter, merge_adapters  # noqa: E402
from quizglass_export.checkpoints.peft_models import adapted_model  # noqa: E402
from quizglass_export.errors import ExportError  # noqa: E402

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
    kind = chosen.pop("kind", None)
    lora = {"r": 4, "lora_alpha": 16, "init_lora_weights": False}
    config = peft.LoraConfig(**lora, **chosen) if kind is None else kind(**chosen)
    model = peft.get_peft_model(base(), config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "trainable_tokens" in name or "modules_to_save" in name or "magnitude" in name:
                parameter.add_(0.3 * torch.rand_like(parameter))
    model.save_pretrained(str(folder), save_embedding_layers=False)
    with torch.no_grad():
        return model(input_ids=IDS).logits[0]


TIED = {"ensure_weight_tying": True}
KINDS: list[dict[str, Any]] = [
    {},
    {"use_dora": True},
    {"rank_pattern": {"q_proj": 2}, "alpha_pattern": {"q_proj": 5}},
    {"target_modules": ["q_proj", "lm_head"]},
    {"target_modules": ["q_proj", "embed_tokens"]},
    {"target_modules": ["q_proj", "embed_tokens", "lm_head"]},
    {"use_rslora": True},
    {"modules_to_save": ["lm_head"]},
    {"modules_to_save": ["embed_tokens", "norm"]},
    {"trainable_token_indices": [3, 14, 9]},
    {"target_modules": ["q_proj", "embed_tokens"], **TIED},
    {"modules_to_save": ["embed_tokens"], **TIED},
    {"trainable_token_indices": {"embed_tokens": [3, 26]}, **TIED},
    {"kind": peft.IA3Config, "target_modules": ["q_proj", "down_proj"], "feedforward_modules": ["down_proj"],
     "init_ia3_weights": False},
]  # fmt: skip


def logits(model: Any) -> Any:
    with torch.no_grad():
        return model(input_ids=IDS).logits[0]


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_the_merged_model_equals_the_adapted_one(tmp_path: Path, options: dict[str, Any]) -> None:
    expected = adapter(tmp_path, **options)
    merged = merge_adapter(base(), tmp_path)
    assert type(merged).__name__ == "Qwen3ForCausalLM"
    assert (logits(merged) - expected).abs().max() < 2e-4
    assert (logits(merged) - logits(base())).abs().max() > 1e-2


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_the_reference_is_pefts_model_and_not_a_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    def merged(*_: object, **__: object) -> None:
        raise AssertionError("nothing may be merged")

    expected = adapter(tmp_path, **options)
    monkeypatch.setattr(peft.tuners.tuners_utils.BaseTuner, "merge_and_unload", merged)
    torch.testing.assert_close(logits(adapted_model(base(), [(tmp_path, 1.0)])), expected)


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_weighed_adapters_equal_the_weighed_outputs_of_pefts_layers(tmp_path: Path, options: dict[str, Any]) -> None:
    adapter(tmp_path / "a", **options)
    adapter(tmp_path / "b", target_modules=["k_proj", "lm_head"], use_dora=True)
    adapters = [(tmp_path / "a", 0.5), (tmp_path / "b", -0.25)]
    merged, beside = logits(merge_adapters(base(), adapters)), logits(adapted_model(base(), adapters))
    assert (merged - beside).abs().max() < 2e-4
    assert (merged - logits(base())).abs().max() > 1e-2


def test_a_head_that_no_adapter_touches_stays_tied(tmp_path: Path) -> None:
    adapter(tmp_path)
    merged = merge_adapter(base(), tmp_path)
    assert merged.lm_head.weight is merged.model.embed_tokens.weight
    assert merged.config.tie_word_embeddings


def test_a_key_that_nothing_asks_for_is_named(tmp_path: Path) -> None:
    """As PEFT would leave it out in silence."""
    adapter(tmp_path)
    config = json.loads((tmp_path / "adapter_config.json").read_text())
    config["target_modules"] = ["q_proj"]
    (tmp_path / "adapter_config.json").write_text(json.dumps(config))
    with pytest.raises(ExportError, match=r"nothing in adapter_config\.json asks for \S*down_proj.lora_A.weight"):
        merge_adapter(base(), tmp_path)


def test_an_adapter_that_changes_no_weights_is_refused(tmp_path: Path) -> None:
    config = peft.PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=2)
    peft.get_peft_model(base(), config).save_pretrained(str(tmp_path))
    with pytest.raises(ExportError, match=r"adapter_config\.json: peft_type PREFIX_TUNING changes no weights"):
        merge_adapter(base(), tmp_path)


def test_several_adapters_add_their_weighed_changes(tmp_path: Path) -> None:
    adapter(tmp_path / "a")
    adapter(tmp_path / "b", target_modules=["k_proj", "lm_head"], use_dora=True)
    plain = base().state_dict()
    alone = {name: merge_adapter(base(), tmp_path / name).state_dict() for name in "ab"}
    merged = merge_adapters(base(), [(tmp_path / "a", 0.5), (tmp_path / "b", -2.0)])
    for key, tensor in merged.state_dict().items():
        origin = plain[key]
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
