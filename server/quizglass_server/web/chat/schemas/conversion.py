"""From the text of a JSON schema to the grammar of the values that are valid under it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quizglass_server.brackets import depth
from quizglass_server.web.chat.schemas.grammar import Grammar
from quizglass_server.web.chat.schemas.keywords import Keywords
from quizglass_server.web.chat.schemas.limits import Effort, SchemaRefused

MOST_CHARACTERS = 32 * 1024
MOST_NESTING = 64
ANY_OBJECT = '{"type":"object"}'
"""The schema of a JSON object that may have anything in it."""


@dataclass(frozen=True, slots=True)
class SchemaGrammar:
    """What a schema comes to."""

    text: str
    """The grammar (GBNF, rule `root`), in ASCII."""
    ignored: tuple[str, ...]
    """Places in the schema of keywords that have no effect."""


def schema_grammar(schema: str) -> SchemaGrammar:
    """A schema as a grammar; takes up to a second of a core.

    Args:
        schema: its JSON.

    Raises:
        SchemaRefused: it is no schema, cannot be followed, or costs too much; names the keyword's place.
    """
    if len(schema) > MOST_CHARACTERS:
        raise SchemaRefused("", f"has {len(schema)} characters; {MOST_CHARACTERS} at most")
    if depth(schema, ("[{", "]}")) > MOST_NESTING:
        raise SchemaRefused("", f"nests deeper than {MOST_NESTING}")
    try:
        schema.encode()
        document: Mapping[str, Any] = json.loads(schema)
    except ValueError as error:
        raise SchemaRefused("", f"is no JSON: {error}") from None
    if not isinstance(document, dict):
        raise SchemaRefused("", "needs an object")
    effort = Effort()
    keywords = Keywords(document, effort)
    return SchemaGrammar(Grammar(keywords, effort).written(), tuple(keywords.ignored))
