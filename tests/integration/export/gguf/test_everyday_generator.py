"""The everyday generator as a GGUF written anew, with the adapter that lies in the repository merged into it."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
import transformers
from peft import LoraConfig, get_peft_model

from quizglass_export.errors import ExportError
from quizglass_export.everyday.base import write_gguf
from quizglass_export.everyday.build import adapter
from quizglass_export.finetuning.training.trainer import TARGETS
from quizglass_export.gguf.jobs import logits
from tests.support.bundles.tiny_models import write_llama

IDS = [5, 6, 7, 8, 9, 10]


def test_an_adapter_in_half_precision_is_merged_into_the_gguf(tmp_path: Path) -> None:
    base, folder = write_llama(tmp_path / "base.gguf"), tmp_path / "adapters" / "generator"
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file=base.name, dtype=torch.float32)
    torch.manual_seed(0)
    config = LoraConfig(r=4, lora_alpha=8, target_modules=TARGETS["all"], init_lora_weights=False)
    adapted = get_peft_model(model, config).eval()
    for parameter in adapted.parameters():
        parameter.data = parameter.data.half().float() if parameter.requires_grad else parameter.data
    with torch.no_grad():
        expected = adapted(torch.tensor([IDS])).logits[0].numpy()
    for parameter in adapted.parameters():
        parameter.data = parameter.data.half() if parameter.requires_grad else parameter.data
    assert adapter("generator", folder.parent) is None
    adapted.save_pretrained(folder)
    assert adapter("generator", folder.parent) == folder
    write_gguf(base, tmp_path / "merged.gguf", "f32", adapter=folder)
    write_gguf(base, tmp_path / "plain.gguf", "f32")
    (merged,), (plain,), (before,) = (
        logits(tmp_path / name, [IDS]) for name in ("merged.gguf", "plain.gguf", "base.gguf")
    )
    assert np.abs(merged - expected).max() < 1e-2
    assert np.abs(plain - before).max() < 1e-3
    assert np.abs(plain - expected).max() > 0.1


def test_an_adapter_of_another_base_is_refused(tmp_path: Path) -> None:
    write_llama(tmp_path / "base.gguf")
    config = transformers.LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=2
    )
    other = get_peft_model(transformers.LlamaForCausalLM(config), LoraConfig(r=2, target_modules=TARGETS["all"]))
    other.save_pretrained(tmp_path / "adapter")
    with pytest.raises(ExportError, match=r"adapter: does not fit base\.gguf"):
        write_gguf(tmp_path / "base.gguf", tmp_path / "out.gguf", "f32", adapter=tmp_path / "adapter")
    assert not (tmp_path / "out.gguf").exists()
