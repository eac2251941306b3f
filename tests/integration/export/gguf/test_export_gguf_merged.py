"""Adapters merged into a ready-made GGUF file."""

import shutil
import struct
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import gguf
import torch
import transformers
from peft import LoraConfig, get_peft_model

from bench.export.parity import plan_role
from quizglass_export.assembly.estimate import estimate
from quizglass_export.errors import ExportError
from quizglass_export.everyday.build import adapter
from quizglass_export.gguf.header import read_gguf
from quizglass_export.gguf.jobs import logits
from quizglass_export.gguf.merged import write_merged
from quizglass_export.gguf.text import finish, write_text_gguf
from quizglass_lab.finetuning.training.trainer import TARGETS
from tests.support.bundles.exported_bundle import exported_role
from tests.support.bundles.tiny_models import write_llama
from tests.support.bundles.tiny_qwen import qwen3

IDS = [5, 6, 7, 8, 9, 10]


def written_adapter(base: Path, folder: Path, **more: Any) -> Any:
    """An adapter in half precision, saved to a folder; the logits [S, V] of `IDS` with it, not merged."""
    model = transformers.AutoModelForCausalLM.from_pretrained(base.parent, gguf_file=base.name, dtype=torch.float32)
    torch.manual_seed(0)
    config = LoraConfig(
        **{"r": 4, "lora_alpha": 8, "target_modules": TARGETS["all"], "init_lora_weights": False, **more}
    )
    adapted = get_peft_model(model, config).eval()
    for parameter in adapted.parameters():
        parameter.data = parameter.data.half().float() if parameter.requires_grad else parameter.data
    with torch.no_grad():
        expected = adapted(torch.tensor([IDS])).logits[0].numpy()
    for parameter in adapted.parameters():
        parameter.data = parameter.data.half() if parameter.requires_grad else parameter.data
    adapted.save_pretrained(folder)
    return expected


def llama(folder: Path, tokenizer: Path) -> Path:
    return write_llama(folder / "base.gguf")


def qwen(folder: Path, tokenizer: Path) -> Path:
    write_text_gguf(qwen3(tokenizer, head_dim=128), tokenizer, folder / "base.gguf", "theirs")
    return folder / "base.gguf"


@pytest.mark.parametrize("make", [llama, qwen])
def test_adapters_in_half_precision_are_merged_into_the_gguf(
    tokenizer: Path, tmp_path: Path, make: Callable[[Path, Path], Path]
) -> None:
    base, folder = make(tmp_path, tokenizer), tmp_path / "adapters" / "generator"
    assert adapter("generator", folder.parent) is None
    expected = written_adapter(base, folder)
    assert adapter("generator", folder.parent) == folder
    write_merged(base, tmp_path / "merged.gguf", "f32", [(folder, 1.0)])
    write_merged(base, tmp_path / "plain.gguf", "f32")
    (merged,), (plain,), (before,) = (
        logits(tmp_path / name, [IDS]) for name in ("merged.gguf", "plain.gguf", "base.gguf")
    )
    assert np.abs(merged - expected).max() < 1e-2
    assert np.abs(plain - before).max() < 1e-3
    assert np.abs(plain - expected).max() > 0.1


@pytest.mark.parametrize("make", [llama, qwen])
def test_a_recipe_merges_an_adapter_into_a_gguf_base_and_compares_it_with_peft(
    tokenizer: Path, tmp_path: Path, make: Callable[[Path, Path], Path]
) -> None:
    base, folder = make(tmp_path, tokenizer), tmp_path / "adapter"
    expected = written_adapter(base, folder, use_rslora=True)
    spec = {"model": base, "adapters": [str(folder)], "quantisation": "f32", "context": 512, "max_new_tokens": 4}
    part, checks = exported_role(tmp_path, "generator", spec, 3)
    assert part.model == "generator/model-f32.gguf"
    (found,) = logits(tmp_path / "files" / part.model, [IDS])
    assert np.abs(found - expected).max() < 1e-2
    measures = {check.measure: check for check in checks}
    assert measures["equal greedy answers"].passed, checks
    assert measures["largest difference of logits of texts, in standard deviations of them"].passed, checks
    assert measures["finite logits after a prompt"].passed


def test_adapters_are_weighed_and_the_type_is_the_recipes(tmp_path: Path) -> None:
    base, folder = write_llama(tmp_path / "base.gguf"), tmp_path / "adapter"
    written_adapter(base, folder)
    spec = {"model": base, "adapters": [{"path": str(folder), "weight": 0.5}], "context": 512, "max_new_tokens": 4}
    plan = plan_role(tmp_path, "generator", spec, {})
    assert estimate(plan)[0].scratch > base.stat().st_size // 2
    part, checks = exported_role(tmp_path, "generator", spec, 3)
    assert read_gguf(tmp_path / "files" / part.model).tensors["blk.0.attn_q.weight"].type == "q8_0"
    assert {check.measure for check in checks} >= {"equal greedy answers", "largest difference of logits of texts"}


def other_adapter(folder: Path) -> Path:
    """An adapter of a narrower base."""
    config = transformers.LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=2
    )
    other = get_peft_model(transformers.LlamaForCausalLM(config), LoraConfig(r=2, target_modules=TARGETS["all"]))
    other.save_pretrained(folder)
    return folder


