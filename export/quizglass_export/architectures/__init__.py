"""Graphs of the architectures that bundles are made of, written so that they export with fixed picture sizes."""
