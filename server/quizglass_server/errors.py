"""What can go wrong, in the server's own words.

Nothing here knows gRPC: `rpc/transport/status.py` maps each class to a status, and a test asserts that none is missing.

    QuizglassError
    ├── InvalidInput            a field of the request is wrong
    │   ├── InvalidPicture      the picture is
    │   ├── SessionForged       the session was not made by this server
    │   ├── SessionUnknownKey   its key is not one of this server's
    │   ├── SessionExpired      its time is over
    │   └── SessionForeign      it is another client's
    ├── NotFound                something named does not exist
    │   └── SessionUnknown      a session is not open (any more)
    ├── Superseded              a newer link has taken a session over
    ├── TurnRunning             a question is not to wait, and another one runs
    ├── SpeechRunning           a spoken question begins before the one before has ended
    ├── Stopping                the server takes nothing new, since it stops
    ├── RoleMissing             the bundle has no model for what was asked
    ├── MemoryOff               the server remembers nothing
    ├── NotLocal                what was asked for would leave the machine, and must not
    ├── Unauthenticated         no valid token came with the call
    ├── NotPermitted            the token does not allow it
    ├── FilterFailed            the operator's filter of frames failed; the frame is not used
    ├── Overloaded              no room; try again after a delay
    ├── BudgetExceeded          the time ran out before anything could be answered
    ├── Unfinished              a message did not come, or not whole, in time
    ├── EngineLost              an engine died or cannot be reached
    ├── EngineFailed            an engine answered with a failure
    ├── KnowledgeLocked         another server owns the knowledge directory
    ├── KnowledgeFailed         the knowledge store cannot be read or written
    │   ├── DiskFull            its disk is full
    │   └── KnowledgeLost       it is on another machine and does not answer
    ├── SourceFailed            a source of knowledge beside the store failed; turns go on without it
    ├── NotSupported            this server's knowledge backend cannot do it
    ├── BundleError             a bundle is damaged or incomplete
    ├── Unexpected              an unexpected failure
    └── SettingsError           a setting is unknown or wrong
        └── SettingMissing      one that must be given is not
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable
from typing import TypeVar

from quizglass_bundle.errors import BundleError as BundleError
from quizglass_bundle.errors import QuizglassError as QuizglassError
from quizglass_bundle.errors import SettingsError as SettingsError

M = TypeVar("M")
_ROLE_REMEDIES = {
    "hearing": "start the server with --hearing, see docs/voice.md",
    "voice": "start the server with --voice, see docs/voice.md",
}

logger = logging.getLogger(__name__)


class InvalidInput(QuizglassError):
    """A field of the request is wrong; `field` is its path in the request."""

    code = "INVALID_FIELD"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}", field=field)
        self.field = field
        self.description = message


class InvalidPicture(InvalidInput):
    """A picture cannot be used."""

    code = "INVALID_PICTURE"


class SessionForged(InvalidInput):
    """The session's token is not as a server made it."""

    code = "SESSION_FORGED"

    def __init__(self) -> None:
        super().__init__("session", "is not as a server made it; ask again without it, with the picture")


class SessionUnknownKey(InvalidInput):
    """The session was signed with a key that this server does not have."""

    code = "SESSION_UNKNOWN_KEY"

    def __init__(self) -> None:
        super().__init__(
            "session",
            "was signed with a key that this server does not have, by another one or before a restart; ask again "
            "without it, with the picture",
        )


class SessionExpired(InvalidInput):
    """The session's time is over."""

    code = "SESSION_EXPIRED"

    def __init__(self) -> None:
        super().__init__("session", "has expired; ask again without it, with the picture")


class SessionForeign(InvalidInput):
    """The session's state was given to another client."""

    code = "SESSION_FOREIGN"

    def __init__(self) -> None:
        super().__init__("state", "was given to another client; begin a new session without it")


class NotFound(QuizglassError):
    """Something named in the request does not exist."""

    code = "NOT_FOUND"


class SessionUnknown(NotFound):
    """There is no such session, or not any more."""

    code = "SESSION_UNKNOWN"

    def __init__(self) -> None:
        super().__init__("there is no such session; open one", field="session_id")


class Superseded(QuizglassError):
    """A newer link has taken the session over."""

    code = "SUPERSEDED"

    def __init__(self) -> None:
        super().__init__("a newer link of the same session has taken its place")


class TurnRunning(QuizglassError):
    """A question is to be refused where another one runs, and one does."""

    code = "TURN_RUNNING"

    def __init__(self, running: str) -> None:
        super().__init__("another question of this session is running", ask_id=running)


class SpeechRunning(QuizglassError):
    """A spoken question begins, and another one of its session has not ended."""

    code = "SPEECH_RUNNING"

    def __init__(self, running: str) -> None:
        super().__init__(
            "another spoken question of this session is listened to; end or cancel that one first", ask_id=running
        )


class Stopping(QuizglassError):
    """The server takes nothing new; another one, or this one restarted, will."""

    code = "STOPPING"

    def __init__(self) -> None:
        super().__init__("the server is stopping; try again in a moment")


class RoleMissing(QuizglassError):
    """The bundle has no model for a role that the request needs."""

    code = "ROLE_MISSING"

    def __init__(self, role: str, needed_by: str, field: str = "") -> None:
        remedy = _ROLE_REMEDIES.get(role, "use another policy or a bundle with it")
        super().__init__(f"the bundle has no {role}, which {needed_by} needs; {remedy}", role=role)
        self.role = role
        self.field = field
        """Field of the request that asked for what needs it; empty: the whole call does."""


def needed(model: M | None, role: str, needed_by: str) -> M:
    """The model of a role. Raises RoleMissing where the bundle has none, which names what needs it."""
    if model is None:
        raise RoleMissing(role, needed_by)
    return model