def test_an_adapter_of_another_base_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    base, folder = write_llama(tmp_path / "base.gguf"), other_adapter(tmp_path / "adapter")
    with pytest.raises(ExportError, match=r"the adapter is for another base"):
        write_merged(base, tmp_path / "out.gguf", "f32", [(folder, 1.0)])
    assert not (tmp_path / "out.gguf").exists()
    spec = {"model": base, "adapters": [str(folder)], "context": 256}
    with pytest.raises(ExportError, match=r"the adapter is for another base"):
        plan_role(tmp_path, "generator", spec, {})
    with pytest.raises(ExportError, match=r"adapter_config\.json: missing; roles\.generator\.adapters must name PEFT"):
        plan_role(tmp_path, "generator", {**spec, "adapters": [str(tmp_path / "none")]}, {})


def test_an_architecture_that_transformers_does_not_read_is_named(tmp_path: Path) -> None:
    base, folder = write_llama(tmp_path / "base.gguf", kind="smollm3"), other_adapter(tmp_path / "adapter")
    with pytest.raises(ExportError, match=r"base\.gguf: transformers cannot read it as a model.*smollm3"):
        plan_role(tmp_path, "generator", {"model": base, "adapters": [str(folder)], "context": 256}, {})


def test_a_changed_head_that_the_file_has_no_place_for_is_refused(tmp_path: Path) -> None:
    base, folder = write_llama(tmp_path / "base.gguf"), tmp_path / "adapter"
    written_adapter(base, folder, target_modules=["lm_head"])
    with pytest.raises(ExportError, match=r"changes lm_head\.weight, and the file has no tensor output\.weight"):
        write_merged(base, tmp_path / "out.gguf", "f32", [(folder, 1.0)])


def test_a_model_that_sees_takes_no_adapters_in_gguf(tmp_path: Path) -> None:
    spec = {"model": "m.gguf", "projector": "v.gguf", "adapters": ["adapter"]}
    with pytest.raises(ValueError, match="adapters: cannot be merged into a GGUF model that sees"):
        plan_role(tmp_path, "generator", spec, {})


def copied(base: Path, target: Path, *, alignment: int = 32, languages: Sequence[str] = (), files: int = 1) -> Path:
    """A GGUF file with another alignment, with languages, or as the first of several files."""
    reader = gguf.GGUFReader(base)
    writer = gguf.GGUFWriter(str(target), "llama")
    if alignment != 32:
        writer.add_custom_alignment(alignment)
    for name, field in reader.fields.items():
        if not name.startswith("GGUF.") and name != "general.architecture":
            inner = field.types[-1] if field.types[0] is gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(name, field.contents(), field.types[0], sub_type=inner)
    if languages:
        writer.add_languages(list(languages))
    if files != 1:
        writer.add_uint16("split.count", files)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data)
    finish(writer)
    return target


def same_logits(base: Path, written: Path) -> bool:
    before, after = (logits(path, [IDS])[0] for path in (base, written))
    return bool(np.abs(after - before).max() < 1e-3)


def test_a_file_of_another_alignment_is_written_anew(tmp_path: Path) -> None:
    base = copied(write_llama(tmp_path / "base.gguf"), tmp_path / "aligned.gguf", alignment=128)
    assert read_gguf(base).metadata["general.alignment"] == 128
    write_merged(base, tmp_path / "out.gguf", "f32")
    assert same_logits(base, tmp_path / "out.gguf")


def test_a_list_of_nothing_in_the_metadata_is_left_out(tmp_path: Path) -> None:
    language = "as long as an alignment"  # with the eight bytes of its length, so that what follows stays aligned
    base = copied(write_llama(tmp_path / "base.gguf"), tmp_path / "told.gguf", languages=[f"{language}."])
    one, none = (struct.pack("<IQ", gguf.GGUFValueType.STRING, count) for count in (1, 0))
    item = struct.pack("<Q", len(language) + 1) + f"{language}.".encode()
    content = base.read_bytes()
    assert content.count(one + item) == 1
    base.write_bytes(content.replace(one + item, none))
    assert read_gguf(base).metadata["general.languages"] == []
    write_merged(base, tmp_path / "out.gguf", "f32")
    assert same_logits(base, tmp_path / "out.gguf")


def test_what_fails_or_is_stopped_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = write_llama(tmp_path / "base.gguf", kind="smollm4")
    with pytest.raises(ExportError, match="unknown model architecture"):
        write_merged(base, tmp_path / "out" / "model.gguf", "q8_0")
    assert list((tmp_path / "out").iterdir()) == []

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("quizglass_export.gguf.merged.quantise", stopped)
    with pytest.raises(KeyboardInterrupt):
        write_merged(base, tmp_path / "out" / "model.gguf", "q8_0")
    assert list((tmp_path / "out").iterdir()) == []


def test_one_tensor_at_a_time_is_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = gguf.GGUFWriter(str(tmp_path / "base.gguf"), "llama")
    for index in range(24):
        writer.add_tensor(f"blk.{index}.ffn_up.weight", np.ones((512, 512), np.float16))
    finish(writer)
    monkeypatch.setattr(
        "quizglass_export.gguf.merged.quantise", lambda source, target, *_, **__: shutil.copy(source, target)
    )
    tracemalloc.start()
    try:
        write_merged(tmp_path / "base.gguf", tmp_path / "out.gguf", "f32")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    whole = (tmp_path / "out.gguf").stat().st_size
    assert whole > 24 << 20
    assert peak < whole / 6


def test_one_of_several_files_of_a_model_is_refused_before_anything_is_built(tmp_path: Path) -> None:
    base = copied(write_llama(tmp_path / "base.gguf"), tmp_path / "m-00001-of-00003.gguf", files=3)
    with pytest.raises(ExportError, match=r"m-00001-of-00003\.gguf: is one of 3 files; join them with .*--merge"):
        plan_role(tmp_path, "generator", {"model": base, "context": 256}, {})
