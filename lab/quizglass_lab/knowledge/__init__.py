"""The knowledge that benchmarks are published with, read as entries of a knowledge store, one at a time.

One file a form; `finding.py` tells them apart, `importing.py` sends them to a server. What names an entry in the
benchmark's questions, a Wikidata item or an address, is its id or its `source`.
"""
