"""Words that point at a thing instead of naming it: "this" at what is seen, "it" at what was spoken of.

English, by its words.
"""

from __future__ import annotations

import re

SPOKEN_OF = re.compile(r"\b(?:it|its|they|them|their|theirs)\b", re.IGNORECASE)
"""What points at the thing that was spoken of last."""
_BEINGS = re.compile(r"\b(?:he|him|his|she|her|hers|that|those)\b", re.IGNORECASE)
"""What points at a being or a thing that is seen or was spoken of; "that" and "her" are other words as well."""
_HERE = re.compile(r"\bhere\b", re.IGNORECASE)
_SEEN = re.compile(r"\b(?:this|these)\b", re.IGNORECASE)


def says_this(question: str) -> bool:
    """Whether it points at the thing that is seen."""
    return _SEEN.search(question) is not None


def may_point(question: str) -> bool:
    """Whether it may say "this", "it", "he", "her" or "here" of its subject, and so names nothing by itself."""
    return points(question) or any(form.search(question) for form in (_BEINGS, _HERE))


def points(question: str) -> bool:
    """Whether it says "this" or "it" of its subject."""
    return says_this(question) or SPOKEN_OF.search(question) is not None
