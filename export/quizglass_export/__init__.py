"""From checkpoints to bundles: the fictional world, the training recipes, the export."""

import quizglass_server  # noqa: F401  # before any library that would call home
