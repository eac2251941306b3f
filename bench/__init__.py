"""Benchmarks, listed by `make help`. Each writes bench/results/NAME.json; docs/benchmarks.md says what they measure."""
