"""Which grammars are handed to llama.cpp: its parser recurses, and a stack overflow would end the process."""

from __future__ import annotations

from unicodedata import normalize

from quizglass_server.brackets import depth
from quizglass_server.engines.generator.prompt import Constraint, ConstraintUnusable

_MAX_CHARACTERS = 256 << 10
_MAX_NESTING = 64


def checked(constraint: Constraint) -> str:
    """The grammar as it is handed over.

    Raises:
        ConstraintUnusable: it is too long, or nests too deeply.
    """
    text = normalize("NFC", constraint.grammar)
    if "\0" in text:
        raise ConstraintUnusable("the grammar has a null character")
    if len(text) > _MAX_CHARACTERS:
        raise ConstraintUnusable(f"a grammar of {len(text)} characters; {_MAX_CHARACTERS} at most")
    if depth(text) > _MAX_NESTING:
        raise ConstraintUnusable(f"the grammar nests brackets deeper than {_MAX_NESTING}")
    return text
