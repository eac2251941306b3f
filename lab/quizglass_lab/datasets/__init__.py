"""Benchmarks of visual question answering, read from their own files into one kind of value, `Sample`.

`formats/` has one file a benchmark, `reading/` what they share; nothing here knows models, training or scores, and
nothing is ever fetched.
"""
