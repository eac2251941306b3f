"""From checkpoints to a bundle: merge, export, quantise, check, write."""
