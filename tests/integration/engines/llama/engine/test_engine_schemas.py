"""Grammars of JSON schemas, followed by llama.cpp with the starter's vocabulary and no idea what to say."""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import pytest

from bench.hostile.drawn_schemas import drawn_schema
from quizglass_server.engines.llama.engine.constraint import follower
from quizglass_server.engines.llama.engine.sampling import Row
from quizglass_server.engines.llama.link.prompt import Constraint, ConstraintRefused
from quizglass_server.engines.llama.native.model import NativeModel
from quizglass_server.schemas.conversion import schema_grammar
from quizglass_server.schemas.limits import SchemaRefused

MOST_TOKENS = 60


def written(model: NativeModel, grammar: str, seed: int) -> str | None:
    """What is written at random, an end where there may be one; None: it has no end within the tokens."""
    drawing = np.random.default_rng(seed)
    following = follower(model, Constraint(grammar))
    pieces: list[bytes] = []
    for number in range(MOST_TOKENS):
        if pieces and following.complete() and (number > MOST_TOKENS // 2 or drawing.random() < 0.3):
            return b"".join(pieces).decode()
        logits = drawing.standard_normal(model.vocabulary).astype(np.float32)
        token = following.pick(Row(logits, int(logits.argmax()), 0.0))
        if token is None:
            return b"".join(pieces).decode()
        following.accept(token)
        pieces.append(model.piece(token))
    return None


@pytest.mark.parametrize("start", range(0, 120, 40))
def test_what_is_written_under_the_grammar_of_a_drawn_schema_is_valid(starter_model: NativeModel, start: int) -> None:
    ended = 0
    for seed in range(start, start + 40):
        schema = drawn_schema(seed)
        try:
            grammar = schema_grammar(json.dumps(schema)).text
        except SchemaRefused:
            continue
        for number in range(2):
            text = written(starter_model, grammar, number)
            if text is not None:
                ended += 1
                assert list(jsonschema.Draft202012Validator(schema).iter_errors(json.loads(text))) == [], (seed, text)
    assert ended > 20


def test_a_grammar_is_followed_to_characters_beyond_the_basic_plane(starter_model: NativeModel) -> None:
    schema = {"type": "object", "properties": {"🙂": {"enum": ["🙂", "é́"]}}, "required": ["🙂"]}
    text = written(starter_model, schema_grammar(json.dumps(schema)).text, 1)
    assert text is not None
    assert json.loads(text)["🙂"] in ("🙂", "é́")


def test_a_model_without_a_token_for_what_comes_next_says_so(
    starter_model: NativeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    following = follower(starter_model, Constraint('root ::= "a"'))
    monkeypatch.setattr(following, "_allowed", lambda tokens: np.array([], np.int32))
    logits = np.zeros(starter_model.vocabulary, np.float32)
    with pytest.raises(ConstraintRefused, match="no token"):
        following.pick(Row(logits, 0, 0.0))
