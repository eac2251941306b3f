"""Accuracy of every policy on worlds that training never saw, beside the simplest rules: `python -m bench.accuracy`."""
