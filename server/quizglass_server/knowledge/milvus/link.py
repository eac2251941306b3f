"""The connection to Milvus: bounded in time, tried again where that can help, and known to be lost when it is.

pymilvus waits and tries again by itself, but not when the server is gone; and left to itself it logs the expressions
of searches, which hold what people ask. Everything that is sent here may be sent twice: rows are named by who sends
them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from quizglass_server.config.address import MilvusAddress
from quizglass_server.errors import KnowledgeFailed, KnowledgeLost, SettingsError
from quizglass_server.scheduling.deadline import deadline

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

PATIENCE_S = 0.5
"""How long a search tries again while nothing answers: a turn has better things to do."""
_CONNECT_S = 1.0
_BACK_OFF_S = 0.05
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.25, 10.0
_GONE = ("UNAVAILABLE", "CANCELLED", "ABORTED")
_LATE = "DEADLINE_EXCEEDED"
_REFUSED = ("UNAUTHENTICATED", "PERMISSION_DENIED")
_CONNECT_FAILED, _RATE_LIMIT, _NOT_LOADED = 2, 8, 101  # codes of Milvus; the last one after it was restarted


@dataclass(frozen=True, slots=True)
class MilvusAccess:
    """Where a Milvus is, and how it is spoken to."""

    address: MilvusAddress
    token: str = field(default="", repr=False)
    """"user:password" or an API key; empty: none."""
    timeout_s: float = 10.0
    """How long one call may take."""


class MilvusLink:
    """One connection, for any number of threads. Calls block."""

    def __init__(self, access: MilvusAccess) -> None:
        """Connect. Raises KnowledgeLost, KnowledgeFailed, and SettingsError when the extra is not installed."""
        self.address = access.address
        self._timeout_s = access.timeout_s
        self._lock = threading.Lock()
        self._pause = 0.0
        self._again = 0.0
        self._told: Callable[[], None] = lambda: None
        self._client = self._connected(access.token)

    @property
    def ready(self) -> bool:
        """Whether the last call was answered."""
        return not self._pause

    @property
    def pause(self) -> float:
        """Seconds until the next attempt when nothing answers, else 0."""
        return max(0.0, self._again - time.monotonic()) if self._pause else 0.0

    def on_change(self, told: Callable[[], None]) -> None:
        """Have `told` called, on whatever thread, when the connection is lost or back."""
        self._told = told

    def run(self, job: Callable[[Any, float], Result], *, patience_s: float = PATIENCE_S) -> Result:
        """Give a job the client and its time limit in seconds.

        Args:
            job: one call; it may be made again.
            patience_s: how long it is tried again while nothing answers.

        Raises:
            KnowledgeLost: nothing answers, or not in time.
            KnowledgeFailed: Milvus answered with a failure.
        """
        if self.pause:
            raise self._lost()
        started, back_off = time.monotonic(), _BACK_OFF_S
        while True:
            left = self._left(started)
            if left <= 0:
                raise self._lost()
            try:
                result = job(self._client, left)
            except Exception as error:
                kind = _kind(error)
                if kind == "gone" and time.monotonic() + back_off - started < patience_s:
                    time.sleep(back_off)
                    back_off *= 2
                    continue
                raise self._explained(error, kind, left) from None  # its text may hold what was searched for
            self._answered()
            return result

    def close(self) -> None:
        """Close the connection; a Milvus Lite in this process is stopped, and its files are closed."""
        self._client.close()
        if self.address.in_process:
            from milvus_lite.server_manager import server_manager_instance

            server_manager_instance.release_server(self.address.uri)

    def _connected(self, token: str) -> Any:
        """A client; a server that does not answer yet may have been started together with this one."""
        connect = partial(
            _client_class(self.address),
            uri=self.address.uri,
            db_name=self.address.database,
            token=token,
            timeout=min(_CONNECT_S, self._timeout_s),
            dedicated=True,
        )
        if self.address.in_process:
            return self._opened(connect)
        started, back_off = time.monotonic(), _BACK_OFF_S
        while True:
            try:
                return connect()
            except Exception as error:
                kind = _kind(error)
                if kind != "gone" or time.monotonic() + back_off - started >= self._timeout_s:
                    raise self._explained(error, kind, self._timeout_s) from None
            time.sleep(back_off)
            back_off = min(2 * back_off, _CONNECT_S)

    def _opened(self, connect: Callable[[], Any]) -> Any:
        """A client of a file."""
        file = Path(self.address.uri)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise KnowledgeFailed(f"knowledge {file.parent}: cannot be created ({error.strerror})") from error
        try:
            return connect()
        except Exception as error:
            logger.warning("Milvus Lite cannot be opened: %s", getattr(error, "message", error))
            message = f"knowledge {self.address}: cannot be opened; is another server using it? The log says more"
            raise KnowledgeFailed(message) from None

    def _left(self, started: float) -> float:
        """Seconds that a call may take: as set, and not beyond what the caller waits for."""
        now, due = time.monotonic(), deadline()
        left = self._timeout_s - (now - started)
        return left if due is None else min(left, due - now)

    def _explained(self, error: Exception, kind: str, left: float) -> KnowledgeFailed:
        if kind == "gone" or (kind == "late" and left > self._timeout_s / 2):  # not: the caller had no time
            self._missed()
        if kind in ("gone", "late"):
            return self._lost()
        code = _code(error)
        logger.error("Milvus answered with a failure", extra={"milvus": str(self.address), "milvus_code": code})
        if code in _REFUSED:
            return KnowledgeFailed("Milvus refuses the token; give the server a valid knowledge_token_file")
        return KnowledgeFailed(f"Milvus answered with failure {code}; its own log says why")

    def _lost(self) -> KnowledgeLost:
        # Clients see the message; where Milvus is, is not their business.
        return KnowledgeLost("Milvus does not answer; check that it runs and can be reached", self.pause or None)

    def _missed(self) -> None:
        with self._lock:
            if self.pause:
                return  # of several calls that fail together, one counts
            first, self._pause = not self._pause, min(2 * self._pause or _FIRST_PAUSE_S, _LAST_PAUSE_S)
            self._again = time.monotonic() + self._pause
        if first:
            logger.warning("Milvus does not answer", extra={"milvus": str(self.address)})
            self._told()

    def _answered(self) -> None:
        if not self._pause:
            return
        with self._lock:
            was, self._pause = self._pause, 0.0
        if was:
            logger.info("Milvus answers again", extra={"milvus": str(self.address)})
            self._told()


def _code(error: Exception) -> str | int:
    """Name of the gRPC status, or number of Milvus's own code."""
    code = getattr(error, "code", 0)
    code = code() if callable(code) else code
    return str(code.name) if hasattr(code, "name") else int(code)


def _kind(error: Exception) -> str:
    """What is to be done about a failure: "gone" (try again), "late" (it may have been busy) or "failed"."""
    code = _code(error)
    if code in _GONE or code in (_CONNECT_FAILED, _RATE_LIMIT, _NOT_LOADED):
        return "gone"
    return "late" if code == _LATE or isinstance(error, TimeoutError) else "failed"


def _client_class(address: MilvusAddress) -> Any:
    try:
        if address.in_process:
            import milvus_lite  # noqa: F401  # pymilvus would only find out later
        from pymilvus import MilvusClient
    except ImportError as error:
        raise SettingsError("knowledge: Milvus needs more packages; in the clone: pip install '.[milvus]'") from error
    for name in ("pymilvus", "milvus_lite"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # they log expressions
    return MilvusClient
