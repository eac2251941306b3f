"""What comes of a question in a session: its events in order, each once, and how it ends."""

from __future__ import annotations

import asyncio
from collections import deque

from quizglass.session import (
    AnswerAudio,
    AnswerSpoken,
    Command,
    Interrupted,
    NeedFrame,
    Notice,
    Progress,
    SpeechStatus,
    SpeechTranscript,
    TurnUpdate,
)
from quizglass.values import Done
from quizglass_client.errors import Cancelled, ClientError, from_notice
from quizglass_client.session.voice.playback import AnswerSound
from quizglass_client.types import Answer, Event

TurnSaid = (
    TurnUpdate | Interrupted | NeedFrame | Progress | SpeechStatus | SpeechTranscript | AnswerAudio | AnswerSpoken
)
"""An event of a turn."""


class TurnFeed:
    """The events of one question.

    Args:
        ask_id: the question's name.
        aloud: whether its answer comes as sound, too.
    """

    def __init__(self, ask_id: str, *, aloud: bool = False) -> None:
        self.ask_id = ask_id
        self.aloud = aloud
        self.begun = False
        """Whether any event of its turn came."""
        self.over = False
        """Whether no more events follow."""
        self.answered = False
        """Whether its turn is over; its sound may still come."""
        self.sound = AnswerSound()
        self._transcript: SpeechTranscript | None = None
        self._heard = asyncio.Event()
        self._waiting: deque[TurnSaid] = deque()
        self._updates: list[TurnUpdate] = []
        self._interrupted: Interrupted | None = None
        self._error: ClientError | None = None
        self._changed = asyncio.Event()
        self._ended = asyncio.Event()

    def take(self, said: TurnSaid | Notice) -> None:
        """An event of it came."""
        if isinstance(said, Notice):
            if said.turn_over:
                self.fail(from_notice(said))
            return
        self._waiting.append(said)
        match said:
            case TurnUpdate():
                self.begun = True
                self._updates.append(said)
                for segment in said.segments:
                    self.sound.written(segment)
                if isinstance(said.event, Done):
                    self._answered()
            case Interrupted():
                self._interrupted = said
                self._end()
            case SpeechTranscript(final=True):
                self.begun, self._transcript = True, said
                self._heard.set()
                if not said.asks:
                    self._end()
            case AnswerAudio():
                self.sound.take(said)
            case AnswerSpoken():
                self._end()
        self._changed.set()

    def fail(self, error: ClientError) -> None:
        """It has failed; earlier events still come."""
        if self.answered:
            self.stop_waiting_for_sound()
        elif not self.over:
            self._error = error
            self._end()

    async def next(self) -> TurnSaid | None:
        """Its next event; None when it is over.

        Raises:
            ClientError: it has failed.
        """
        while not self._waiting:
            if self.over:
                if self._error is not None:
                    raise self._error
                return None
            self._changed.clear()
            await self._changed.wait()
        return self._waiting.popleft()

    async def transcript(self) -> SpeechTranscript:
        """What was heard of a spoken question.

        Raises:
            Cancelled: it was interrupted before.
            ClientError: it has failed.
        """
        await self._heard.wait()
        if self._transcript is None:
            self._raise()
            raise Cancelled("the question was not spoken", status="CANCELLED", reason="INTERRUPTED")
        return self._transcript

    @property
    def failed(self) -> bool:
        """Whether it has failed."""
        return self._error is not None

    def stop_waiting_for_sound(self) -> None:
        """No more sound comes of it."""
        self.aloud = False
        if self.answered:
            self._end()

    async def answer(self) -> Answer:
        """The whole turn, when it is over; its events still come by `next`.

        Raises:
            Cancelled: it was interrupted, or what was spoken was no question.
            ClientError: it has failed.
        """
        await self._ended.wait()
        self._raise()
        return Answer.of(
            [Event(said.turn_id, said.seq, said.elapsed, said.event) for said in self._updates if said.event]
        )

    def _raise(self) -> None:
        """Raise why there is no answer, if there is none."""
        if self._error is not None:
            raise self._error
        if self._interrupted is not None:
            told = f"the turn was interrupted ({self._interrupted.cause})"
            raise Cancelled(told, status="CANCELLED", reason="INTERRUPTED")
        if self._transcript is not None and not self._transcript.asks:
            if self._transcript.command is Command.NONE:
                raise Cancelled("nothing was heard", status="CANCELLED", reason="NOTHING_HEARD")
            told = f"what was heard is no question: {self._transcript.text!r}"
            raise Cancelled(told, status="CANCELLED", reason="COMMAND")

    def _answered(self) -> None:
        self.answered = True
        self._ended.set()
        if not self.aloud:
            self._end()

    def _end(self) -> None:
        self.over = self.answered = True
        self._heard.set()
        self._ended.set()
        self._changed.set()
