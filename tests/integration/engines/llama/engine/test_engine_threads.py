"""The engine beside other work: it computes with fewer threads, and says the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parents[5]
_ENVIRONMENT = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}


@pytest.fixture(scope="module")
def found() -> Any:
    """What `tests.support.engines.engine_threads` prints."""
    command = [sys.executable, "-m", "tests.support.engines.engine_threads"]
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=_ROOT, env={**os.environ, **_ENVIRONMENT})
    return json.loads(run.stdout)


@pytest.mark.parametrize("counts", ["one", "two", "in turn"])
def test_answers_are_the_same_with_any_number_of_threads(found: Any, counts: str) -> None:
    assert found[counts] == found["alone"]


def test_threads_that_share_a_core_become_fewer(found: Any) -> None:
    assert 1 in found["counts"]
    assert found["sharing"] == found["alone"]


def test_a_picture_can_be_encoded_without_helpers(found: Any) -> None:
    single, both = found["helped"]
    assert single < 0.2 < both
    assert found["apart"] < 1e-5
