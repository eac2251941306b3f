"""SHA-256 of files and settings, in hex."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any


def fingerprint(**made_of: Any) -> str:
    """Of everything that decides what a model makes: hashes of its files, and settings as JSON."""
    return sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()
