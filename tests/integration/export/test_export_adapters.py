"""Roles with PEFT adapters, exported as a build does it and compared with PEFT's own layers."""

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
peft = pytest.importorskip("peft")
pytest.importorskip("optimum")

from quizglass_export.checkpoints import source  # noqa: E402
from tests.support.bundles.exported_bundle import exported_role  # noqa: E402
from tests.support.bundles.tiny_checkpoints import image_model, text_model  # noqa: E402
from tests.support.bundles.tiny_qwen import qwen3  # noqa: E402

TIED = {"target_modules": ["embed_tokens", "q_proj"], "ensure_weight_tying": True}


def saved(model: Any, folder: Path, **options: Any) -> Path:
    torch.manual_seed(4)
    config = peft.LoraConfig(r=4, lora_alpha=8, init_lora_weights=False, **options)
    peft.get_peft_model(model, config).save_pretrained(str(folder))
    return folder


@pytest.fixture
def tied(tokenizer: Path, tmp_path: Path) -> dict[str, Any]:
    """A reranker whose adapter changes the embedding and, tied with it, the output head."""
    folder = tmp_path / "base"
    qwen3(tokenizer).save_pretrained(folder)
    (folder / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    return {"checkpoint": folder, "adapters": [{"path": saved(qwen3(tokenizer), tmp_path / "a", **TIED)}]}


def test_an_adapter_of_tied_weights_is_exported_as_peft_runs_it(tmp_path: Path, tied: dict[str, Any]) -> None:
    _, checks = exported_role(tmp_path, "reranker", tied, 6)
    assert all(check.passed for check in checks), checks


def test_a_wrong_merge_is_not_compared_with_itself(
    tmp_path: Path, tied: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_the_head(model: Any, adapters: Any) -> Any:
        head = model.lm_head.weight.detach().clone()
        merged = merge(model, adapters)
        merged.lm_head.weight = torch.nn.Parameter(head)
        return merged

    merge = source.merge_adapters
    monkeypatch.setattr(source, "merge_adapters", without_the_head)
    _, checks = exported_role(tmp_path, "reranker", tied, 6)
    assert not checks[0].passed


@pytest.mark.parametrize("role", ["text_encoder", "image_encoder", "reranker"])
def test_encoders_with_adapters_equal_pefts(tmp_path: Path, role: str) -> None:
    folder = tmp_path / "base"
    if role == "image_encoder":
        from transformers import CLIPVisionModelWithProjection as Kind

        image_model(folder, "clip_vision_model")
        modules = ["q_proj", "fc1"]
    else:
        from transformers import BertForSequenceClassification, BertModel

        text_model(folder, "bert", 1 if role == "reranker" else 0)
        Kind = BertForSequenceClassification if role == "reranker" else BertModel
        modules = ["query", "value"]
    adapter = saved(Kind.from_pretrained(folder), tmp_path / "a", target_modules=modules, use_dora=True)
    spec = {"checkpoint": folder, "adapters": [{"path": adapter, "weight": 0.5}]}
    _, checks = exported_role(tmp_path, role, spec, 4)
    assert all(check.passed for check in checks), checks
