"""Scorers with a precision for a card: built by a recipe and compared with PyTorch."""

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from quizglass_export.errors import ExportError  # noqa: E402
from quizglass_export.trt.engine import Limits, input_ranges  # noqa: E402
from quizglass_export.trt.operators import check_operators  # noqa: E402
from tests.support.bundles.exported_bundle import exported_role  # noqa: E402
from tests.support.bundles.tiny_checkpoints import text_model  # noqa: E402
from tests.support.bundles.tiny_qwen import qwen3  # noqa: E402

_ACCEPT = {"labels": 0.9, "drift": 0.01}


@pytest.fixture
def reranker(tokenizer: Path, tmp_path: Path) -> dict[str, Any]:
    folder = tmp_path / "base"
    qwen3(tokenizer).save_pretrained(folder)
    (folder / "tokenizer.json").write_bytes(tokenizer.read_bytes())
    return {"checkpoint": folder, "accept": _ACCEPT}


@pytest.mark.parametrize("precision", ["cuda-fp16", "tensorrt-fp16"])
def test_a_reranker_for_a_card_is_near_pytorch_and_padded_in_steps(
    tmp_path: Path, reranker: dict[str, Any], precision: str
) -> None:
    part, checks = exported_role(tmp_path, "reranker", {**reranker, "precision": precision}, 10)
    assert part.pad_to == "steps"
    assert [check.measure for check in checks][:2] == ["equal labels", "mean change of a probability"]
    assert all(check.passed for check in checks), checks
    assert checks[1].value > 0


def test_tensorrt_has_an_operator_and_a_profile_for_all_of_it(tmp_path: Path, reranker: dict[str, Any]) -> None:
    part, _ = exported_role(tmp_path, "reranker", {**reranker, "precision": "tensorrt-fp16"}, 4)
    path = tmp_path / "files" / part.model
    assert check_operators(path).fits
    assert set(input_ranges(path, Limits(batch=16, tokens=256))) == {"input_ids", "attention_mask"}


def test_a_model_that_reads_no_text_alone_is_refused_by_name(tmp_path: Path) -> None:
    spec = {"checkpoint": text_model(tmp_path / "c", "bert", 1), "precision": "cuda-fp16"}
    with pytest.raises(ExportError, match=r"roles\.reranker\.precision: cuda-fp16 is for causal models .* choose fp16"):
        exported_role(tmp_path, "reranker", spec, 4)
