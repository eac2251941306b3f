"""AssistantService: convert, call, convert."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from quizglass.convert import event_message
from quizglass.v1 import assistant_pb2, assistant_pb2_grpc, types_pb2
from quizglass_server.assistant.asking import Asking, Question
from quizglass_server.assistant.frames import Frame
from quizglass_server.domain.turns import Exchange
from quizglass_server.rpc.transport.guard import Context, Guard


class AssistantServicer(assistant_pb2_grpc.AssistantServiceServicer):
    """Answers questions about pictures."""

    def __init__(
        self, asking: Asking, guard: Guard, capabilities: Callable[[], assistant_pb2.GetCapabilitiesResponse]
    ) -> None:
        self._asking = asking
        self._guard = guard
        self._capabilities = capabilities

    async def Ask(self, request: assistant_pb2.AskRequest, context: Context) -> Any:
        """Answer one question, event by event."""
        async with self._guard(context, "Ask"):
            asked = self._asking.check(_question(request), context.time_remaining())
            del request  # its picture is decoded once, and not needed for the rest of the turn
            began, seq = 0, 0
            async with self._asking.turn(asked) as events:
                async for event in events:
                    seq, began = seq + 1, began or time.monotonic_ns()
                    message = event_message(event, (time.monotonic_ns() - began) // 1000)
                    message.turn_id, message.seq = asked.turn.id, seq
                    yield message

    async def GetCapabilities(self, request: assistant_pb2.GetCapabilitiesRequest, context: Context) -> Any:
        """What this server can do."""
        async with self._guard(context, "GetCapabilities"):
            return self._capabilities()


def _question(request: assistant_pb2.AskRequest) -> Question:
    return Question(
        question=request.question,
        frames=[_frame(frame) for frame in request.frames],
        history=[Exchange(past.question, past.answer) for past in request.history],
        policy=request.policy,
        budget_us=request.budget_us,
        session_id=request.session_id,
        max_answer_tokens=request.max_answer_tokens,
        session=request.session,
        explain=request.explain,
        remember=request.memory.remember,
        recall=request.memory.recall,
        size=request.ByteSize(),
    )


def _frame(frame: types_pb2.Frame) -> Frame:
    source = frame.WhichOneof("source")
    return Frame() if source is None else Frame(**{source: getattr(frame, source)})
