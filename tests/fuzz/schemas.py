"""The JSON schema of a chat, as a grammar. It is worked out off the event loop, so it may take longer."""

from contextlib import suppress

from quizglass_server.web.chat.schemas.conversion import schema_grammar
from quizglass_server.web.chat.schemas.limits import SchemaRefused

LONGEST_S = 1.0
WORDS = (
    *('"type"', '"object"', '"array"', '"string"', '"integer"', '"number"', '"properties"', '"required"', '"items"'),
    *('"anyOf"', '"oneOf"', '"allOf"', '"$ref"', '"#"', '"#/$defs/a"', '"$defs"', '"enum"', '"const"', '"pattern"'),
    *('"minLength"', '"maxLength"', '"minimum"', '"exclusiveMaximum"', '"multipleOf"', '"prefixItems"', '"minItems"'),
    *('"additionalProperties"', '"propertyNames"', '"minProperties"', '"format"', '"date-time"', "[a-z]", "(a|b)*"),
)


def enter(data: bytes) -> None:
    """Make a grammar of a schema."""
    with suppress(SchemaRefused):
        assert schema_grammar(data.decode(errors="replace")).text.isascii()
