"""From what a client asks to the turn that answers it, for whatever it came in by: checks, a place, the picture.

Knows no transport. Whoever has one converts a request to a `Question`, and the events to what the client reads.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace

from quizglass_server.assistant import checks
from quizglass_server.assistant.assistant import Assistant
from quizglass_server.assistant.frames import Frame, FrameStore
from quizglass_server.config.settings import Settings
from quizglass_server.domain.turns import Accepted, Done, Exchange, StageTiming, StepEnded, Turn, TurnEvent
from quizglass_server.errors import InvalidInput, NotFound
from quizglass_server.scheduling.budget import Budget
from quizglass_server.scheduling.deadline import due_within
from quizglass_server.session.dialogue import Dialogue, appended, follow, spoken
from quizglass_server.session.token import Sessions
from quizglass_server.turn.outbox import Outbox

MAX_EXCHANGE_CHARS = 2000
MAX_SESSION_CHARS = 64
MAX_ANSWER_TOKENS = 512
# Transports round the deadline that they send up, gRPC by as much as 1 %, and the last event has to arrive before the
# client gives up.
_DEADLINE_SHARE = 0.98
_LONGEST_BUDGET_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a client asks, not checked yet. Errors name these fields."""

    question: str
    frames: Sequence[Frame] = ()
    history: Sequence[Exchange] = ()
    policy: str = ""
    """Empty: the server's default."""
    budget_us: int = 0
    """Microseconds; 0: what the client's deadline leaves, or the server's default."""
    session_id: str = ""
    max_answer_tokens: int = 0
    session: bytes = b""
    """What an earlier turn gave to go on from; empty: the question stands alone."""
    explain: bool = False
    remember: bool = False
    recall: bool = False
    answer_schema: str = ""
    """JSON schema that the answer has to follow; empty: it is plain text."""
    size: int = 0
    """Of the request, in bytes, for as long as its frames are held."""


@dataclass
class CheckedQuestion:
    """A question that is sound."""

    turn: Turn
    frames: list[Frame]
    size: int
    """Of the request, in bytes."""
    dialogue: Dialogue
    """What was said before."""
    follows: bool
    """Whether the question is to be understood after the dialogue."""
    policy: str
    budget: Budget


