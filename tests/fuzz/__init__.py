"""Whatever comes over the wire is taken or refused, soon: one module an entry, and inputs that once mattered.

A module has `enter(data)`, which does with bytes what the server does, and raises only where the server would fail.
`python -m tests.fuzz` looks for such inputs with atheris; `test_fuzz_corpora.py` replays those that are kept.
"""
