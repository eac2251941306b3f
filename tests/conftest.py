"""What tests of several rooms share."""

import gc
import sys
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from quizglass_server.config.address import MilvusAddress

ROOT = Path(__file__).parents[1]
_SEED = 67280421310721
"""That of torch's C++ library; its Python draws another one in every process."""

# How long an example takes says how busy the machine is, and nothing about the code. The examples are the same every
# time, so that what passed here passes elsewhere; `pytest --hypothesis-profile=search` looks for others.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", parent=_PATIENT)
settings.register_profile("any machine", parent=_PATIENT, derandomize=True)
settings.load_profile("any machine")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Without looking for garbage: what is imported stays, and is not gone through again until the process ends."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _draw_anew() -> None:
    """Begin torch's random numbers anew, whatever other tests have drawn of them in this process."""
    if (torch := sys.modules.get("torch")) is not None:
        torch.manual_seed(_SEED)


@pytest.fixture(autouse=True, scope="module")
def _module_draws_anew() -> None:
    """Also before what a module's tests share is made."""
    _draw_anew()


@pytest.fixture(autouse=True)
def _test_draws_anew(_module_draws_anew: None) -> None:
    """A test has the same random numbers every time, alone and behind others."""
    _draw_anew()


@pytest.fixture(autouse=True, scope="session")
def _state_of_commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What commands remember between two runs is kept from that of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def starter_bundle() -> Path:
    """The bundle that ships with the repository."""
    return ROOT / "models" / "starter" / "bundle"


@pytest.fixture(scope="session")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusAddress]:
    """A Milvus that runs for the whole session; each test takes collections of its own."""
    from tests.support.knowledge.backends import milvus_lite  # heavy: most tests need none

    with milvus_lite(tmp_path_factory.mktemp("milvus")) as address:
        yield address


@pytest.fixture(params=["local", "milvus"])
def knowledge_place(
    request: pytest.FixtureRequest, tmp_path: Path, milvus: MilvusAddress, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """A place for a knowledge store, on each backend: tests that take it hold for both."""
    from quizglass_server.knowledge.milvus import base
    from tests.support.knowledge.backends import fresh_place

    monkeypatch.setattr(base, "_LOOK_S", 0.05)
    return fresh_place(request.param, tmp_path / "knowledge", milvus)


@pytest.fixture
async def knowledge_store(knowledge_place: Any) -> AsyncIterator[Any]:
    """An open store, on each backend."""
    opened = await knowledge_place.open()
    yield opened
    await opened.close()