class Asking:
    """Checks questions and runs their turns.

    Args:
        assistant: answers.
        frames: decodes pictures, and holds earlier ones.
        sessions: seals dialogues for clients to carry, and opens them.
        settings: limits on requests.
    """

    def __init__(self, assistant: Assistant, frames: FrameStore, sessions: Sessions, settings: Settings) -> None:
        self._assistant = assistant
        self._frames = frames
        self._sessions = sessions
        self._settings = settings

    def check(self, question: Question, remaining_s: float | None) -> CheckedQuestion:
        """The question as it can be answered, with its budget, which runs from now.

        Args:
            question: what was asked.
            remaining_s: seconds until the client gives up; None: it never does.

        Raises:
            InvalidInput: a field is wrong; it is named.
        """
        policy, budget = self._policy(question.policy), self._budget(question.budget_us, remaining_s)
        turn = self._turn(question)
        dialogue = appended(self._sessions.open(question.session) if question.session else (), turn.history)
        return CheckedQuestion(
            turn, list(question.frames), question.size, dialogue, bool(question.session), policy, budget
        )

    @asynccontextmanager
    async def turn(self, asked: CheckedQuestion) -> AsyncIterator[AsyncIterable[TurnEvent]]:
        """Run a turn, and give its events as they come; leaving early stops it.

        Raises:
            QuizglassError: when the events end, if the turn failed.
        """
        outbox = Outbox()
        work = asyncio.create_task(self._run(asked, outbox.put))
        work.add_done_callback(lambda _: outbox.close())
        try:
            yield outbox
            await work
        finally:
            await _ended(work)

    async def _run(self, asked: CheckedQuestion, tell: Callable[[TurnEvent], None]) -> None:
        """Run a turn to its end, whether or not anybody reads what it says: its permit is for its work."""
        turn, frames, budget = asked.turn, asked.frames, asked.budget
        decoding: tuple[StageTiming, ...] = ()
        # Decoding waits for the permit, since what is not yet decoded takes the least memory; but a picture that waits
        # for others that take long would hold a place that ordinary turns need.
        if frames and self._frames.is_slow(frames[0], "frames[0]"):
            turn, decoding = await self._decoded(turn, frames, asked.size, budget)
        async with self._assistant.admission.admit():
            if frames:
                turn, decoding = await self._decoded(turn, frames, asked.size, budget)
            if asked.follows:
                turn = self._followed(turn, asked.dialogue)
            tell(Accepted(asked.policy, (turn.picture.sha256,) if turn.picture else (), budget.total_s))
            for took in decoding if turn.explain else ():
                tell(StepEnded(took.stage, started=-took.duration, duration=took.duration))
            told: list[TurnEvent] = []
            async with aclosing(self._assistant.answer(turn, asked.policy, budget)) as events:
                async for event in events:
                    if isinstance(event, Done):
                        token = self._sessions.seal((*asked.dialogue, spoken(turn, told, event)))
                        event = replace(event, timings=(*decoding, *event.timings), session=token)
                    told.append(event)
                    tell(event)

    def _followed(self, turn: Turn, dialogue: Dialogue) -> Turn:
        """The turn as it is meant after a dialogue, with the dialogue's picture if it is about that."""
        followed = follow(turn, dialogue, self._settings.max_history)
        picture = self._frames.held(followed.frame) if followed.frame else turn.picture
        if picture is None and followed.needed:
            raise NotFound(
                "session: the question is about its picture, which is not held any more; send that in frames",
                field="session",
            )
        return replace(followed.turn, picture=picture)

    def _turn(self, asked: Question) -> Turn:
        settings = self._settings
        question = checks.text(asked.question, "question", longest=settings.max_question_chars)
        checks.at_most(len(asked.frames), 1, "frames")
        checks.at_most(len(asked.history), settings.max_history, "history")
        session = checks.text(asked.session_id, "session_id", longest=MAX_SESSION_CHARS, required=False)
        tokens = checks.within(asked.max_answer_tokens, 0, MAX_ANSWER_TOKENS, "max_answer_tokens")
        history = tuple(
            Exchange(
                checks.text(past.question, f"history[{i}].question", longest=MAX_EXCHANGE_CHARS),
                checks.text(past.answer, f"history[{i}].answer", longest=MAX_EXCHANGE_CHARS, required=False),
            )
            for i, past in enumerate(asked.history)
        )
        turn = Turn(uuid.uuid4().hex, question, None, history, tokens, session, asked.remember, asked.recall)
        return replace(turn, explain=asked.explain, answer_schema=asked.answer_schema)

    async def _decoded(
        self, turn: Turn, frames: list[Frame], size: int, budget: Budget
    ) -> tuple[Turn, tuple[StageTiming, ...]]:
        """The turn with its picture, whose bytes are then let go, within the budget and the memory for requests."""
        with due_within(budget.left_s):
            async with self._frames.received(size):
                pictured = await self._pictured(turn, frames)
                frames.clear()
                return pictured

    async def _pictured(self, turn: Turn, frames: list[Frame]) -> tuple[Turn, tuple[StageTiming, ...]]:
        """The turn with its picture, and what decoding took."""
        if not frames:
            return turn, ()
        started = time.monotonic_ns()
        picture = await self._frames.picture(frames[0], "frames[0]")
        return replace(turn, picture=picture), (StageTiming("decode", (time.monotonic_ns() - started) / 1e9),)

    def _policy(self, name: str) -> str:
        policies = self._assistant.policies
        if name and name not in policies:
            raise InvalidInput("policy", f"there is no policy {name[:60]!r}; this server has {', '.join(policies)}")
        return name or policies[0]

    def _budget(self, budget_us: int, remaining_s: float | None) -> Budget:
        if budget_us < 0:
            raise InvalidInput("budget_us", f"{budget_us} is negative; give microseconds, or 0 for the default")
        wishes = [budget_us / 1e6] if budget_us else []
        if remaining_s is not None:
            wishes.append(remaining_s * _DEADLINE_SHARE)
        return Budget(min(*wishes, _LONGEST_BUDGET_S) if wishes else self._settings.default_budget_s)


async def _ended(work: asyncio.Task[None]) -> None:
    """Stop a turn that nobody waits for any more; one that is over is left as it is."""
    if not work.done():
        work.cancel()
        await asyncio.wait({work})
    if not work.cancelled():
        work.exception()  # seen, also when nobody asks for it
