"""Remote generators, reached over the network."""
