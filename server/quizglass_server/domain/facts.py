"""A property of an entry as a sentence: "Bought: 2018."

A key is a noun, a verb, an adjective or a date's name ("price", "weighs", "repaired", "insured until"). A sentence with
the key as its subject is grammatical for the first of these alone; a label is for all of them, in any language.
"""

from __future__ import annotations

import re

_CAMEL = re.compile(r"[a-z]{2,}(?:[A-Z][a-z]+)+")
_WITHIN_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_TRUTHS = {"true": "yes", "false": "no", "yes": "yes", "no": "no"}
_ENDS = (".", "!", "?", "…", "。", "！", "？")


def fact(key: str, value: str) -> str:
    """A property as a sentence, of which searches know that a chunk and an answer are the same."""
    name, said = key_words(key), _TRUTHS.get(value.casefold(), value)
    return f"{name[:1].upper()}{name[1:]}: {said}{'' if said.endswith(_ENDS) else '.'}"


def key_words(key: str) -> str:
    """A key as it is spoken: "serial number" of "serial_number" and "serialNumber"."""
    if _CAMEL.fullmatch(key):
        return _WITHIN_CAMEL.sub(" ", key).lower()
    return " ".join(key.replace("_", " ").split())


def is_truth(value: str) -> bool:
    """Whether a value is a yes or no, which a text that has the same word does not state."""
    return value.casefold() in _TRUTHS
