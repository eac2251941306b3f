"""Counting descriptors, and keeping some back."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
from collections.abc import Iterator

import pytest

from quizglass_server import descriptors
from quizglass_server.descriptors import OWN, ConnectionRoom, connection_room, connections_allowed
from quizglass_server.errors import SettingsError


@pytest.fixture
def few() -> Iterator[int]:
    """Allows this process no more than a few more than it has."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = descriptors.in_use() + 40
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    yield most
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_what_is_open_is_counted() -> None:
    gc.collect()  # what only garbage of earlier tests has open
    before = descriptors.in_use()
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(5)]
    assert descriptors.in_use() == before + 5
    for each in opened:
        os.close(each)
    assert descriptors.in_use() == before


def test_connections_get_what_the_server_does_not_need(few: int) -> None:
    assert descriptors.for_connections() == 0
    assert descriptors.raise_limit() == descriptors.limit() > few
    assert descriptors.for_connections() == descriptors.limit() - descriptors.in_use() - descriptors.OWN


def exhausted() -> list[int]:
    """All descriptors that are left, opened."""
    taken = []
    while True:
        try:
            taken.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            return taken


def test_a_reserve_is_there_when_nothing_else_is(few: int) -> None:
    reserve = descriptors.Reserve(6)
    assert reserve.fill()
    taken = exhausted()
    try:
        with pytest.raises(OSError, match="Too many open files"):
            os.pipe()
        with reserve.spent():
            pipes = [os.pipe() for _ in range(3)]
            for end in (end for pipe in pipes[1:] for end in pipe):
                os.close(end)
        with pytest.raises(OSError, match="Too many open files"):
            os.pipe()
        assert not reserve.fill(), "the first pipe is still open"
        for end in pipes[0]:
            os.close(end)
        assert reserve.fill()
    finally:
        reserve.empty()
        for each in taken:
            os.close(each)


def test_the_soft_limit_is_raised_as_far_as_the_system_allows() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (100, 300));"
        "from quizglass_server.descriptors import raise_limit; print(raise_limit());"
        "print(*resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["300", "300", "300"]


@pytest.mark.parametrize(("limit", "allowed"), [(10_000, 1024), (300, 300 - 20 - OWN)])
def test_connections_are_what_the_descriptors_leave(monkeypatch: pytest.MonkeyPatch, limit: int, allowed: int) -> None:
    monkeypatch.setattr(descriptors, "limit", lambda: limit)
    monkeypatch.setattr(descriptors, "in_use", lambda: 20)
    assert connections_allowed(0) == allowed
    assert connections_allowed(5) == 5


@pytest.mark.parametrize(("limit", "wanted"), [(10_000, 9_990), (OWN, 0)])
def test_too_few_descriptors_are_said_at_the_start(monkeypatch: pytest.MonkeyPatch, limit: int, wanted: int) -> None:
    monkeypatch.setattr(descriptors, "limit", lambda: limit)
    monkeypatch.setattr(descriptors, "in_use", lambda: 20)
    with pytest.raises(SettingsError, match=r"max_connections: .*ulimit -n"):
        connections_allowed(wanted)


@pytest.mark.parametrize(
    ("limit", "wanted", "web", "room"),
    [
        (20_000, 0, False, ConnectionRoom(1024, 2048, 0)),
        (20_000, 0, True, ConnectionRoom(1024, 2048, 512)),
        (20_000, 5, True, ConnectionRoom(5, 10, 512)),
        (1024, 0, False, ConnectionRoom(657, 876, 0)),
        (1024, 0, True, ConnectionRoom(411, 548, 292)),
    ],
)
def test_connections_of_both_kinds_fit_into_the_descriptors(
    monkeypatch: pytest.MonkeyPatch, limit: int, wanted: int, web: bool, room: ConnectionRoom
) -> None:
    monkeypatch.setattr(descriptors, "limit", lambda: limit)
    monkeypatch.setattr(descriptors, "in_use", lambda: 20)
    assert connection_room(wanted, web=web) == room
    assert room.rpc_open + room.web * 9 // 8 <= limit - 20 - OWN
