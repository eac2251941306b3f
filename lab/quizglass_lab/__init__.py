"""The laboratory beside the product: a fictional world, training recipes, published benchmarks and their scores."""

import quizglass_export  # noqa: F401  # before any library that would call home
