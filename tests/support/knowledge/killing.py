"""Work on files that is killed at a step of it: what it had done until then stays as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

import pytest


class Killed(BaseException):
    """In the place of a kill: nothing that cleans up after errors may catch it."""


@contextmanager
def killed_at(step: int, calls: Sequence[tuple[Any, str]], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A block that ends with the call of that number, from 0, among `calls`, which is not made any more.

    Args:
        step: which call ends it; beyond the last one nothing does.
        calls: objects with the name of a function of each.
        monkeypatch: of the test; what it has patched besides stays patched.
    """
    numbers = count()

    def counted(do: Any) -> Any:
        def wrapper(*arguments: Any, **more: Any) -> Any:
            if next(numbers) == step:
                raise Killed
            return do(*arguments, **more)

        return wrapper

    with monkeypatch.context() as patch:
        for owner, name in calls:
            patch.setattr(owner, name, counted(getattr(owner, name)))
        with suppress(Killed):
            yield
