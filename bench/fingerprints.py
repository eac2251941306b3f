"""What is measured, told by its content, so that figures of other code or weights are not taken for present ones."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import ModuleType

from quizglass_bundle.files import Bundle
from quizglass_export.code_digest import files_digest, modules

_LENGTH = 12


@cache
def code(*packages: ModuleType) -> str:
    """Names the Python sources of packages, all of their rooms included."""
    return files_digest(modules(*(Path(str(package.__file__)).parent for package in packages)))[:_LENGTH]


def weights(bundle: Path) -> str:
    """Names a bundle by the hashes in its manifest.

    Raises:
        BundleError: there is none, or something is missing, extra or not as the format says.
    """
    return Bundle.load(bundle, hashes=False).digest[:_LENGTH]


def checkpoints(folder: Path) -> str:
    """Names the weights of all checkpoints below a folder."""
    return files_digest(sorted(folder.rglob("*.safetensors")))[:_LENGTH]
