"""Sizes that drawing and models share."""

PICTURE = 112
"""Pixels a side of the pictures that the base is shown."""
PATCH = 14
MERGE = 2
"""Patches a side that become one picture token."""
TOKENS_SIDE = PICTURE // PATCH // MERGE
"""Picture tokens a side: the cells of a picture."""
