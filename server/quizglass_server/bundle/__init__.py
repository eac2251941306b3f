"""A bundle on disk: its manifest, its files and the proof that they are whole.

Knows no engine: it hands out verified paths and settings.
"""
