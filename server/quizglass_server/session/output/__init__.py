"""Answers for ears and small displays: what an output profile may ask for, and how a piece of an answer is put for it.

Knows neither sessions nor models: texts go in and come out.
"""
