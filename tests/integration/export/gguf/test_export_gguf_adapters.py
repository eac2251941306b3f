"""Adapters as GGUF LoRA beside a base that is not merged."""

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import peft
import torch

from quizglass_export import cli
from quizglass_export.checkpoints.merge import merge_adapter
from quizglass_export.errors import ExportError
from quizglass_export.gguf.drift import drift
from quizglass_export.gguf.header import read_gguf
from quizglass_export.gguf.jobs import logits
from quizglass_export.gguf.lora import write_lora_gguf
from quizglass_export.gguf.text import write_text_gguf
from tests.support.bundles.tiny_qwen import ROWS, logits_of_rows, qwen2_vl, qwen3

PATTERNS = {"alpha_pattern": {"q_proj": 3}, "rank_pattern": {"q_proj": 2}, "use_rslora": True}


@pytest.mark.parametrize("kind", [qwen3, qwen2_vl])
@pytest.mark.parametrize("options", [{}, PATTERNS])
def test_an_adapter_beside_the_base_does_what_merging_it_does(
    tokenizer: Path, tmp_path: Path, kind: Any, options: dict[str, Any]
) -> None:
    torch.manual_seed(8)
    modules = ["q_proj", "down_proj"]
    config = peft.LoraConfig(r=4, lora_alpha=8, init_lora_weights=False, target_modules=modules, **options)
    peft.get_peft_model(kind(tokenizer), config).save_pretrained(str(tmp_path / "adapter"))
    base = kind(tokenizer)
    write_text_gguf(base, tokenizer, tmp_path / "base.gguf", "tiny")
    assert write_lora_gguf(base.config, tmp_path / "adapter", tmp_path / "adapter.gguf") == 4
    plain = logits_of_rows(base)
    merged = logits_of_rows(merge_adapter(base, tmp_path / "adapter"))
    found = logits(tmp_path / "base.gguf", ROWS, adapter=tmp_path / "adapter.gguf")
    assert drift(merged, found).largest < 2e-3
    assert drift(plain, found).largest > 1e-2


def test_the_command_writes_the_file_or_nothing(
    tokenizer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    qwen3(tokenizer).save_pretrained(tmp_path / "base")
    adapter = peft.LoraConfig(r=2, target_modules=["v_proj"])
    peft.get_peft_model(qwen3(tokenizer), adapter).save_pretrained(str(tmp_path / "adapter"))
    out = tmp_path / "out" / "a.gguf"
    out.parent.mkdir()
    places = ["--checkpoint", str(tmp_path / "base"), "--out", str(out)]
    assert cli.main(["adapter", *places, "--adapter", str(tmp_path / "adapter")]) == 0
    assert read_gguf(out).metadata["adapter.type"] == "lora"
    assert cli.main(["adapter", *places, "--adapter", str(tmp_path / "base")]) == 2
    assert "base/adapter_config.json: missing" in capsys.readouterr().err
    both = [*places, "--adapter", str(tmp_path / "adapter")]
    for weight in ("0", "nan", "inf"):
        assert cli.main(["adapter", *both, "--weight", weight]) == 2
        assert f"--weight {weight}: must be a number other than 0" in capsys.readouterr().err
    for text, message in (
        ("{", "config.json: not readable JSON"),
        ('{"model_type": "new"}', "model_type is 'new'"),
    ):
        (tmp_path / "base" / "config.json").write_text(text)
        assert cli.main(["adapter", *both]) == 2
        assert message in capsys.readouterr().err
    assert [path.name for path in out.parent.iterdir()] == ["a.gguf"]


def test_what_a_gguf_adapter_cannot_say_is_refused(tokenizer: Path, tmp_path: Path) -> None:
    for options, what in (({"use_dora": True}, "use_dora"), ({"modules_to_save": ["lm_head"]}, "modules_to_save")):
        config = peft.LoraConfig(r=2, target_modules=["q_proj"], **options)
        peft.get_peft_model(qwen3(tokenizer), config).save_pretrained(str(tmp_path / what))
        with pytest.raises(ExportError, match=rf"adapter_config\.json: {what} cannot be said in GGUF"):
            write_lora_gguf(qwen3(tokenizer).config, tmp_path / what, tmp_path / "a.gguf")


@pytest.mark.parametrize("first", ["pissa", "olora"])
def test_an_adapter_that_changes_the_base_too_is_refused(tokenizer: Path, tmp_path: Path, first: Any) -> None:
    """PEFT takes its first matrices off the base's weights, which stay as they are beside a GGUF LoRA."""
    config = peft.LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=first)
    peft.get_peft_model(qwen3(tokenizer), config).save_pretrained(str(tmp_path / "adapter"))
    with pytest.raises(ExportError, match=rf"adapter_config\.json: init_lora_weights is '{first}', by which PEFT"):
        write_lora_gguf(qwen3(tokenizer).config, tmp_path / "adapter", tmp_path / "a.gguf")


def test_a_bias_beside_the_matrices_is_refused(tokenizer: Path, tmp_path: Path) -> None:
    config = peft.LoraConfig(r=2, target_modules=["q_proj"], lora_bias=True)
    base = qwen3(tokenizer, attention_bias=True)
    peft.get_peft_model(base, config).save_pretrained(str(tmp_path / "adapter"))
    with pytest.raises(ExportError, match=r"q_proj\.lora_B\.bias cannot be said in GGUF; merge the adapter instead"):
        write_lora_gguf(base.config, tmp_path / "adapter", tmp_path / "a.gguf")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"width": 96}, r"q_proj\.lora_A\.weight has shape \[2, 96\], .* needs 64; the adapter is for another base"),
        ({"num_hidden_layers": 3}, r"the base has no module model\.layers\.2\.self_attn\.q_proj; the adapter is for"),
    ],
)
def test_an_adapter_of_another_base_is_not_written(
    tokenizer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], other: dict[str, int], message: str
) -> None:
    qwen3(tokenizer).save_pretrained(tmp_path / "base")
    config = peft.LoraConfig(r=2, target_modules=["q_proj"])
    peft.get_peft_model(qwen3(tokenizer, **other), config).save_pretrained(str(tmp_path / "adapter"))
    places = ("--checkpoint", "base", "--adapter", "adapter", "--out", "a.gguf")
    arguments = [part if part.startswith("--") else str(tmp_path / part) for part in places]
    assert cli.main(["adapter", *arguments]) == 2
    assert re.search(message, capsys.readouterr().err)
    assert not (tmp_path / "a.gguf").exists()


def test_a_file_that_is_there_is_replaced_on_request_alone(
    tokenizer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    qwen3(tokenizer).save_pretrained(tmp_path / "base")
    config = peft.LoraConfig(r=2, target_modules=["q_proj"])
    peft.get_peft_model(qwen3(tokenizer), config).save_pretrained(str(tmp_path / "adapter"))
    (tmp_path / "a.gguf").write_text("mine")
    places = ("--checkpoint", "base", "--adapter", "adapter", "--out", "a.gguf")
    arguments = [part if part.startswith("--") else str(tmp_path / part) for part in places]
    assert cli.main(["adapter", *arguments]) == 2
    assert "a.gguf: already exists; choose another file, or pass --replace" in capsys.readouterr().err
    assert (tmp_path / "a.gguf").read_text() == "mine"
    assert cli.main(["adapter", *arguments, "--replace"]) == 0
    assert read_gguf(tmp_path / "a.gguf").metadata["adapter.type"] == "lora"
