"""JSON schemas as grammars (GBNF), by llama-cpp-python's converter, which is given what it is right about.

Schemas come from clients. What the converter would write out at any length, or wrongly, or never come to an end with,
is refused before, and so are grammars that are never done being followed.
"""

from __future__ import annotations

import json
import re
from unicodedata import normalize

from llama_cpp.llama_grammar import json_schema_to_gbnf

from quizglass_server.engines.llama.link.prompt import ConstraintRefused

_COUNTS = ("minLength", "maxLength", "minItems", "maxItems")
_MOST_REPEATED = 1000
"""Of what a schema counts: it becomes as many nested brackets, of which llama.cpp's parser takes fewer than 2000."""
_MOST_GRAMMAR = 1 << 20
"""Characters of the grammar that a schema becomes."""
_PATTERN_PARTS = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\{[^}]*\}|[()\]}]", re.DOTALL)
"""Of a regular expression: escapes, classes, counts, where groups begin and end, and brackets that close nothing."""
_ESCAPES = frozenset('xuUtrn\\"[]')
"""Characters that a grammar knows behind a backslash."""
_PUNCTUATION = frozenset("()|{}*+?")
"""Those that the converter writes without one, outside classes."""
_CHARACTER = re.compile(r'^char ::= \[\^"\\\\', re.MULTILINE)
"""The converter's rule of a text's characters, which forgets that JSON has control characters only as escapes."""


def schema_grammar(text: str) -> str:
    """A JSON schema as GBNF, whose rule `root` it is.

    Raises:
        ConstraintRefused: it is no schema, or one whose grammar would be too much or another; the message says why.
    """
    try:
        if not isinstance(schema := json.loads(text), dict):
            raise ConstraintRefused("constraint json_schema is not a JSON object")
        _check_parts(schema)
        # Accents may also be written as JSON's escapes.
        grammar = str(json_schema_to_gbnf(normalize("NFC", json.dumps(schema, ensure_ascii=False))))
        grammar = _CHARACTER.sub(lambda rule: rule[0] + r"\x00-\x1F", grammar)
    except json.JSONDecodeError as error:
        raise ConstraintRefused(f"constraint json_schema is not JSON: {error}") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, AssertionError, re.error) as error:
        # The converter raises whatever its walk over the schema stumbles over.
        raise ConstraintRefused(f"constraint json_schema cannot be used: {type(error).__name__}: {error}") from None
    if len(grammar) > _MOST_GRAMMAR:
        raise ConstraintRefused(
            f"constraint json_schema: {len(grammar)} characters as a grammar; {_MOST_GRAMMAR} at most"
        )
    return grammar


def _check_parts(schema: object) -> None:
    """Refuse what the converter would write out at any length or wrongly, and what would be followed for ever."""
    pending = [schema]
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending += part
        elif isinstance(part, dict):
            pending += part.values()
            for key in _COUNTS:
                _check_count(key, part.get(key))
            if isinstance(pattern := part.get("pattern"), str):
                _check_pattern(pattern)
            for constant in (part.get("const"), part.get("enum"), *(part.get("properties") or ())):
                if "\\" in (written := json.dumps(constant, ensure_ascii=False)):
                    raise ConstraintRefused(
                        f"constraint json_schema: {written} has a quote, a backslash or a control character, "
                        "which a grammar's constants cannot have"
                    )


def _check_count(what: str, count: object) -> None:
    if isinstance(count, int) and count > _MOST_REPEATED:
        raise ConstraintRefused(f"constraint json_schema: {what} is {count}; {_MOST_REPEATED} at most")


def _check_pattern(pattern: str) -> None:
    """Refuse what the converter never comes to an end with, and what is never done being followed.

    Of a text that is divided among repetitions which may be empty, every way to divide it would be followed.
    """
    where = f"constraint json_schema: the pattern {pattern!r}"
    opened: list[int] = []
    for part in _PATTERN_PARTS.finditer(pattern):
        known = _ESCAPES if part[0].startswith("[") else _ESCAPES | _PUNCTUATION
        if unknown := [escape for escape in re.findall(r"\\(.)", part[0], re.DOTALL) if escape not in known]:
            raise ConstraintRefused(
                f"{where} has \\{unknown[0]}, which grammars do not know; write a class, such as [0-9] or [.]"
            )
        if part[0] == "(":
            opened.append(part.start())
        elif part[0] == ")" and opened:
            group, behind = pattern[opened.pop() : part.end()], pattern[part.end() : part.end() + 1]
            if behind in ("*", "+", "{") and re.fullmatch(group, "") is not None:
                raise ConstraintRefused(f"{where} repeats what may be empty")
        elif part[0] in ("]", "}"):
            raise ConstraintRefused(f"{where} has a {part[0]} that closes nothing; write \\{part[0]} for the character")
        elif part[0].startswith("{"):
            for number in part[0][1:-1].split(","):
                _check_count(f"a repetition in the pattern {pattern!r}", int(number or 0))
