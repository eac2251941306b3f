"""The generator engine, the scorers and the whole server under load, beside peers from the package index.

`python -m bench.engine` (`make bench-engine`) runs every section and writes bench/results/engine.json and engine.png;
`--only SECTION ...` runs some and keeps the others' rows. What each section measures stands in its module's docstring.
"""
