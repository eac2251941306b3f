"""SHA-256 of files and settings, in hex."""

from __future__ import annotations

import json
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's content. Raises OSError."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def fingerprint(**made_of: Any) -> str:
    """SHA-256 of everything that decides what a model makes: hashes of its files, and settings as JSON."""
    return sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()
