"""Sizes that drawing and models share."""

PICTURE = 112
"""Pixels a side of the pictures that the base is shown."""
