"""Benchmarks: `make bench-accuracy`, `make bench-latency`. Each writes bench/results/NAME.json and a plot."""
