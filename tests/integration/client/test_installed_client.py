"""The client as `pip install '.[cli]'` has it: the command, the SDK and their types, and nothing of the server."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from bench import render
from quizglass import __version__
from tests.support.installed import ROOT, Installed

WAKE_WORD = """
from collections.abc import Iterable
from enum import Enum
from typing import Any

class Model(Enum):
    OKAY_NABU = ...

class OpenWakeWord:
    @classmethod
    def from_builtin(cls, model: Model) -> OpenWakeWord: ...
    def process_streaming(self, features: Any) -> Iterable[float]: ...

class OpenWakeWordFeatures:
    @classmethod
    def from_builtin(cls) -> OpenWakeWordFeatures: ...
    def process_streaming(self, audio: bytes) -> Iterable[Any]: ...
"""
"""What an example uses of `pyopen-wakeword`, which the client does not bring."""
EVERY_MODULE = """
import pkgutil, quizglass, quizglass_client
for package in (quizglass, quizglass_client):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith(".__main__"):
            __import__(module.name)
"""
SERVERLESS = """
from pathlib import Path
from quizglass_client import ServerUnavailable
from quizglass_client.local import LocalServer
try:
    LocalServer(Path("bundle"), Path("knowledge")).__enter__()
except ServerUnavailable as error:
    print(error)
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    return Installed(tmp_path_factory.mktemp("client"), "quizglass[cli]")


def _examples() -> dict[str, str]:
    """The examples of the documentation that use the client."""
    return {
        f"{path.stem}_{at}.py": example
        for path in render.documents()
        for at, example in enumerate(re.findall(r"^```python\n(.*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE))
        if "quizglass_client" in example
    }


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    for name, example in _examples().items():
        (folder / name).write_text(example, encoding="utf-8")
    (folder / "pyopen_wakeword.pyi").write_text(WAKE_WORD, encoding="utf-8")
    return folder


def test_the_client_comes_alone(client):
    assert client.commands == {"quizglass"}
    assert {path.name for path in client.site.glob("quizglass*") if path.suffix == ""} == {
        "quizglass",
        "quizglass_client",
    }


def test_extras_bring_the_server_from_the_same_clone(client):
    server, export = (f"@ {(ROOT / folder).as_uri()}" for folder in ("server", "export"))
    found = client.declared("quizglass")
    assert f"quizglass-server[cpu] {server} ; extra == 'cpu'" in found
    assert f"quizglass-server[web] {server} ; extra == 'web'" in found
    assert f"quizglass-export[train] {export} ; extra == 'export'" in found
    assert any(each.startswith("pyarrow") and each.endswith("extra == 'import'") for each in found)


def test_all_that_is_installed_can_be_imported(client):
    done = client.run("python", "-c", EVERY_MODULE)
    assert done.returncode == 0, done.stderr


def test_the_command_works(client):
    assert client.run("quizglass", "--version").stdout == f"quizglass {__version__}\n"
    assert client.helps("quizglass_client.cli.command", "parser") > 20
    done = client.run("quizglass", "--server", "127.0.0.1:1", "health")
    assert (done.returncode, "Traceback" in done.stderr) == (3, False)


@pytest.mark.parametrize(
    "command", [("verify", "."), ("repair", "."), ("snapshot", ".", "copy"), ("restore", "copy", ".")]
)
def test_what_needs_the_server_says_so_in_a_line(client, command):
    done = client.run("quizglass", "knowledge", *command)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith("needs quizglass_server; in the clone: pip install '.[server]'\n")


def test_a_server_of_ones_own_needs_a_server(client):
    assert "pip install '.[cpu]'" in client.run("python", "-c", SERVERLESS).stdout


def test_examples_are_found():
    assert len(_examples()) >= 9


def test_mypy_finds_nothing_in_the_examples(client, examples, tmp_path):
    check = (sys.executable, "-m", "mypy", "--strict", "--python-executable", client.python, "--cache-dir", tmp_path)
    _checked(*check, "--config-file=", *sorted(examples.iterdir()))


@pytest.mark.skipif(find_spec("pyright") is None, reason="pyright is not installed")
def test_pyright_finds_nothing_in_the_examples(client, examples):
    _checked(sys.executable, "-m", "pyright", "--pythonpath", client.python, *sorted(examples.iterdir()))


def test_what_is_wrong_is_found(client, tmp_path):
    """The values that an answer has are known to a type checker: they are not of any type."""
    wrong = tmp_path / "wrong.py"
    wrong.write_text("from quizglass_client import Client\nreveal_type(Client().answer('What is this?').done)\n")
    check = [sys.executable, "-m", "mypy", "--python-executable", client.python, "--cache-dir", tmp_path, wrong]
    done = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert 'Revealed type is "quizglass.values.Done"' in done.stdout, done.stdout + done.stderr


def _checked(*command: str | Path) -> None:
    done = subprocess.run(command, cwd=command[-1].parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
