"""From checkpoints and adapters to bundles."""

import os

import quizglass_server  # noqa: F401  # before any library that would call home

# transformers warns about its own defaults, which are not a choice of the bundle's builder.
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
