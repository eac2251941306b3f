"""The blocking client is what is generated from the asynchronous one."""

import importlib.util
import inspect
import shutil
from pathlib import Path

import pytest

from quizglass_client import AsyncClient, Client
from quizglass_client.aio import AsyncMemory
from quizglass_client.session.aio import AsyncSession, AsyncTurn
from quizglass_client.session.sync import Session, Turn
from quizglass_client.sync import Memory

CLIENT = Path(__file__).parents[2] / "clients/python"


@pytest.fixture
def generator(tmp_path, monkeypatch):
    """The generator, at work on a copy of the package."""
    spec = importlib.util.spec_from_file_location("generate_client", CLIENT / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    copied = shutil.copytree(CLIENT / "quizglass_client", tmp_path / "quizglass_client")
    monkeypatch.setattr(module, "PACKAGE", copied)
    return module


def test_checked_in_code_is_what_is_generated(generator):
    assert generator.main(["--check"]) == 0


def test_drift_is_named_and_mended(generator, capsys):
    (generator.PACKAGE / "sync.py").write_text("stale")
    assert generator.main(["--check"]) == 1
    assert "sync.py is not what aio.py says; run `make client`" in capsys.readouterr().err
    assert generator.main([]) == 0
    assert (generator.PACKAGE / "sync.py").read_bytes() == (CLIENT / "quizglass_client/sync.py").read_bytes()


def test_a_text_that_is_not_there_to_be_replaced_is_named(generator):
    with pytest.raises(ValueError, match="0 times, not once: 'The client for asyncio programs"):
        generator.blocking("pass\n", generator.CLIENT)


@pytest.mark.parametrize(
    ("asynchronous", "blocking"),
    [(AsyncClient, Client), (AsyncMemory, Memory), (AsyncSession, Session), (AsyncTurn, Turn)],
)
def test_both_have_the_same_calls_and_nothing_asynchronous_is_left(asynchronous, blocking):
    def calls(kind):
        return {
            name: list(inspect.signature(call).parameters)
            for name, call in vars(kind).items()
            if inspect.isfunction(call) and not name.startswith("__")
        }

    assert calls(asynchronous) == calls(blocking)
    assert not any(
        inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call) for call in vars(blocking).values()
    )
