"""From checkpoints to bundles: the fictional world, the training recipes, the export."""

import os

import quizglass_server  # noqa: F401  # before any library that would call home

# What transformers warns of is its own past and its own defaults, which nobody who builds a bundle chose.
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
