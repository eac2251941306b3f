"""The starter's base vision-language model and its deciders, trained on pocketworld."""

STAGES = (
    "tokenizer",
    "pictures",
    "vision",
    "language",
    "grounding",
    "joint",
    "annotate",
    "decider",
    "search_router",
)
"""Stages that `train` runs, in this order."""
