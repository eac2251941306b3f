"""AssistantService: convert, call, convert."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from quizglass.convert import event_message
from quizglass.v1 import assistant_pb2, assistant_pb2_grpc, types_pb2
from quizglass_server.assistant.assistant import Assistant
from quizglass_server.config.settings import Settings
from quizglass_server.domain.turns import Accepted, Done, Exchange, StageTiming, StepEnded, Turn, TurnEvent
from quizglass_server.errors import InvalidInput, NotFound
from quizglass_server.rpc import checks
from quizglass_server.rpc.frames import FrameStore
from quizglass_server.rpc.transport.guard import Context, Guard
from quizglass_server.scheduling.budget import Budget
from quizglass_server.scheduling.deadline import due_within
from quizglass_server.session.dialogue import Dialogue, appended, follow, spoken
from quizglass_server.session.token import Sessions
from quizglass_server.turn.outbox import Outbox

MAX_EXCHANGE_CHARS = 2000
MAX_SESSION_CHARS = 64
MAX_ANSWER_TOKENS = 512
# gRPC rounds the deadline it sends up by as much as 1 %, and the last event has to arrive before the client gives up.
_DEADLINE_SHARE = 0.98
_LONGEST_BUDGET_S = 3600.0


@dataclass
class _Asked:
    """A request that is sound."""

    turn: Turn
    frames: list[types_pb2.Frame]
    size: int
    """Of the message, in bytes."""
    dialogue: Dialogue
    """What was said before."""
    follows: bool
    """Whether the question is to be understood after the dialogue."""
    policy: str
    budget: Budget


class AssistantServicer(assistant_pb2_grpc.AssistantServiceServicer):
    """Answers questions about pictures."""

    def __init__(
        self,
        assistant: Assistant,
        frames: FrameStore,
        sessions: Sessions,
        settings: Settings,
        guard: Guard,
        capabilities: Callable[[], assistant_pb2.GetCapabilitiesResponse],
    ) -> None:
        self._assistant = assistant
        self._frames = frames
        self._sessions = sessions
        self._settings = settings
        self._guard = guard
        self._capabilities = capabilities

    async def Ask(self, request: assistant_pb2.AskRequest, context: Context) -> Any:
        """Answer one question, event by event."""
        async with self._guard(context, "Ask"):
            asked = self._asked(request, context.time_remaining())
            del request  # its picture is decoded once, and not needed for the rest of the turn
            began, seq, outbox = 0, 0, Outbox()
            work = asyncio.create_task(self._run(asked, outbox.put))
            work.add_done_callback(lambda _: outbox.close())
            try:
                async for event in outbox:
                    seq, began = seq + 1, began or time.monotonic_ns()
                    message = event_message(event, (time.monotonic_ns() - began) // 1000)
                    message.turn_id, message.seq = asked.turn.id, seq
                    yield message
                await work
            finally:
                await _ended(work)

    async def GetCapabilities(self, request: assistant_pb2.GetCapabilitiesRequest, context: Context) -> Any:
        """What this server can do."""
        async with self._guard(context, "GetCapabilities"):
            return self._capabilities()

    async def _run(self, asked: _Asked, tell: Callable[[TurnEvent], None]) -> None:
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

            def pass_on(event: TurnEvent) -> None:
                if isinstance(event, Done):
                    token = self._sessions.seal((*asked.dialogue, spoken(turn, told, event)))
                    event = replace(event, timings=(*decoding, *event.timings), session=token)
                told.append(event)
                tell(event)

            await self._assistant.run(turn, asked.policy, budget, pass_on)

    def _asked(self, request: assistant_pb2.AskRequest, remaining_s: float | None) -> _Asked:
        policy, budget = self._policy(request.policy), self._budget(request.budget_us, remaining_s)
        turn = self._turn(request)
        dialogue = appended(self._sessions.open(request.session) if request.session else (), turn.history)
        return _Asked(turn, list(request.frames), request.ByteSize(), dialogue, bool(request.session), policy, budget)

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

    def _turn(self, request: assistant_pb2.AskRequest) -> Turn:
        settings = self._settings
        question = checks.text(request.question, "question", longest=settings.max_question_chars)
        checks.at_most(len(request.frames), 1, "frames")
        checks.at_most(len(request.history), settings.max_history, "history")
        session = checks.text(request.session_id, "session_id", longest=MAX_SESSION_CHARS, required=False)
        tokens = checks.within(request.max_answer_tokens, 0, MAX_ANSWER_TOKENS, "max_answer_tokens")
        history = tuple(
            Exchange(
                checks.text(past.question, f"history[{i}].question", longest=MAX_EXCHANGE_CHARS),
                checks.text(past.answer, f"history[{i}].answer", longest=MAX_EXCHANGE_CHARS, required=False),
            )
            for i, past in enumerate(request.history)
        )
        use = request.memory
        turn = Turn(uuid.uuid4().hex, question, None, history, tokens, session, use.remember, use.recall)
        return replace(turn, explain=request.explain)

    async def _decoded(
        self, turn: Turn, frames: list[types_pb2.Frame], size: int, budget: Budget
    ) -> tuple[Turn, tuple[StageTiming, ...]]:
        """The turn with its picture, whose bytes are then let go, within the budget and the memory for requests."""
        with due_within(budget.left_s):
            async with self._frames.received(size):
                pictured = await self._pictured(turn, frames)
                frames.clear()
                return pictured

    async def _pictured(self, turn: Turn, frames: list[types_pb2.Frame]) -> tuple[Turn, tuple[StageTiming, ...]]:
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
