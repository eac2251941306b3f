"""Grammars of JSON schemas, followed by llama-server with the starter's vocabulary and no idea what to say."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import pytest_asyncio

from bench.hostile.drawn_schemas import drawn_schema
from quizglass_server.engines.generator.process.options import ProcessOptions
from quizglass_server.engines.generator.process.supervisor import GeneratorProcess
from quizglass_server.web.chat.schemas.conversion import schema_grammar
from quizglass_server.web.chat.schemas.limits import SchemaRefused
from tests.support.engines.generator_process import started

pytestmark = pytest.mark.asyncio(loop_scope="module")
MOST_TOKENS = 60


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def starter(starter_bundle: Path) -> AsyncIterator[GeneratorProcess]:
    async with started(ProcessOptions(starter_bundle / "generator" / "model-q8_0.gguf", None, 2048)) as process:
        yield process


async def written(process: GeneratorProcess, grammar: str, seed: int) -> str | None:
    """What is written at random; None: it has no end within the tokens."""
    asked = {"prompt": "a", "grammar": grammar, "seed": seed, "temperature": 8, "n_predict": MOST_TOKENS, "top_k": 0}
    answer: Any = await (await process.client()).document("POST", "/completion", {**asked, "samplers": ["temperature"]})
    return answer["content"] if answer["stop_type"] == "eos" else None


@pytest.mark.parametrize("start", range(0, 120, 40))
async def test_what_is_written_under_the_grammar_of_a_drawn_schema_is_valid(
    starter: GeneratorProcess, start: int
) -> None:
    ended = 0
    for seed in range(start, start + 40):
        schema = drawn_schema(seed)
        try:
            grammar = schema_grammar(json.dumps(schema)).text
        except SchemaRefused:
            continue
        for number in range(2):
            text = await written(starter, grammar, number)
            if text is not None:
                ended += 1
                assert list(jsonschema.Draft202012Validator(schema).iter_errors(json.loads(text))) == [], (seed, text)
    assert ended > 20


async def test_a_grammar_is_followed_to_characters_beyond_the_basic_plane(starter: GeneratorProcess) -> None:
    schema = {"type": "object", "properties": {"🙂": {"enum": ["🙂", "é́"]}}, "required": ["🙂"]}
    text = await written(starter, schema_grammar(json.dumps(schema)).text, 1)
    assert text is not None
    assert json.loads(text)["🙂"] in ("🙂", "é́")
