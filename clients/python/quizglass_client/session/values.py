"""How a session is kept, and its events besides its turns. `quizglass.session` has what goes over its link."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, fields

from quizglass.convert import client_message
from quizglass.session import (
    ClientSaid,
    Forgotten,
    FrameStatus,
    GoAway,
    Notice,
    OutputProfile,
    PostureChange,
    Restored,
)
from quizglass_client.access import OPEN, Access
from quizglass_client.errors import InvalidRequest
from quizglass_client.session.turns import TurnFeed
from quizglass_client.timing import check_seconds

_MOST = 1 << 31


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """How a session is kept.

    Raises:
        InvalidRequest: one of its times cannot be waited for.
    """

    connect_timeout: float = 5.0
    """Seconds in which a server has to answer."""
    patience: float | None = 120.0
    """Seconds without a link after which the session is given up; None: never."""
    keepalive: float | None = None
    """Seconds between gRPC's own keepalive pings; None: the session's pings are enough."""
    output: OutputProfile = field(default_factory=OutputProfile)
    """What answers should look like."""
    local_only: bool = False
    """Whether what it is given stays on the server's machine."""
    state: bytes = b""
    """State of an earlier session, whose dialogue goes on."""
    access: Access = OPEN
    """What a proxy before the server asks for."""

    def __post_init__(self) -> None:
        check_seconds("connect_timeout", self.connect_timeout)
        check_seconds("patience", self.patience, above_zero=False)
        check_seconds("keepalive", self.keepalive)


@dataclass(frozen=True, slots=True)
class Listening:
    """A microphone that stays open."""

    feeds: asyncio.Queue[TurnFeed | None]
    """Of its questions, one after the other; then None."""
    recording: asyncio.Task[None]
    """Reads it."""


@dataclass(frozen=True, slots=True)
class LinkLost:
    """The link broke; another one is being made."""

    reason: str


@dataclass(frozen=True, slots=True)
class LinkRestored:
    """There is a link again, or the first one of a session that takes over an earlier one's `state`, and how much there
    is of the session: all, its dialogue, or none of it."""

    restored: Restored
    reason: str
    """Why not all of it."""
    after: float
    """Seconds without a link."""


News = LinkLost | LinkRestored | FrameStatus | Notice | GoAway | PostureChange | Forgotten
"""Events of a session, and not of one of its turns."""


def check_output(output: OutputProfile) -> None:
    """See that a profile can be sent; the server judges it.

    Raises:
        InvalidRequest: a number is below 0, or no number.
    """
    for each in fields(output):
        value = getattr(output, each.name)
        if isinstance(value, int | float) and not 0 <= value < _MOST:
            raise InvalidRequest.of(f"output.{each.name}", f"{value} is not 0 or more")


def check_played(name: str, value: float) -> None:
    """See that how much was played can be sent. Raises InvalidRequest: it is below 0, or no number."""
    if not 0 <= value < _MOST:
        raise InvalidRequest.of(name, f"{value} is not 0 or more")


def check_said(said: ClientSaid, name: str) -> None:
    """See that a message can be sent: what cannot would end the link that it is sent over, and every one after it.

    Args:
        said: what is to be sent.
        name: of the argument that it comes from, for the error.

    Raises:
        InvalidRequest: it has a number that is too large, a text that is none, or something of another type.
    """
    try:
        client_message(said)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidRequest.of(name, f"cannot be sent: {error}") from None
