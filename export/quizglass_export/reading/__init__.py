"""How a bundle had best answer: its generator and its quotes, asked about a few notes.

Knows bundles, and neither recipes nor checkpoints.
"""
