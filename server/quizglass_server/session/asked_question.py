"""One question of a session, from when it was asked until it is over."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from quizglass.session import SessionAsk
from quizglass_server.assistant.turn.stages import StageWatch
from quizglass_server.domain.turns import Turn
from quizglass_server.scheduling.ledger import ByteLedger
from quizglass_server.session.conversation import Said
from quizglass_server.session.segments import Segmenter


@dataclass(eq=False, slots=True)
class AskedQuestion:
    """A question that waits or runs."""

    ask: SessionAsk
    message_id: int
    turn: Turn
    policy: str
    said: Said
    segmenter: Segmenter
    asked: float = field(default_factory=time.monotonic)
    began: float = 0.0
    """When it was accepted; 0: not yet."""
    seq: int = 0
    stage: str = "queue"
    watch: StageWatch = field(default_factory=StageWatch)
    ledger: ByteLedger = field(default_factory=ByteLedger)
    frame: bytes = b""
    """SHA-256 of the frame that it names, whatever was put in its place."""
    looked: float = 0.0
    """Seconds of its budget that went into seeing whether its frame is too small."""
    unseen: bool = False
    """Whether a sharper part was asked for and did not come."""
    spoken: bool = False
    """Whether it was heard, and not written."""
    over: bool = False
    task: asyncio.Task[None] | None = None
    before: frozenset[asyncio.Task[None]] = frozenset()
    """Tasks of questions that were ended when it began, which may still hold engines and a permit."""

    async def engines_free(self) -> None:
        """Wait until those have let go of both."""
        if self.before:
            await asyncio.wait(self.before)
