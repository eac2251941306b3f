"""Where a question has to be looked up, from what a model knows, as the planning-agent paper labels it."""

from __future__ import annotations


def plan_label(own: bool, image: bool, gold: bool) -> str | None:
    """none, image, text or both; None for the illogical, which knows both parts and not the whole.

    Args:
        own: whether the question q is answered rightly without any lookup.
        image: whether the image query q_i is, or nothing in the picture has to be told.
        gold: whether the gold query q_g is.
    """
    if own:
        return "none"
    if image and gold:
        return None
    return "text" if image else "image" if gold else "both"
