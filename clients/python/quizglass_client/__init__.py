"""Client of a quizglass server.

    from quizglass_client import Client

    with Client("127.0.0.1:50061") as client:
        answer = client.answer("How much does this cost?", "photo.jpg")
        print(answer.text, answer.done.citations)

`AsyncClient` has the same calls for asyncio. Durations are seconds, values are frozen, and every call that fails raises
a subclass of `ClientError`.
"""

from quizglass.values import (
    Accepted,
    AnswerDelta,
    Capabilities,
    Citation,
    Confirmed,
    Decided,
    Deleted,
    Done,
    Evidence,
    EvidenceFound,
    Filter,
    ForgottenSightings,
    MemoryStats,
    Plan,
    PlanMade,
    Provisional,
    Queries,
    QueryRewritten,
    Refused,
    Region,
    RoleCapability,
    Sighting,
    StageTiming,
    StepDetail,
    StepEnded,
    Verdict,
    Withdrawn,
)
from quizglass.values import TurnEvent as Payload
from quizglass_client.aio import AsyncClient, AsyncDialogue
from quizglass_client.channel import DEFAULT_TARGET
from quizglass_client.errors import (
    Cancelled,
    ClientError,
    DeadlineExceeded,
    InvalidRequest,
    NotFound,
    NotPermitted,
    NotSupported,
    Overloaded,
    ServerError,
    ServerUnavailable,
    SessionLost,
    Unauthenticated,
)
from quizglass_client.session.aio import AsyncSession, AsyncTurn
from quizglass_client.session.sync import Session, Turn
from quizglass_client.session.values import LinkLost, LinkRestored, News
from quizglass_client.sync import Client, Dialogue
from quizglass_client.types import (
    AddReport,
    Answer,
    AskOptions,
    Entry,
    EntryFields,
    Event,
    NoteReceipt,
    PictureLike,
)

__all__ = [
    "DEFAULT_TARGET",
    "Accepted",
    "AddReport",
    "Answer",
    "AnswerDelta",
    "AskOptions",
    "AsyncClient",
    "AsyncDialogue",
    "AsyncSession",
    "AsyncTurn",
    "Cancelled",
    "Capabilities",
    "Citation",
    "Client",
    "ClientError",
    "Confirmed",
    "DeadlineExceeded",
    "Decided",
    "Deleted",
    "Dialogue",
    "Done",
    "Entry",
    "EntryFields",
    "Event",
    "Evidence",
    "EvidenceFound",
    "Filter",
    "ForgottenSightings",
    "InvalidRequest",
    "LinkLost",
    "LinkRestored",
    "MemoryStats",
    "News",
    "NotFound",
    "NotPermitted",
    "NotSupported",
    "NoteReceipt",
    "Overloaded",
    "Payload",
    "PictureLike",
    "Plan",
    "PlanMade",
    "Provisional",
    "Queries",
    "QueryRewritten",
    "Refused",
    "Region",
    "RoleCapability",
    "ServerError",
    "ServerUnavailable",
    "Session",
    "SessionLost",
    "Sighting",
    "StageTiming",
    "StepDetail",
    "StepEnded",
    "Turn",
    "Unauthenticated",
    "Verdict",
    "Withdrawn",
]
