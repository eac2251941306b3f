"""Checkpoints and adapters: read whole or tensor by tensor, checked and merged."""
