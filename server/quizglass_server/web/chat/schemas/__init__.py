"""JSON schemas as grammars (GBNF), which engines follow token by token.

Every keyword is followed, refused by its place, or named as ignored; what is written under the grammar is valid under
the schema. The cost is bounded: of reading a schema, of the grammar, and of following it.
"""
