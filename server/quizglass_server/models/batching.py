"""How much goes into one run of an ONNX model."""

from __future__ import annotations

from quizglass_server.engines.onnx.batcher import BatchLimits

MAX_BATCH = 16
BATCH_TOKENS = 512
"""Padded tokens of one run. On a CPU larger ones are no faster, need more memory, and hold up what is urgent."""
LIMITS = BatchLimits(BATCH_TOKENS, MAX_BATCH)
UNPADDED = BatchLimits(BATCH_TOKENS, MAX_BATCH, padding=0.0)
"""For models whose rows must not be padded: those of one length go together."""
