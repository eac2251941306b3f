"""The format of a bundle: its manifest, its files and their hashes, its prompts, and what its models are given.

The exporter writes it and the server reads it; this package knows neither of them, and no engine.
"""
