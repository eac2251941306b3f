"""Quantised types of a generator, and how far they drift."""

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from quizglass_export.gguf.drift import drift
from quizglass_export.gguf.header import read_gguf
from quizglass_export.gguf.jobs import logits, quantise
from quizglass_export.gguf.text import write_text_gguf
from tests.support.bundles.tiny_qwen import ROWS, logits_of_rows, qwen3


@pytest.mark.parametrize(
    ("file_type", "main", "divergence"),
    [
        ("q8_0", "q8_0", 0.02),
        ("q4_0", "q4_0", 1),
        ("q4_k_m", "q4_k", 1),
        ("q5_k_m", "q5_k", 0.3),
        ("q6_k", "q6_k", 0.1),
    ],
)
def test_each_quantisation_has_its_type_and_stays_near(
    tokenizer: Path, tmp_path: Path, file_type: str, main: str, divergence: float
) -> None:
    source = qwen3(tokenizer, width=256)
    write_text_gguf(source, tokenizer, tmp_path / "full.gguf", "tiny")
    quantise(tmp_path / "full.gguf", tmp_path / "small.gguf", file_type)
    assert read_gguf(tmp_path / "small.gguf").tensors["blk.0.attn_q.weight"].type == main
    found = drift(logits_of_rows(source), logits(tmp_path / "small.gguf", ROWS))
    assert 0 < found.divergence < divergence
    assert found.agreement > 0.5


def test_embedding_and_output_types_are_as_asked(tokenizer: Path, tmp_path: Path) -> None:
    write_text_gguf(qwen3(tokenizer, 256, tie_word_embeddings=False), tokenizer, tmp_path / "full.gguf", "tiny")
    quantise(tmp_path / "full.gguf", tmp_path / "s.gguf", "q4_k_m", token_embedding="q8_0", output="f16")
    tensors = read_gguf(tmp_path / "s.gguf").tensors
    assert (tensors["token_embd.weight"].type, tensors["output.weight"].type) == ("q8_0", "f16")
