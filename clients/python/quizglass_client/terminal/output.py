"""What commands print: JSON lines for programs, tables for people, and errors that say what to do next."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import sys
from collections.abc import Mapping
from enum import Enum

from rich.console import Console
from rich.text import Text

from quizglass.convert import event_name
from quizglass.text import plain
from quizglass.values import TurnEvent
from quizglass_client import errors
from quizglass_client.terminal.reachable import reason_unreachable
from quizglass_client.terminal.usage import FAILED, UNAVAILABLE
from quizglass_client.types import Event

_PIPED_WIDTH = 240
"""Columns of a table in a pipe: a row of evidence with its text of 160 characters is one line."""
_UNPRINTABLE = re.compile("[\x7f-\x9f\ud800-\udfff]")

_PLACE = frozenset(field.name for field in dataclasses.fields(TurnEvent))


def print_json(value: object) -> None:
    """One JSON value on one line, at once; in ASCII where standard output lacks some of its characters."""
    line = json_line(value)
    if sys.stdout is None:  # it was closed
        return
    try:
        line.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        line = json.dumps(json.loads(line))
    print(line, flush=True)


def json_line(value: object) -> str:
    """A value as JSON that every terminal and file takes."""
    line = json.dumps(as_json(value), ensure_ascii=False)
    # JSON leaves DEL, C1 and lone surrogates as they are; terminals obey some of the former, UTF-8 lacks the latter.
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", line)


def as_json(value: object) -> object:
    """SDK values as JSON values: bytes in hexadecimal, plans by name, an event's payload beside its number."""
    if isinstance(value, Event):
        return as_fields(value)
    if dataclasses.is_dataclass(value):
        return _fields(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return {str(as_json(key)): as_json(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [as_json(item) for item in value]
    return value


def as_fields(event: Event) -> dict[str, object]:
    """An event as a JSON object: its payload beside its name, number and place."""
    about: dict[str, object] = {"turn_id": event.turn_id, "seq": event.seq, "elapsed": event.elapsed}
    about |= {"round": event.round} if event.round else {}
    about |= {"branch": event.branch} if event.branch else {}
    return about | {"event": event_name(event.payload)} | _fields(event.payload)


def _fields(value: object) -> dict[str, object]:
    return {
        field.name: as_json(getattr(value, field.name))
        for field in dataclasses.fields(value)  # type: ignore[arg-type]  # the caller has checked
        if field.name not in _PLACE or not isinstance(value, TurnEvent)
    }


def say(message: str) -> None:
    """A message on standard error."""
    console = Console(stderr=True, highlight=False)
    console.print(Text.assemble(("quizglass: ", "bold red"), plain(message)), soft_wrap=True)


def report(error: errors.ClientError, server: str, *, budgeted: bool = False, tls: bool = False) -> int:
    """Tell of a failed call on standard error, with what to do next; returns the exit status.

    Args:
        error: of the call.
        server: that was called.
        budgeted: whether the command takes --budget.
        tls: whether the connection is encrypted.
    """
    lost = isinstance(error, errors.ServerUnavailable) and not error.reason
    if lost and not tls and (why := reason_unreachable(server)):
        say(why)
        return UNAVAILABLE
    advice = _advice(error, budgeted)
    # Of a lost connection gRPC tells more about itself than about what happened; of a certificate, it tells what.
    say("; ".join(part for part in (f"no answer from {server}" if lost and not tls else error.message, advice) if part))
    return UNAVAILABLE if isinstance(error, errors.ServerUnavailable) else FAILED


def _advice(error: errors.ClientError, budgeted: bool) -> str:
    match error:
        case errors.ServerUnavailable(reason=""):
            return "is quizglass-server running there? Start it, or name another with --server"
        case errors.ServerUnavailable(reason="STOPPING" | "KNOWLEDGE_FAILED", retry_after=None):
            return ""  # the message says it
        case errors.ServerUnavailable(retry_after=None):
            return "try again in a moment"
        case errors.Overloaded(retry_after=None):
            return ""  # too large at any time, or a full disk; the message says what to do
        case errors.ServerUnavailable(retry_after=seconds) | errors.Overloaded(retry_after=seconds):
            return f"try again in {seconds:g} s"
        case errors.Unauthenticated():
            return "on the command line: --token-file FILE, or QUIZGLASS_TOKEN_FILE"
        case errors.DeadlineExceeded():
            return "the server took too long; " + ("give it more time with --budget" if budgeted else "try again")
        case _:
            # The server's own messages say what to do.
            return ""


def stdout() -> Console:
    """Console for results. Text that is piped is never cut to a terminal's width, and tables have room for theirs."""
    piped = sys.stdout is not None and not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(file=sys.stdout, highlight=False, width=_PIPED_WIDTH if piped else None)
