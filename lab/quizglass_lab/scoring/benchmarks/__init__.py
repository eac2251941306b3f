"""Scores by benchmarks' own rules, as they are published."""
