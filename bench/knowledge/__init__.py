"""Benchmarks of the knowledge store: speed beside other stores, damage, killed processes."""
