"""Untrained checkpoints in exactly the form that training leaves, to build and test the export with.

Usage: python -m quizglass_lab.retrieval.random_checkpoints --out DIR
"""

import argparse
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model

from quizglass_lab.retrieval.shapes import (
    LORA_RANK,
    LORA_TARGETS,
    build_image_encoder,
    build_reranker,
    build_text_encoder,
    save_image_encoder,
    save_text_pooling,
)
from quizglass_lab.retrieval.wordpiece import build_wordpiece


def write_random_checkpoints(out: Path, seed: int = 0) -> None:
    """Write `image_encoder`, `text_encoder`, `reranker_base` and the adapter `reranker` into `out`.

    The reranker uses the starter's byte-level tokenizer, which is not written here. The adapter's matrices are both
    random, so that forgetting to merge it shows.
    """
    torch.manual_seed(seed)
    out.mkdir(parents=True, exist_ok=True)
    save_image_encoder(build_image_encoder(), out / "image_encoder")
    sentences = ["Who made it, and how much does it cost?"] * 5
    tokenizer = build_wordpiece(sentences, (), out / "text_encoder")
    build_text_encoder(len(tokenizer)).save_pretrained(out / "text_encoder")
    save_text_pooling(out / "text_encoder")
    base = build_reranker()
    base.save_pretrained(out / "reranker_base")
    config = LoraConfig(
        r=LORA_RANK,
        lora_alpha=2 * LORA_RANK,
        target_modules=list(LORA_TARGETS),
        task_type="CAUSAL_LM",
        init_lora_weights=False,
    )
    get_peft_model(base, config).save_pretrained(str(out / "reranker"))


def main() -> None:
    """Command line; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="directory to write into")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    write_random_checkpoints(arguments.out, arguments.seed)


if __name__ == "__main__":
    main()
