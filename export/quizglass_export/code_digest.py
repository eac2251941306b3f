"""SHA-256 of the code that makes a bundle: what other code made is made again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import quizglass_bundle
import quizglass_server

EXPORT = Path(__file__).parent
BUNDLE = Path(quizglass_bundle.__file__).parent
SERVER = Path(quizglass_server.__file__).parent
_SERVER_ROOMS = ("domain", "engines", "roles")
"""The server's rooms that run a model."""


def modules(*folders: Path) -> list[Path]:
    """Every Python module in these folders and below them, folder by folder."""
    return [path for folder in folders for path in sorted(folder.rglob("*.py"))]


def serving_modules() -> list[Path]:
    """The modules that say what a manifest holds, and that make a model's inputs and run it."""
    return modules(BUNDLE, *(SERVER / room for room in _SERVER_ROOMS))


def files_digest(files: Iterable[Path]) -> str:
    """SHA-256 over the names, without their folders, and contents of files, in the order given."""
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
