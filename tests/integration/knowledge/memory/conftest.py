"""What tests of the visual memory share."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest


@pytest.fixture
def midday(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A time zone in which it is about noon now: no day ends while a test runs that says "today"."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", f"NOON{time.gmtime().tm_hour - 12:+d}")
        time.tzset()
        yield
    time.tzset()
