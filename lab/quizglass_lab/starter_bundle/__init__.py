"""The starter's checkpoints: packed, and built into a bundle by the recipe that they stand for."""
