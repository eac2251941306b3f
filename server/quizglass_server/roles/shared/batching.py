"""How much goes into one run of an ONNX model."""

from __future__ import annotations

from quizglass_bundle.inputs.text_rows import TYPES
from quizglass_server.engines.onnx.batcher import BatchLimits
from quizglass_server.engines.onnx.providers import InputRange

MAX_BATCH = 16
BATCH_TOKENS = 512
"""Padded tokens of one run. On a CPU larger ones are no faster, need more memory, and hold up what is urgent."""
BATCH_PIXELS = 1 << 18
"""Pixels of the pictures of one run on a CPU, for the same reasons: five of 224 x 224."""
LIMITS = BatchLimits(BATCH_TOKENS, MAX_BATCH)
CARD_LIMITS = BatchLimits(16 * 256, MAX_BATCH)
"""On a card, which is hardly slower for eight rows than for two. Not measured on one."""
UNPADDED = BatchLimits(BATCH_TOKENS, MAX_BATCH, padding=0.0)
"""For models whose rows must not be padded: those of one length go together."""


def prompt_ranges(limit: int) -> dict[str, InputRange]:
    """Shapes of prompts of up to `limit` tokens."""
    row = InputRange((1, 1), (1, min(128, limit)), (MAX_BATCH, limit))
    return {"input_ids": row, "attention_mask": row}


def text_ranges(limit: int) -> tuple[dict[str, InputRange], dict[str, InputRange]]:
    """Shapes of the inputs that `padded` makes for up to `limit` tokens: those of every model, and the others."""
    row = InputRange((1, 1), (1, min(32, limit)), (MAX_BATCH, limit))
    return {"input_ids": row, "attention_mask": row}, {TYPES: row}
