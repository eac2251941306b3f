"""What tests of the export share, and those of the generator's engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from quizglass_server.engines.llama.engine.engine import Engine
    from quizglass_server.engines.llama.native.model import NativeModel

# Untrained models hardly prefer one token to the next, so quantising flips their answers: the fewer, the better.
_SETTINGS = {"name": "untrained", "version": "9", "answer_tokens": 3, "thresholds": {"image_accept": 0.25}}


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Untrained checkpoints in the starter's layout, in half precision, as a repository keeps them."""
    from quizglass_export.assembly.pack import pack
    from quizglass_export.retrieval.random_checkpoints import write_random_checkpoints
    from quizglass_export.starter.random_checkpoint import write

    raw = tmp_path_factory.mktemp("raw")
    write(raw)
    write_random_checkpoints(raw)
    (raw / "base" / "optimizer.safetensors").write_bytes(b"state")
    (raw / "settings.json").write_text(json.dumps(_SETTINGS))
    for stage in ("joint", "planner"):
        (raw / stage).mkdir(exist_ok=True)
        (raw / stage / "done.json").write_text(json.dumps({"right": 0.25}))
    out = tmp_path_factory.mktemp("packed") / "checkpoints"
    pack(raw, out)
    return out


@pytest.fixture(scope="session")
def starter_model() -> NativeModel:
    """The starter's generator."""
    from tests.support.engines import starter_engine

    return starter_engine.starter_model()


@pytest.fixture(scope="session")
def alone(starter_model: NativeModel) -> list[list[str]]:
    """What it says to each question of `starter_engine.ASKED` that it is asked alone."""
    from tests.support.engines.starter_engine import said_alone

    return said_alone(starter_model)


@pytest.fixture
def endless(starter_model: NativeModel) -> Iterator[Engine]:
    """An engine on it whose answers end by length alone."""
    from quizglass_server.engines.llama.engine.engine import Engine
    from tests.support.engines.engine_runs import SMALL_PIECES

    made = Engine(starter_model, [], SMALL_PIECES)
    yield made
    made.close()


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tokenizer of tiny Qwen models."""
    from tests.support.bundles.tiny_qwen import write_tokenizer

    return write_tokenizer(tmp_path_factory.mktemp("tokenizer") / "tokenizer.json")
