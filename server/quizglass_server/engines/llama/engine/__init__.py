"""One decode step after the other for many requests together: who takes part, what it costs, what a failure means.

Knows tokens, sequences and the KV cache; no prompt, no role and no process.
"""
