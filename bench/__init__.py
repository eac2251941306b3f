"""Benchmarks, listed by `make help`. Each writes bench/results/NAME.json; docs/benchmarks/ says what they measure."""

import quizglass_server  # noqa: F401  # before any library that would call home
