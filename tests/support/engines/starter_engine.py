"""The starter's generator in the test's own thread, and questions whose answers are known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from quizglass_server.engines.llama.engine.engine import Engine
from quizglass_server.engines.llama.engine.requests import Request
from quizglass_server.engines.llama.link.prompt import Part, Urgency
from quizglass_server.engines.llama.native.batch import EmbeddingBatch, TokenBatch
from quizglass_server.engines.llama.native.logs import LlamaLog
from quizglass_server.engines.llama.native.model import NativeModel, start_backend
from quizglass_server.engines.llama.native.options import LoadOptions
from tests.support.engines.engine_runs import SMALL_PIECES, Given, answer, prompt

_BUNDLE = Path(__file__).parents[3] / "models/starter/bundle/generator"
STOP = ["<|im_end|>"]
LONG = "The red car stands before the old mill near the river and nobody knows why. " * 8
_LOG = LlamaLog()
start_backend(_LOG)
Decode = Callable[[TokenBatch | EmbeddingBatch], int]


# None whose two likeliest tokens have logits a twentieth apart: where in memory a prompt lies, and what is computed
# beside it, moves them by nearly as much.
ASKED: list[list[Part]] = [
    prompt("What is this?", seed=1),
    prompt("What is this called?", seed=1),
    prompt("Who made it?", seed=2),
    prompt("Who designed it?", seed=None),
    prompt(LONG + "What is red?", seed=None),
    prompt(LONG + "What is it called?", seed=1),
    prompt("What is this?", seed=1),
]


def starter_model(threads: int = 1) -> NativeModel:
    """Loaded anew; up to four answers together."""
    options = LoadOptions(
        _BUNDLE / "model-q8_0.gguf",
        _BUNDLE / "mmproj-f16.gguf",
        112,
        112,
        1024,
        threads=threads,
        generator_batch=4,
    )
    return NativeModel(options, _LOG)


def said_alone(model: NativeModel) -> list[list[str]]:
    """What is said to each of `ASKED` by an engine that knows no other."""
    said: list[list[str]] = []
    for parts in ASKED:
        engine = Engine(model, [], SMALL_PIECES)
        said.append(answer(engine, parts))
        engine.close()
    return said


def ask(engine: Engine, parts: list[Part], tokens: int = 16, urgency: Urgency | None = None) -> tuple[Given, Request]:
    """Submit a question."""
    given = Given()
    request = engine.builder.generation(parts, tokens, urgency or Urgency(), sink=given)
    engine.submit(request)
    return given, request


def watched(engine: Engine, monkeypatch: pytest.MonkeyPatch, decode: Callable[[Decode, object], int]) -> None:
    """Put `decode` between the engine and its model."""
    real = engine.model.decode
    monkeypatch.setattr(engine.model, "decode", lambda batch: decode(real, batch))
