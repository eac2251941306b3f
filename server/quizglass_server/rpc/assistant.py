"""AssistantService: convert, call, convert."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from quizglass.v1 import assistant_pb2, assistant_pb2_grpc
from quizglass_server.assistant import Assistant
from quizglass_server.domain import Done, Exchange, StageTiming, Turn
from quizglass_server.errors import InvalidInput
from quizglass_server.rpc import checks
from quizglass_server.rpc.convert import event_message
from quizglass_server.rpc.frames import FrameStore
from quizglass_server.rpc.guard import Context, Guard
from quizglass_server.scheduling.budget import Budget
from quizglass_server.scheduling.deadline import due_within
from quizglass_server.settings import Settings
from quizglass_server.steps.streams import under_way

_MAX_EXCHANGE_CHARS = 2000
MAX_SESSION_CHARS = 64
MAX_ANSWER_TOKENS = 512
# gRPC rounds the deadline it sends up by as much as 1 %, and the last event has to arrive before the client gives up.
_DEADLINE_SHARE = 0.98
_LONGEST_BUDGET_S = 3600.0


class AssistantServicer(assistant_pb2_grpc.AssistantServiceServicer):
    """Answers questions about pictures."""

    def __init__(
        self,
        assistant: Assistant,
        frames: FrameStore,
        settings: Settings,
        guard: Guard,
        capabilities: Callable[[], assistant_pb2.GetCapabilitiesResponse],
    ) -> None:
        self._assistant = assistant
        self._frames = frames
        self._settings = settings
        self._guard = guard
        self._capabilities = capabilities

    async def Ask(self, request: assistant_pb2.AskRequest, context: Context) -> Any:
        """Answer one question, event by event."""
        async with self._guard(context, "Ask"), self._frames.received(request):
            policy = self._policy(request.policy)
            budget = self._budget(request.budget_us, context.time_remaining())
            turn = self._turn(request)
            async with self._assistant.admission.admit():
                # Decoding waits for the permit: what is not yet decoded takes the least memory.
                with due_within(budget.left_s):
                    turn, decoding = await self._pictured(turn, request)
                async with aclosing(self._events(turn, policy, budget, decoding)) as events:
                    async for event in events:
                        yield event

    async def GetCapabilities(self, request: assistant_pb2.GetCapabilitiesRequest, context: Context) -> Any:
        """What this server can do."""
        async with self._guard(context, "GetCapabilities"):
            return self._capabilities()

    async def _events(
        self, turn: Turn, policy: str, budget: Budget, decoding: tuple[StageTiming, ...]
    ) -> AsyncGenerator[assistant_pb2.AskResponse, None]:
        started = time.monotonic_ns()
        frames = [turn.picture.sha256] if turn.picture else []
        accepted = assistant_pb2.Accepted(policy=policy, frame_sha256=frames, budget_us=budget.total_us)
        seq = 1
        async with under_way(self._assistant.answer(turn, policy, budget)) as events:
            yield assistant_pb2.AskResponse(turn_id=turn.id, seq=seq, accepted=accepted)
            async for event in events:
                seq += 1
                if isinstance(event, Done):
                    event = replace(event, timings=(*decoding, *event.timings))
                message = event_message(event, (time.monotonic_ns() - started) // 1000)
                message.turn_id, message.seq = turn.id, seq
                yield message

    def _turn(self, request: assistant_pb2.AskRequest) -> Turn:
        settings = self._settings
        question = checks.text(request.question, "question", longest=settings.max_question_chars)
        checks.at_most(len(request.frames), 1, "frames")
        checks.at_most(len(request.history), settings.max_history, "history")
        session = checks.text(request.session_id, "session_id", longest=MAX_SESSION_CHARS, required=False)
        tokens = checks.within(request.max_answer_tokens, 0, MAX_ANSWER_TOKENS, "max_answer_tokens")
        history = tuple(
            Exchange(
                checks.text(past.question, f"history[{i}].question", longest=_MAX_EXCHANGE_CHARS),
                checks.text(past.answer, f"history[{i}].answer", longest=_MAX_EXCHANGE_CHARS, required=False),
            )
            for i, past in enumerate(request.history)
        )
        use = request.memory
        return Turn(uuid.uuid4().hex, question, None, history, tokens, session, use.remember, use.recall)

    async def _pictured(self, turn: Turn, request: assistant_pb2.AskRequest) -> tuple[Turn, tuple[StageTiming, ...]]:
        """The turn with its picture, and what decoding took."""
        if not request.frames:
            return turn, ()
        started = time.monotonic_ns()
        picture = await self._frames.picture(request.frames[0], "frames[0]")
        return replace(turn, picture=picture), (StageTiming("decode", (time.monotonic_ns() - started) // 1000),)

    def _policy(self, name: str) -> str:
        known = self._assistant.policies
        if name and name not in known:
            raise InvalidInput("policy", f"there is no policy {name[:60]!r}; this server has {', '.join(known)}")
        return name or known[0]

    def _budget(self, budget_us: int, remaining_s: float | None) -> Budget:
        if budget_us < 0:
            raise InvalidInput("budget_us", f"{budget_us} is negative; give microseconds, or 0 for the default")
        wishes = [budget_us / 1e6] if budget_us else []
        if remaining_s is not None:
            wishes.append(remaining_s * _DEADLINE_SHARE)
        return Budget(min(*wishes, _LONGEST_BUDGET_S) if wishes else self._settings.default_budget_s)
