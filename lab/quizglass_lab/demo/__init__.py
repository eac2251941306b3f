"""Demonstrations of bundles that the laboratory trains: `make demo-world` and `make everyday`."""
