"""What tests of the engine share: a tiny model, and the starter's generator."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from quizglass_server.engines.llama.child.worker import EngineWorker
from quizglass_server.engines.llama.engine.engine import Engine
from quizglass_server.engines.llama.native.model import NativeModel
from quizglass_server.engines.llama.native.options import LoadOptions
from tests.support.engines import starter_engine
from tests.support.engines.engine_runs import SMALL_PIECES
from tests.support.engines.tiny_engine import LOG, tiny_load_options, working


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> LoadOptions:
    return tiny_load_options(tmp_path_factory.mktemp("generator"))


@pytest.fixture(scope="module")
def model(options: LoadOptions) -> NativeModel:
    return NativeModel(options, LOG)


@pytest.fixture
async def worker(model: NativeModel) -> EngineWorker:
    return await working(model)


@pytest.fixture(scope="session")
def starter_model() -> NativeModel:
    """The starter's generator."""
    return starter_engine.starter_model()


@pytest.fixture(scope="session")
def alone(starter_model: NativeModel) -> list[list[str]]:
    """What it says to each question of `starter_engine.ASKED` that it is asked alone."""
    return starter_engine.said_alone(starter_model)


@pytest.fixture
def endless(starter_model: NativeModel) -> Iterator[Engine]:
    """An engine on it whose answers end by length alone."""
    made = Engine(starter_model, [], SMALL_PIECES)
    yield made
    made.close()
