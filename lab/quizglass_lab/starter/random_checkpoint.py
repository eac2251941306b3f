"""Untrained base and planner in the form of the trained ones, for developing and testing the export.

    python -m quizglass_lab.starter.random_checkpoint --out DIR

writes DIR/base (transformers checkpoint with tokenizer) and DIR/planner (PEFT adapter).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from quizglass_lab.starter.model.checkpoints import save_adapter, save_base
from quizglass_lab.starter.model.tokenizer import build_tokenizer
from quizglass_lab.starter.model.vlm import new_model
from quizglass_lab.starter.stages.decider import with_adapter


def write(out: Path, seed: int = 0) -> None:
    """Write both checkpoints; the adapter changes the output, unlike a fresh one of PEFT's."""
    tokenizer = build_tokenizer(out / "tokenizer")
    save_base(new_model(tokenizer, seed), tokenizer, out / "base")
    adapted = with_adapter(new_model(tokenizer, seed))
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(parameter, std=0.02)
    save_adapter(adapted, out / "planner")


def main() -> None:
    """Parse the command line and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    write(arguments.out, arguments.seed)


if __name__ == "__main__":
    main()
