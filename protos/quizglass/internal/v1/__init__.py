"""The link between the server and its generator process; generated like the public contract."""
