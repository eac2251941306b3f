"""Checkpoints to train or ask: their prompts in their own chat format, their inputs, their weights."""
