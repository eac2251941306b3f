"""Generators that somebody else runs, reached over the network."""
