"""Descriptors are counted before connections are promised."""

import subprocess
import sys

import pytest

from quizglass_server import descriptors
from quizglass_server.descriptors import RESERVE, connections_allowed, raise_limit
from quizglass_server.errors import SettingsError

resource = pytest.importorskip("resource")


def test_the_soft_limit_is_raised_as_far_as_the_system_allows() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (100, 300));"
        "from quizglass_server.descriptors import raise_limit; print(raise_limit());"
        "print(*resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["300", "300", "300"]


@pytest.mark.parametrize(("limit", "allowed"), [(10_000, 1024), (300, 300 - 20 - RESERVE)])
def test_connections_are_what_the_descriptors_leave(monkeypatch: pytest.MonkeyPatch, limit: int, allowed: int) -> None:
    monkeypatch.setattr(descriptors, "raise_limit", lambda: limit)
    monkeypatch.setattr(descriptors, "_open_now", lambda: 20)
    assert connections_allowed(0) == allowed
    assert connections_allowed(5) == 5


@pytest.mark.parametrize(("limit", "wanted"), [(10_000, 9_990), (RESERVE, 0)])
def test_too_few_descriptors_are_said_at_the_start(monkeypatch: pytest.MonkeyPatch, limit: int, wanted: int) -> None:
    monkeypatch.setattr(descriptors, "raise_limit", lambda: limit)
    with pytest.raises(SettingsError, match=r"max_connections: .*ulimit -n"):
        connections_allowed(wanted)


def test_this_process_has_some() -> None:
    assert raise_limit() > descriptors._open_now() > 0
