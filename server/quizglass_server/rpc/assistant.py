"""AssistantService: convert, call, convert."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from functools import partial

from quizglass.convert import event_message, to_value
from quizglass.session import Question
from quizglass.v1 import assistant_pb2, assistant_pb2_grpc, types_pb2
from quizglass.values import Done, TurnEvent
from quizglass_server.assistant.asking import Asking, Finish, TurnRequest
from quizglass_server.domain.turns import Picture, Turn
from quizglass_server.rpc.frames import FrameStore
from quizglass_server.rpc.transport.guard import Context, Guard
from quizglass_server.session.dialogue.following import Dialogue, appended, spoken, understood
from quizglass_server.session.dialogue.token import DialogueSealer

# gRPC rounds the deadline it sends up by as much as 1 %, and the last event has to arrive before the client gives up.
_DEADLINE_SHARE = 0.98


class AssistantServicer(assistant_pb2_grpc.AssistantServiceServicer):
    """Answers questions about pictures."""

    def __init__(
        self,
        asking: Asking,
        frames: FrameStore,
        sealer: DialogueSealer,
        guard: Guard,
        capabilities: Callable[[], assistant_pb2.GetCapabilitiesResponse],
    ) -> None:
        self._asking = asking
        self._frames = frames
        self._sealer = sealer
        self._guard = guard
        self._capabilities = capabilities

    async def Ask(
        self, request: assistant_pb2.AskRequest, context: Context
    ) -> AsyncGenerator[assistant_pb2.AskResponse, None]:
        """Answer one question, event by event."""
        async with self._guard(context, "Ask"):
            source = _RequestFrame.of(request, self._frames, context.peer())
            asked, finish = self._asked(request, context.time_remaining())
            del request  # its picture is decoded once, and not needed for the rest of the turn
            began, seq = 0, 0
            # Before anything is done: a client that has it does not ask again.
            await context.send_initial_metadata((("quizglass-turn", asked.turn.id),))
            async with self._asking.events(asked, source, finish) as events:
                async for event in events:
                    seq, began = seq + 1, began or time.monotonic_ns()
                    message = event_message(event, (time.monotonic_ns() - began) // 1000)
                    message.turn_id, message.seq = asked.turn.id, seq
                    yield message

    async def GetCapabilities(
        self, request: assistant_pb2.GetCapabilitiesRequest, context: Context
    ) -> assistant_pb2.GetCapabilitiesResponse:
        """What this server can do."""
        async with self._guard(context, "GetCapabilities"):
            return self._capabilities()

    def _asked(self, request: assistant_pb2.AskRequest, remaining_s: float | None) -> tuple[TurnRequest, Finish]:
        """A request, whose frame was taken out before, and how its turn ends."""
        asking, question = self._asking, to_value(request, Question)
        left = None if remaining_s is None else remaining_s * _DEADLINE_SHARE
        policy, budget = asking.policy(question.policy), asking.budget(question.budget, left)
        turn = asking.turn(question)
        dialogue = appended(self._sealer.open(question.session) if question.session else (), turn.history)
        meant = partial(understood, dialogue=dialogue, longest=asking.max_history, held=self._frames.held)
        asked = TurnRequest(turn, policy, budget, meant if question.session else None)
        return asked, partial(self._sealed, dialogue)

    def _sealed(self, dialogue: Dialogue, turn: Turn, told: list[TurnEvent], done: Done) -> Done:
        return replace(done, session=self._sealer.seal((*dialogue, spoken(turn, told, done))))


class _RequestFrame:
    """The frame of a request, held until it is decoded."""

    def __init__(self, frame: types_pb2.Frame, size: int, store: FrameStore, peer: str) -> None:
        self._frames = [frame]
        self.size = size
        """Bytes of the request."""
        self._store = store
        self._peer = peer

    @classmethod
    def of(cls, request: assistant_pb2.AskRequest, store: FrameStore, peer: str) -> _RequestFrame | None:
        """The only frame of a request, taken out of it; None where there is not one."""
        if len(request.frames) != 1:
            return None
        size, frame = request.ByteSize(), request.frames[0]
        request.ClearField("frames")
        return cls(frame, size, store, peer)

    def is_slow(self) -> bool:
        """Whether its picture takes long to decode. Raises InvalidPicture."""
        return self._store.is_slow_frame(self._frames[0], "frames[0]")

    async def picture(self) -> Picture:
        """Its picture."""
        picture = await self._store.picture(self._frames[0], "frames[0]", self._peer)
        self._frames.clear()
        return picture
