"""Fits the layer that says what is wrong with a frame: `samples` draws faults, `photographs` spoils crops
of photographs in the same way, `fit` fits and sets thresholds.

What it gives is `server/quizglass_server/session/coaching/layer.json`.
"""
