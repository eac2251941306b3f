"""Structured logs on standard error: a message and named fields, for people or as one JSON object a line.

Fields are what callers pass as `extra`, and in the work of a call `peer`, `client`, `caller` and `tenant`. Questions,
answers and pictures are never logged: they are the wearer's.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import WatchedFileHandler
from pathlib import Path
from time import monotonic
from types import MappingProxyType

from quizglass.text import plain
from quizglass_server.errors import SettingsError

AUDIT = "audit"
"""Field of lines that belong into the audit log; shown nowhere."""
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", AUDIT}
_MAX_FIELD_CHARS = 500
_CALLER: ContextVar[Mapping[str, str]] = ContextVar("caller", default=MappingProxyType({}))


def set_peer(peer: str, client: str = "", caller: str = "", tenant: str = "") -> None:
    """Name the client in all that the current task logs from now on, and the tasks that it begins.

    Args:
        peer: whose connection it is, as address:port.
        client: address of the client that a trusted proxy asks for; empty: the peer is the client.
        caller: name of the token that came; empty: none is needed.
        tenant: whose token that is; empty: the server's own.
    """
    _CALLER.set({"peer": peer, "client": client, "caller": caller, "tenant": tenant})


def configure(style: str, level: str, audit_log: Path | None = None) -> None:
    """Send all logs to standard error, and Python's warnings with them, which would be lines of no format.

    Args:
        style: "human" or "json".
        level: "debug", "info", "warning" or "error".
        audit_log: file to which the lines that have the field `audit` are added, as JSON and whatever the level.

    Raises:
        SettingsError: that file cannot be written.
    """
    if style == "json":  # gRPC has lines of its own there, and reads this when it is imported
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if style == "json" else HumanFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    if audit_log is not None:
        root.addHandler(_AuditHandler(audit_log))
    set_level(level)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    logging.captureWarnings(True)


def set_level(level: str) -> None:
    """Show lines from this level on: "debug", "info", "warning" or "error". The audit log has its own anyway."""
    root, shown = logging.getLogger(), level.upper()
    audited = False
    for handler in root.handlers:
        if isinstance(handler, _AuditHandler):
            audited = True
        else:
            handler.setLevel(shown)
    root.setLevel(shown)
    if audited:
        root.setLevel(min(root.level, logging.INFO))


def opened_audit_log(path: Path) -> int:
    """A descriptor that adds to the audit log, which this user alone can read; it is made where there is none.

    Raises:
        SettingsError: it cannot be written.
    """
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    except OSError as error:
        raise SettingsError(f"audit_log: {path}: {error.strerror or error}; name a file that can be written") from error


class _AuditHandler(WatchedFileHandler):
    """Adds lines to a file that this user alone can read; one that was moved away is begun anew."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.setFormatter(JsonFormatter())
        self.addFilter(lambda record: hasattr(record, AUDIT))
        self._logger = RateLimitedLogger(logging.getLogger(__name__))

    def _open(self) -> TextIOWrapper:
        return open(opened_audit_log(Path(self.baseFilename)), "a", encoding="utf-8")  # for its mode

    def emit(self, record: logging.LogRecord) -> None:
        """Add a line. An error here, such as a file that cannot be begun anew, does not fail the logged request."""
        try:
            try:
                super().emit(record)
            except OSError:  # a file that was moved away does not take what waits for it
                self._give_up_file()
                super().emit(record)
        except (SettingsError, OSError):
            self.handleError(record)

    def _give_up_file(self) -> None:
        """Begin with the next line as at the start. Lines that wait were said to be missing."""
        if self.stream is not None:
            with suppress(OSError):
                self.stream.close()
            self.stream = None  # as the handler itself does

    def handleError(self, record: logging.LogRecord) -> None:
        """Say on standard error that a line is missing."""
        self._logger.warning("the audit log cannot be written", why=str(sys.exc_info()[1]))


class RateLimitedLogger:
    """Warnings that others can cause at will: each message at most once in a while, with how many were left out."""

    def __init__(self, logger: logging.Logger, every_s: float = 10.0, now: Callable[[], float] = monotonic) -> None:
        self._logger = logger
        self._every_s = every_s
        self._now = now
        self._last: dict[str, float] = {}
        self._left_out: Counter[str] = Counter()

    def warning(self, message: str, **fields: object) -> None:
        """Log, or count. There must be few different messages; what differs belongs into the fields."""
        now = self._now()
        if now - self._last.get(message, -self._every_s) < self._every_s:
            self._left_out[message] += 1
            return
        self._last[message] = now
        self._logger.warning(message, extra={**fields, "left_out": self._left_out.pop(message, None)})


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time (UTC), level, logger, message, then the fields."""

    def format(self, record: logging.LogRecord) -> str:
        """A line without its end."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **fields(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        # In ASCII: standard error would escape what its encoding lacks in a way that is no JSON.
        return json.dumps(line, default=str)


class HumanFormatter(logging.Formatter):
    """Local time, level, message, then the fields as name=value."""

    def format(self, record: logging.LogRecord) -> str:
        """A line without its end; a traceback follows on lines of its own."""
        clock = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S.%f")[:-3]
        named = "".join(f"  {name}={_plain(value)}" for name, value in fields(record).items())
        text = f"{clock} {record.levelname.lower():<7} {_one_line(record.getMessage())}{named}"
        return f"{text}\n{plain(self.formatException(record.exc_info))}" if record.exc_info else text


def fields(record: logging.LogRecord) -> Mapping[str, object]:
    """The fields of a record that is being logged, without those that say nothing (None, empty). What is known of the
    caller counts before what the record says, which may name whose device it is while the caller has no token yet.
    """
    caller = {name: value for name, value in _CALLER.get().items() if value}
    return {
        name: value
        for name, value in {**vars(record), **caller}.items()
        if name not in _OWN and value is not None and value != [] and value != ""
    }


def _plain(value: object) -> str:
    """A value that cannot be mistaken for the next field."""
    text = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    text = text[:_MAX_FIELD_CHARS]
    return text if text.isprintable() and " " not in text else json.dumps(text)


def _one_line(text: str) -> str:
    """Control characters in a message must not forge lines of log."""
    return "".join(character if character.isprintable() else " " for character in text)
