"""The command `quizglass knowledge` as a function, for tests."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from quizglass_client.cli import main

Ran = tuple[int, dict[str, Any], str]
"""Exit status, what it reported as JSON, and its standard error."""


def knowledge_command(target: str, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Runs it against a server with the words given."""

    def run(*words: object) -> Ran:
        status = main(["--server", target, "knowledge", *map(str, words), "--json"])
        out, err = capsys.readouterr()
        return status, json.loads(out) if out else {}, err

    return run
