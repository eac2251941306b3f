"""How answers are judged, one place for training, evaluation and benchmarks.

Functions of texts and numbers; nothing here knows models, except that a judge may be handed in.
"""
