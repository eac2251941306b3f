"""What a tenant or a token may still take of the server, under its quota.

Like the client, the allowances of the current caller travel with the context. Bytes and engine seconds are charged when
they are known, which may take an allowance below zero; the next request then waits until it is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from threading import Lock
from time import monotonic
from typing import Annotated

from annotated_types import Ge, Gt

from quizglass_server.errors import QuotaExceeded

_MINUTE_S = 60.0
_LEAST_RETRY_S, _TURNS_RETRY_S = 0.05, 1.0


@dataclass(frozen=True, slots=True)
class Quota:
    """The most of each; None: as much as the server has."""

    engine_s: Annotated[float, Gt(0)] | None = None
    """Seconds in which engines compute, a minute."""
    turns: Annotated[int, Ge(1)] | None = None
    """Turns and searches at once, those that wait included."""
    upload_bytes: Annotated[int, Ge(1)] | None = None
    """Bytes of requests, a minute."""
    stored_bytes: Annotated[int, Ge(1)] | None = None
    """Bytes of the tenant's stores on the disk. Of a token it means nothing."""


QUOTAS = tuple(each.name for each in fields(Quota))


class _Bucket:
    """What is used up at will, and comes back evenly within a minute."""

    def __init__(self) -> None:
        self._used = 0.0
        self._at = monotonic()

    def use(self, amount: float, most: float) -> None:
        self._used, self._at = self.used(most) + amount, monotonic()

    def used(self, most: float) -> float:
        return max(0.0, self._used - (monotonic() - self._at) * most / _MINUTE_S)

    def wait_s(self, most: float) -> float:
        """Seconds until something is left; 0: something is."""
        over = self.used(most) - most
        return 0.0 if over < 0 else max(_LEAST_RETRY_S, over * _MINUTE_S / most)


class Allowance:
    """What one tenant, or one token, may still take; safe to share between threads.

    Args:
        whose: names it for errors: "tenant" or "token".
        quota: the most of each.
    """

    def __init__(self, whose: str, quota: Quota) -> None:
        self.quota = quota
        """May be replaced while it is in use."""
        self._whose = whose
        self._engine, self._upload = _Bucket(), _Bucket()
        self._turns = 0
        self._lock = Lock()

    def check(self) -> None:
        """See that another turn may begin. Raises QuotaExceeded."""
        quota = self.quota
        if quota.turns is not None and self._turns >= quota.turns:
            raise QuotaExceeded(self._whose, "turns", f"{quota.turns} at once", _TURNS_RETRY_S)
        self.check_engines()

    def check_engines(self) -> None:
        """See that engines may compute more. Raises QuotaExceeded."""
        if (most := self.quota.engine_s) is None:
            return
        with self._lock:
            wait_s = self._engine.wait_s(most)
        if wait_s:
            raise QuotaExceeded(self._whose, "engine_s", f"{most:g} seconds a minute", wait_s)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Count the block as a turn. Raises QuotaExceeded: it must not begin."""
        self.check()
        self._turns += 1
        try:
            yield
        finally:
            self._turns -= 1

    def computed(self, seconds: float) -> None:
        """Charge time of engines."""
        if (most := self.quota.engine_s) is not None:
            with self._lock:
                self._engine.use(seconds, most)

    def check_upload(self) -> None:
        """See that another message may come. Raises QuotaExceeded: those before it were too many already."""
        if (most := self.quota.upload_bytes) is None:
            return
        with self._lock:
            wait_s = self._upload.wait_s(most)
        if wait_s:
            raise QuotaExceeded(self._whose, "upload_bytes", f"{most} bytes a minute", wait_s)

    def uploaded(self, size: int) -> None:
        """Charge bytes that came."""
        if (most := self.quota.upload_bytes) is not None:
            with self._lock:
                self._upload.use(size, most)

    def stored(self, size: int) -> None:
        """See that a store of this many bytes may have more. Raises QuotaExceeded."""
        most = self.quota.stored_bytes
        if most is not None and size >= most:
            raise QuotaExceeded(self._whose, "stored_bytes", f"{most} bytes", None)


_allowances: ContextVar[tuple[Allowance, ...]] = ContextVar("allowances", default=())


def current_allowances() -> tuple[Allowance, ...]:
    """Those of the current caller: its tenant's, then its token's. Empty: it has no token."""
    return _allowances.get()


@contextmanager
def allowed(allowances: tuple[Allowance, ...]) -> Iterator[None]:
    """Do the block's work under these."""
    token = _allowances.set(allowances)
    try:
        yield
    finally:
        _allowances.reset(token)


def check_allowances() -> None:
    """See that the current caller may begin another turn. Raises QuotaExceeded."""
    for each in current_allowances():
        each.check()


def check_engines() -> None:
    """See that engines may compute more for the current caller, for what is no turn. Raises QuotaExceeded."""
    for each in current_allowances():
        each.check_engines()


@contextmanager
def counted_turn() -> Iterator[None]:
    """Count the block as a turn of the current caller. Raises QuotaExceeded: it must not begin."""
    with ExitStack() as counted:
        for each in current_allowances():
            counted.enter_context(each.turn())
        yield


def count_upload(size: int, *, begun: bool = False) -> None:
    """Charge the current caller for bytes of a request; what is refused is charged to none of its allowances.

    Args:
        size: the bytes.
        begun: whether they go on with a message whose beginning was taken, which is then taken to its end.

    Raises:
        QuotaExceeded: those of earlier messages were too many already.
    """
    if not begun:
        for each in current_allowances():
            each.check_upload()
    for each in current_allowances():
        each.uploaded(size)