class MemoryOff(QuizglassError):
    """The server has no visual memory."""

    code = "MEMORY_OFF"

    def __init__(self) -> None:
        super().__init__("this server has no visual memory; start it with --memory-directory DIR to give it one")


class NotLocal(QuizglassError):
    """A session is to stay on this machine, and answering would leave it."""

    code = "NOT_LOCAL"

    def __init__(self, elsewhere: str) -> None:
        super().__init__(
            f"the session is LOCAL_ONLY, and this server has its {elsewhere} behind a network address; open a session "
            "without LOCAL_ONLY, or ask a server that has it on its machine",
            elsewhere=elsewhere,
        )


class Unauthenticated(QuizglassError):
    """No valid token came with the call; `why` is MISSING, MALFORMED, UNKNOWN, EXPIRED or REVOKED. Or no valid code for
    a token; it is CODE then."""

    code = "UNAUTHENTICATED"

    def __init__(
        self,
        message: str,
        why: str,
        remedy: str = "send `authorization: Bearer TOKEN` with one that the operator gave you",
    ) -> None:
        super().__init__(f"{message}; {remedy}", why=why)


class NotPermitted(QuizglassError):
    """The caller's token does not allow the call."""

    code = "NOT_PERMITTED"

    def __init__(self, name: str, needs: Iterable[str]) -> None:
        needed = " or ".join(sorted(needs))
        super().__init__(f"the token of {name} does not allow this: it takes {needed}", needs=needed)


class FilterFailed(QuizglassError):
    """The filter that frames pass first failed; the frame is not used."""

    code = "FILTER_FAILED"

    def __init__(self, field: str) -> None:
        super().__init__(
            f"{field}: the frame could not be filtered, so it is not used; see the server's log", field=field
        )


class Overloaded(QuizglassError):
    """No room for the request; `retry_after_s` seconds from now there may be, and never where that is None."""

    code = "OVERLOADED"

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class QuotaExceeded(Overloaded):
    """The caller's tenant or token has taken all that its quota allows."""

    code = "QUOTA_EXCEEDED"

    def __init__(self, whose: str, quota: str, most: str, retry_after_s: float | None) -> None:
        what = "try again later" if retry_after_s is not None else "delete something, or have the quota raised"
        super().__init__(f"the quota {quota} of this {whose} is used up ({most}); {what}", retry_after_s)
        self.metadata = {"quota": quota, "of": whose}


class BudgetExceeded(QuizglassError):
    """The time ran out before anything could be answered."""

    code = "BUDGET_EXCEEDED"


class Unfinished(QuizglassError):
    """A message did not come, or did not become whole, in time."""

    code = "UNFINISHED"

    def __init__(self, limit_s: float, remedy: str = "") -> None:
        super().__init__(f"no whole message came within {limit_s:g} s{remedy and f'; {remedy}'}")


class EngineLost(QuizglassError):
    """An engine died, hangs or cannot be reached; it is being restarted.

    Where it is known when it will be tried again, that is in `retry_after_s` seconds.
    """

    code = "ENGINE_LOST"

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class EngineFailed(QuizglassError):
    """An engine answered with a failure that is not the request's fault."""

    code = "ENGINE_FAILED"


class KnowledgeLocked(QuizglassError):
    """Another server owns the knowledge directory."""

    code = "KNOWLEDGE_LOCKED"


class KnowledgeFailed(QuizglassError):
    """The knowledge store cannot be read or written."""

    code = "KNOWLEDGE_FAILED"


class DiskFull(KnowledgeFailed):
    """The disk of a store is full; the message says so, and what to do. Searches go on."""

    code = "DISK_FULL"


class KnowledgeLost(KnowledgeFailed):
    """The knowledge store is elsewhere and does not answer; it is tried again.

    Where it is known when, that is in `retry_after_s` seconds.
    """

    code = "KNOWLEDGE_LOST"

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class SourceFailed(QuizglassError):
    """A source of knowledge beside the store failed, which was logged when it began to; turns go on without it."""

    code = "SOURCE_FAILED"

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"source {name}: {why}", source=name)


class CopiesLeft(KnowledgeFailed):
    """The store was compacted, but copies of it from before lie beside it, which may hold what was deleted.

    It stays so until they are removed.
    """

    code = "COPIES_LEFT"


class NotSupported(QuizglassError):
    """The backend that keeps this server's knowledge cannot do it."""

    code = "NOT_SUPPORTED"

    def __init__(self, backend: str, message: str) -> None:
        super().__init__(message, backend=backend)


class SettingMissing(SettingsError):
    """A setting that has no default was not given."""

    code = "SETTING_MISSING"


class Unexpected(QuizglassError):
    """An unexpected failure."""

    code = "UNEXPECTED"

    def __init__(self, incident: str) -> None:
        super().__init__(f"internal error; the server's log has it as incident {incident}", incident=incident)


def reported(error: Exception, rpc: str) -> QuizglassError:
    """A failure as clients see it; the rest goes to the log.

    Args:
        error: of an unexpected one, clients get an id by which the log has it, and nothing of its text.
        rpc: what was called.
    """
    if not isinstance(error, QuizglassError):
        incident = uuid.uuid4().hex[:12]
        logger.error("unexpected failure", extra={"incident": incident, "rpc": rpc}, exc_info=error)
        return Unexpected(incident)
    if isinstance(error, DiskFull):  # where it was noticed says nothing to whoever frees the space
        logger.error("request failed", extra={"rpc": rpc, "code": error.code, "reason": error.message})
    elif error.__cause__ is not None and not isinstance(error, InvalidInput):
        # Its message may send the operator to the log.
        logger.error("request failed", extra={"rpc": rpc, "code": error.code}, exc_info=error)
    return error
