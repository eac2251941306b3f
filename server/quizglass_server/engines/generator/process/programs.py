"""Where llama-server comes from: a file that the operator names, our wheel of llama-cpp-python, or xllamacpp.

Read from files and metadata, so that this process loads no llama.cpp.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from quizglass_server.errors import EngineFailed, SettingsError

_NAME = "llama-server"
_LIBRARY = "lib"
SLOWER = "it is compiled for older processors, and up to 1.8 times as slow as one that is compiled here"
"""What is to be said of xllamacpp's."""
INSTALL = "pip install '.[cpu]', or python server/native/wheel.py --install"
"""How one that is missing comes into the clone's environment."""


class Origin(Enum):
    """Which of the three it is."""

    NAMED = "the setting llama_server"
    WHEEL = "llama-cpp-python"
    PREBUILT = "xllamacpp"


@dataclass(frozen=True, slots=True)
class Program:
    """A llama-server that can be started."""

    origin: Origin
    command: tuple[str, ...]
    """What is executed; llama-server's flags follow."""
    version: str = ""
    """Of the package; empty for a file that was named."""
    sockets: bool = True
    """Whether it takes a Unix socket."""

    def __str__(self) -> str:
        """As the log and the doctor name it."""
        if self.origin is Origin.NAMED:
            return self.command[-1]
        return f"{self.origin.value} {self.version}".strip()

    @property
    def named(self) -> str:
        """Its name for clients: without the folders of this machine."""
        if self.origin is Origin.NAMED:
            return f"{Path(self.command[-1]).name}, of {self.origin.value}"
        return str(self)

    @property
    def folder(self) -> Path:
        """Where it lies, with the modules that it loads."""
        return Path(self.command[-1]).parent if self.origin is not Origin.PREBUILT else Path(sys.prefix)


def find_program(named: Path | None = None) -> Program:
    """The llama-server to start.

    Args:
        named: what the operator names; None: the wheel's, and else xllamacpp's.

    Raises:
        SettingsError: the named file cannot be started.
        EngineFailed: none is installed.
    """
    if named is not None:
        return Program(Origin.NAMED, (str(_executable(named)),))
    for found in (in_wheel(), prebuilt()):
        if found is not None:
            return found
    raise EngineFailed(f"llama-server is not installed; in the clone: {INSTALL}; or name one: --llama-server FILE")


def in_wheel() -> Program | None:
    """The one that `server/native/wheel.py` compiles into the wheel of llama-cpp-python, if it is installed."""
    spec = find_spec("llama_cpp")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        file = Path(place) / _LIBRARY / _NAME
        if file.is_file():
            if not os.access(file, os.X_OK):  # pip marks files as executable only where the wheel does
                file.chmod(file.stat().st_mode | 0o111)
            return Program(Origin.WHEEL, (str(file),), _version("llama-cpp-python"))
    return None


def prebuilt() -> Program | None:
    """The one in the package xllamacpp, if it is installed."""
    if find_spec("xllamacpp") is None:
        return None
    module = "quizglass_server.engines.generator.process.prebuilt"
    return Program(Origin.PREBUILT, (sys.executable, "-P", "-m", module), _version("xllamacpp"))


def _executable(named: Path) -> Path:
    """The named file, or the program of that name in PATH."""
    found = named if named.exists() else Path(shutil.which(str(named)) or named)
    if not found.exists():
        raise SettingsError(f"llama_server: {named} does not exist; name llama.cpp's llama-server")
    if found.is_dir():
        raise SettingsError(f"llama_server: {named} is a directory; name the file llama-server in it")
    if not os.access(found, os.X_OK):
        raise SettingsError(f"llama_server: {named} cannot be executed by this user; chmod +x it, or name another")
    return found.absolute()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
